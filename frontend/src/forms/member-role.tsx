import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { changeMemberRoleMutation, type Member, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import type { HeldRole } from "../components/roles";
import { toast } from "../hooks/use-toasts";
import { RoleField } from "./role-field";

export function MemberRoleModal({ member, onDismiss }: { member: Member; onDismiss: () => void }) {
  const before = { role: member.role, custom_role_id: member.custom_role?.id ?? null };
  const [held, setHeld] = useState<HeldRole>(before);
  const isSame = held.role === before.role && held.custom_role_id === before.custom_role_id;
  const change = useMutation({
    ...changeMemberRoleMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `${member.email} has another role now.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Change role of ${member.email}`}
      confirm="Change role"
      isPending={change.isPending}
      error={change.error}
      disabledReason={isSame ? "Choose another role." : undefined}
      onConfirm={() => change.mutate({ path: { member_id: member.id }, body: held })}
      onDismiss={onDismiss}
    >
      <RoleField held={held} onChange={setHeld} />
    </ConfirmModal>
  );
}
