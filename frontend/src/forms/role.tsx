import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  createOrganisationRoleMutation,
  editableRole,
  type OrganisationRole,
  type Permission,
  type PermissionChoice,
  refresh,
  toApiError,
  useSession,
} from "../api";
import { ChangedMeanwhile } from "../components/changed-meanwhile";
import { ConfirmModal } from "../components/confirm-modal";
import { PERMISSIONS } from "../components/roles";
import { type Edit, useEdit } from "../hooks/use-edit";
import { toast } from "../hooks/use-toasts";
import { type RoleTag, RoleTagsEditor, readRoleTags } from "./role-tags-editor";

const REACH = [
  { value: "all", label: "All clusters of the organisation" },
  { value: "tags", label: "Clusters with certain tags", description: "Everything else is as if it were not there." },
];

interface Props {
  choices: readonly PermissionChoice[];
  onDismiss: () => void;
}

/** Makes a role. */
export function RoleCreateModal(props: Props) {
  const create = useMutation({ ...createOrganisationRoleMutation(), onSuccess: () => saved(props.onDismiss) });
  return (
    <RoleForm {...props} isPending={create.isPending} error={create.error} onSave={(body) => create.mutate({ body })} />
  );
}

/** Changes a role for everybody who holds it. */
export function RoleEditModal({ role, ...props }: Props & { role: OrganisationRole }) {
  const edit = useEdit({
    editable: editableRole(role.id),
    opened: role,
    edited: editedOf,
    onSuccess: () => saved(props.onDismiss),
  });
  return (
    <RoleForm
      key={edit.loads}
      {...props}
      role={edit.opened}
      edit={edit}
      isPending={edit.isPending}
      error={edit.error}
      onSave={edit.save}
    />
  );
}

function saved(onDismiss: () => void): Promise<void> {
  onDismiss();
  toast({ type: "success", content: "Saved." });
  return refresh();
}

type RoleBody = ReturnType<typeof editedOf>;

const editedOf = ({ name, description, permissions, tags }: OrganisationRole) => ({
  name,
  description,
  permissions,
  tags,
});

const wordsOf = ({ name, description, permissions, tags }: OrganisationRole) => ({
  Name: name,
  Description: description,
  For:
    tags === null
      ? "all clusters"
      : Object.entries(tags)
          .map(([key, values]) => `${key}=${values.join("|")}`)
          .join(", "),
  Permissions: permissions.join(", "),
});

function RoleForm({
  role,
  edit,
  choices,
  isPending,
  error,
  onSave,
  onDismiss,
}: Props & {
  role?: OrganisationRole;
  edit?: Edit<OrganisationRole, RoleBody>;
  isPending: boolean;
  error: unknown;
  onSave: (body: RoleBody) => void;
}) {
  const { permissions: own } = useSession();
  const [name, setName] = useState(role?.name ?? "");
  const [description, setDescription] = useState(role?.description ?? "");
  const [permissions, setPermissions] = useState<Permission[]>(role?.permissions ?? ["clusters:read"]);
  const [reach, setReach] = useState(role?.tags ? "tags" : "all");
  const [tags, setTags] = useState<RoleTag[]>(
    Object.entries(role?.tags ?? { env: [] }).map(([key, values]) => ({ key, values: values.join(", ") })),
  );
  const byTags = reach === "tags";
  const errors = error ? toApiError(error, undefined).fields : {};
  const limit = byTags ? readRoleTags(tags) : null;
  const chosen = permissions.filter(
    (each) => !byTags || choices.find(({ permission }) => permission === each)?.by_tags,
  );
  const missing =
    name.trim() === ""
      ? "Enter a name."
      : chosen.length === 0
        ? "Choose at least one permission."
        : limit === undefined
          ? "Give each tag a key and at least one value."
          : undefined;
  const body = { name: name.trim(), description, permissions: chosen, tags: limit ?? null };
  return (
    <ConfirmModal
      title={role ? `Change ${role.name}` : "Create a role"}
      confirm={role ? "Save" : "Create"}
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
          placeholder="Developers"
          autoComplete={false}
          onChange={({ detail }) => setName(detail.value)}
        />
      </FormField>
      <FormField label="Description" errorText={errors.description}>
        <Input value={description} autoComplete={false} onChange={({ detail }) => setDescription(detail.value)} />
      </FormField>
      <FormField label="For">
        <RadioGroup value={reach} items={REACH} onChange={({ detail }) => setReach(detail.value)} />
      </FormField>
      {byTags && (
        <FormField
          label="Tags"
          description="A cluster has to have all of the keys, each with one of its values."
          errorText={errors.tags}
          stretch
        >
          <RoleTagsEditor tags={tags} onChange={setTags} />
        </FormField>
      )}
      <FormField label="Permissions" errorText={errors.permissions}>
        <SpaceBetween size="xs">
          {choices.map(({ permission, by_tags, reason }) => {
            const against = byTags && !by_tags ? reason : own.includes(permission) ? null : "You do not hold it.";
            return (
              <Checkbox
                key={permission}
                checked={chosen.includes(permission)}
                disabled={against !== null && !chosen.includes(permission)}
                description={against ?? PERMISSIONS[permission]}
                onChange={({ detail }) =>
                  setPermissions(
                    detail.checked ? [...permissions, permission] : permissions.filter((each) => each !== permission),
                  )
                }
              >
                {permission}
              </Checkbox>
            );
          })}
        </SpaceBetween>
      </FormField>
    </ConfirmModal>
  );
}
