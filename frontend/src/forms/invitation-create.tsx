import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { createInvitationMutation, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import type { HeldRole } from "../components/roles";
import { RoleField } from "./role-field";

export function InvitationCreateModal({
  onDismiss,
  onCreated,
}: {
  onDismiss: () => void;
  onCreated: (url: string) => void;
}) {
  const [email, setEmail] = useState("");
  const [held, setHeld] = useState<HeldRole>({ role: "operator", custom_role_id: null });
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
      onConfirm={() => create.mutate({ body: { email, ...held } })}
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
      <RoleField held={held} onChange={setHeld} />
    </ConfirmModal>
  );
}
