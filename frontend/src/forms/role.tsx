import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  createOrganisationRoleMutation,
  type OrganisationRole,
  type Permission,
  type PermissionChoice,
  refresh,
  toApiError,
  updateOrganisationRoleMutation,
  useSession,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { PERMISSIONS } from "../components/roles";
import { toast } from "../hooks/use-toasts";
import { type RoleTag, RoleTagsEditor, readRoleTags } from "./role-tags-editor";

const REACH = [
  { value: "all", label: "All clusters of the organisation" },
  { value: "tags", label: "Clusters with certain tags", description: "Everything else is as if it were not there." },
];

/** Makes a role, or changes one for everybody who holds it. */
export function RoleModal({
  role,
  choices,
  onDismiss,
}: {
  role?: OrganisationRole;
  choices: readonly PermissionChoice[];
  onDismiss: () => void;
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
  const onSuccess = () => {
    onDismiss();
    toast({ type: "success", content: "Saved." });
    return refresh();
  };
  const create = useMutation({ ...createOrganisationRoleMutation(), onSuccess });
  const update = useMutation({ ...updateOrganisationRoleMutation(), onSuccess });
  const { isPending, isError, error } = role ? update : create;
  const errors = isError ? toApiError(error, undefined).fields : {};
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
  const save = () => {
    const body = { name: name.trim(), description, permissions: chosen, tags: limit ?? null };
    if (role) update.mutate({ path: { role_id: role.id }, body });
    else create.mutate({ body });
  };
  return (
    <ConfirmModal
      title={role ? `Change ${role.name}` : "Create a role"}
      confirm={role ? "Save" : "Create"}
      isPending={isPending}
      error={error}
      disabledReason={missing}
      onConfirm={save}
      onDismiss={onDismiss}
    >
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
