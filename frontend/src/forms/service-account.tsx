import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  createServiceAccountMutation,
  refresh,
  type ServiceAccount,
  toApiError,
  updateServiceAccountMutation,
  useSession,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import type { HeldRole } from "../components/roles";
import { toast } from "../hooks/use-toasts";
import { RoleField } from "./role-field";

/** Makes a service account, or changes one. */
export function ServiceAccountModal({ account, onDismiss }: { account?: ServiceAccount; onDismiss: () => void }) {
  const { user } = useSession();
  const [name, setName] = useState(account?.name ?? "");
  const [description, setDescription] = useState(account?.description ?? "");
  const [contact, setContact] = useState(account?.contact ?? user?.email ?? "");
  const [held, setHeld] = useState<HeldRole>({
    role: account?.role ?? "operator",
    custom_role_id: account?.custom_role?.id ?? null,
  });
  const onSuccess = () => {
    onDismiss();
    toast({ type: "success", content: "Saved." });
    return refresh();
  };
  const create = useMutation({ ...createServiceAccountMutation(), onSuccess });
  const update = useMutation({ ...updateServiceAccountMutation(), onSuccess });
  const { isPending, isError, error } = account ? update : create;
  const errors = isError ? toApiError(error, undefined).fields : {};
  const missing = name.trim() === "" ? "Enter a name." : contact === "" ? "Say who answers for it." : undefined;
  const save = () => {
    const body = { name: name.trim(), description, contact, ...held };
    if (account) update.mutate({ path: { service_account_id: account.id }, body });
    else create.mutate({ body });
  };
  return (
    <ConfirmModal
      title={account ? `Change ${account.name}` : "Create a service account"}
      confirm={account ? "Save" : "Create"}
      isPending={isPending}
      error={error}
      disabledReason={missing}
      onConfirm={save}
      onDismiss={onDismiss}
    >
      <FormField label="Name" errorText={errors.name}>
        <Input
          value={name}
          placeholder="deployer"
          autoComplete={false}
          onChange={({ detail }) => setName(detail.value)}
        />
      </FormField>
      <FormField label="Description" errorText={errors.description}>
        <Input value={description} autoComplete={false} onChange={({ detail }) => setDescription(detail.value)} />
      </FormField>
      <FormField label="Contact" description="E-mail address of whoever answers for it." errorText={errors.contact}>
        <Input
          type="email"
          inputMode="email"
          value={contact}
          autoComplete={false}
          onChange={({ detail }) => setContact(detail.value)}
        />
      </FormField>
      <RoleField held={held} withoutOwner onChange={setHeld} />
    </ConfirmModal>
  );
}
