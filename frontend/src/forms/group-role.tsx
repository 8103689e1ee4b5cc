import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  createGroupRoleMutation,
  type GroupRole,
  type IdentityProvider,
  refresh,
  toApiError,
  updateGroupRoleMutation,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import type { HeldRole } from "../components/roles";
import { toast } from "../hooks/use-toasts";
import { RoleField } from "./role-field";

/** Gives a group a role, or changes which. */
export function GroupRoleModal({
  mapped,
  providers,
  onDismiss,
}: {
  mapped?: GroupRole;
  providers: readonly IdentityProvider[];
  onDismiss: () => void;
}) {
  const options = (mapped ? [mapped.identity_provider] : providers).map(({ id, name }) => ({ value: id, label: name }));
  const [provider, setProvider] = useState(options[0] ?? null);
  const [group, setGroup] = useState(mapped?.group ?? "");
  const [rank, setRank] = useState(String(mapped?.rank ?? 100));
  const [held, setHeld] = useState<HeldRole>({
    role: mapped?.role ?? "viewer",
    custom_role_id: mapped?.custom_role?.id ?? null,
  });
  const onSuccess = () => {
    onDismiss();
    toast({ type: "success", content: "Saved." });
    return refresh();
  };
  const create = useMutation({ ...createGroupRoleMutation(), onSuccess });
  const update = useMutation({ ...updateGroupRoleMutation(), onSuccess });
  const { isPending, isError, error } = mapped ? update : create;
  const errors = isError ? toApiError(error, undefined).fields : {};
  const place = Number(rank);
  const missing = !group.trim()
    ? "Enter the group."
    : !Number.isInteger(place) || place < 1 || place > 10_000
      ? "Enter a rank from 1 to 10,000."
      : undefined;
  const save = () => {
    if (mapped) update.mutate({ path: { group_role_id: mapped.id }, body: { ...held, rank: place } });
    else if (provider)
      create.mutate({ body: { ...held, rank: place, group: group.trim(), identity_provider_id: provider.value } });
  };
  return (
    <ConfirmModal
      title={mapped ? `Change ${mapped.group}` : "Give a group a role"}
      confirm="Save"
      isPending={isPending}
      error={error}
      disabledReason={missing}
      onConfirm={save}
      onDismiss={onDismiss}
    >
      <SpaceBetween size="m">
        <FormField label="Identity provider" errorText={errors.identity_provider_id}>
          <Select
            selectedOption={provider}
            options={options}
            disabled={mapped !== undefined}
            onChange={({ detail }) =>
              setProvider(options.find(({ value }) => value === detail.selectedOption.value) ?? null)
            }
          />
        </FormField>
        <FormField
          label="Group"
          description="As the provider calls it in its tokens: a name or an id. Upper and lower case count."
          errorText={errors.group}
        >
          <Input value={group} readOnly={mapped !== undefined} onChange={({ detail }) => setGroup(detail.value)} />
        </FormField>
        <RoleField held={held} onChange={setHeld} />
        <FormField
          label="Rank"
          description="Who is in several groups has the role of the smallest."
          errorText={errors.rank}
        >
          <Input inputMode="numeric" value={rank} onChange={({ detail }) => setRank(detail.value)} />
        </FormField>
      </SpaceBetween>
    </ConfirmModal>
  );
}
