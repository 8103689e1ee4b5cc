import Alert from "@cloudscape-design/components/alert";
import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, createRoleMutation, refresh, toApiError } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";
import { asGrants, type GrantDraft, GrantsEditor } from "./grants-editor";

/** A new role of the database; if it can sign in, its password can be revealed once it is made. */
export function RoleCreateModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const [name, setName] = useState("");
  const [canLogin, setCanLogin] = useState(true);
  const [grants, setGrants] = useState<GrantDraft[]>([]);
  const create = useMutation({
    ...createRoleMutation(),
    onSuccess: () => {
      toast({ type: "success", content: `The role ${name} is being made.` });
      onDismiss();
      return refresh();
    },
  });
  const error = create.isError ? toApiError(create.error, undefined) : undefined;
  return (
    <ConfirmModal
      title="Create role"
      size="large"
      confirm="Create"
      isPending={create.isPending}
      error={create.error}
      disabledReason={name === "" ? "Enter a name." : undefined}
      onConfirm={() =>
        create.mutate({
          path: { cluster_id: cluster.id },
          body: { name, can_login: canLogin, permissions: asGrants(grants) },
        })
      }
      onDismiss={onDismiss}
    >
      <FormField label="Name" errorText={error?.fields.name}>
        <Input
          value={name}
          placeholder="orders_service"
          autoComplete={false}
          spellcheck={false}
          onChange={({ detail }) => setName(detail.value)}
        />
      </FormField>
      <Checkbox
        checked={canLogin}
        description="A password is made. A role that cannot sign in holds permissions for others."
        onChange={({ detail }) => setCanLogin(detail.checked)}
      >
        It can sign in
      </Checkbox>
      <GrantsEditor grants={grants} onChange={setGrants} />
      {canLogin && (
        <Alert type="info" statusIconAriaLabel="Information">
          When the role is made its password can be revealed once, from its menu.
        </Alert>
      )}
    </ConfirmModal>
  );
}
