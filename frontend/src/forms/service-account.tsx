import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  createServiceAccountMutation,
  editableServiceAccount,
  refresh,
  type ServiceAccount,
  toApiError,
  useSession,
} from "../api";
import { ChangedMeanwhile } from "../components/changed-meanwhile";
import { ConfirmModal } from "../components/confirm-modal";
import { type HeldRole, roleName } from "../components/roles";
import { type Edit, useEdit } from "../hooks/use-edit";
import { toast } from "../hooks/use-toasts";
import { RoleField } from "./role-field";

interface Props {
  onDismiss: () => void;
}

/** Makes a service account. */
export function ServiceAccountCreateModal({ onDismiss }: Props) {
  const create = useMutation({ ...createServiceAccountMutation(), onSuccess: () => saved(onDismiss) });
  return (
    <ServiceAccountForm
      isPending={create.isPending}
      error={create.error}
      onSave={(body) => create.mutate({ body })}
      onDismiss={onDismiss}
    />
  );
}

/** Changes a service account. */
export function ServiceAccountEditModal({ account, onDismiss }: Props & { account: ServiceAccount }) {
  const edit = useEdit({
    editable: editableServiceAccount(account.id),
    opened: account,
    edited: editedOf,
    onSuccess: () => saved(onDismiss),
  });
  return (
    <ServiceAccountForm
      key={edit.loads}
      account={edit.opened}
      edit={edit}
      isPending={edit.isPending}
      error={edit.error}
      onSave={edit.save}
      onDismiss={onDismiss}
    />
  );
}

function saved(onDismiss: () => void): Promise<void> {
  onDismiss();
  toast({ type: "success", content: "Saved." });
  return refresh();
}

type AccountBody = ReturnType<typeof editedOf>;

const editedOf = ({ name, description, contact, role, custom_role }: ServiceAccount) => ({
  name,
  description,
  contact,
  role,
  custom_role_id: custom_role?.id ?? null,
});

const wordsOf = ({ name, description, contact, role, custom_role }: ServiceAccount) => ({
  Name: name,
  Description: description,
  Contact: contact,
  Role: roleName({ role, custom_role }),
});

function ServiceAccountForm({
  account,
  edit,
  isPending,
  error,
  onSave,
  onDismiss,
}: Props & {
  account?: ServiceAccount;
  edit?: Edit<ServiceAccount, AccountBody>;
  isPending: boolean;
  error: unknown;
  onSave: (body: AccountBody) => void;
}) {
  const { user } = useSession();
  const [name, setName] = useState(account?.name ?? "");
  const [description, setDescription] = useState(account?.description ?? "");
  const [contact, setContact] = useState(account?.contact ?? user?.email ?? "");
  const [held, setHeld] = useState<HeldRole>({
    role: account?.role ?? "operator",
    custom_role_id: account?.custom_role?.id ?? null,
  });
  const errors = error ? toApiError(error, undefined).fields : {};
  const missing = name.trim() === "" ? "Enter a name." : contact === "" ? "Say who answers for it." : undefined;
  const body = { name: name.trim(), description, contact, ...held };
  return (
    <ConfirmModal
      title={account ? `Change ${account.name}` : "Create a service account"}
      confirm={account ? "Save" : "Create"}
      isPending={isPending}
      error={error}
      disabledReason={missing}
      onConfirm={() => onSave(body)}
      onDismiss={onDismiss}
    >
      {edit && (
        <ChangedMeanwhile edit={edit} words={wordsOf} onLoad={edit.load} onSaveOver={() => edit.saveOver(body)} />
      )}
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
