import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { changeMemberRoleMutation, type Member, type Role, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ROLE_OPTIONS } from "../components/roles";
import { toast } from "../hooks/use-toasts";

export function MemberRoleModal({ member, onDismiss }: { member: Member; onDismiss: () => void }) {
  const [role, setRole] = useState<Role>(member.role);
  const change = useMutation({
    ...changeMemberRoleMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `${member.email} is now ${role}.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Change role of ${member.email}`}
      confirm="Change role"
      isPending={change.isPending}
      error={change.error}
      disabledReason={role === member.role ? "Choose another role." : undefined}
      onConfirm={() => change.mutate({ path: { member_id: member.id }, body: { role } })}
      onDismiss={onDismiss}
    >
      <FormField label="Role">
        <Select
          selectedOption={ROLE_OPTIONS.find(({ value }) => value === role) ?? null}
          options={ROLE_OPTIONS}
          onChange={({ detail }) => setRole(detail.selectedOption.value as Role)}
        />
      </FormField>
    </ConfirmModal>
  );
}
