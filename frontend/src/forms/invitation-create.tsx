import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { createInvitationMutation, type Role, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ROLE_OPTIONS } from "../components/roles";

export function InvitationCreateModal({
  onDismiss,
  onCreated,
}: {
  onDismiss: () => void;
  onCreated: (url: string) => void;
}) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("operator");
  const create = useMutation({
    ...createInvitationMutation(),
    gcTime: 0,
    onSuccess: ({ url }) => {
      onCreated(url);
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title="Invite member"
      confirm="Create invitation"
      isPending={create.isPending}
      error={create.error}
      disabledReason={email === "" ? "Enter an e-mail address." : undefined}
      onConfirm={() => create.mutate({ body: { email, role } })}
      onDismiss={onDismiss}
    >
      <FormField label="E-mail" description="Nothing is mailed: you get a link to send, valid for seven days.">
        <Input
          type="email"
          inputMode="email"
          autoComplete={false}
          value={email}
          onChange={({ detail }) => setEmail(detail.value)}
        />
      </FormField>
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
