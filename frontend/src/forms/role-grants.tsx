import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, type DatabaseRole, grantRoleMutation, refresh, revokeRoleMutation } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";
import { asGrants, type GrantDraft, GrantsEditor } from "./grants-editor";

/** What a role holds itself, and more for it. Each change is an operation of its own. */
export function RoleGrantsModal({
  cluster,
  role,
  onDismiss,
}: {
  cluster: Cluster;
  role: DatabaseRole;
  onDismiss: () => void;
}) {
  const [grants, setGrants] = useState<GrantDraft[]>([{ resource: "data/", permissions: ["SELECT", "MODIFY"] }]);
  const [member, setMember] = useState("");
  const path = { cluster_id: cluster.id, role: role.name };
  const done = () => {
    toast({ type: "success", content: `What ${role.name} may do is being changed.` });
    onDismiss();
    return refresh();
  };
  const grant = useMutation({ ...grantRoleMutation(), onSuccess: done });
  const revoke = useMutation({ ...revokeRoleMutation(), onSuccess: done });
  const [first] = asGrants(grants);
  const resources = Array.from(new Set(role.permissions.map(({ resource }) => resource)));
  return (
    <ConfirmModal
      title={`Grants of ${role.name}`}
      size="large"
      confirm="Grant"
      isPending={grant.isPending}
      error={grant.error ?? revoke.error}
      disabledReason={first || member ? undefined : "Enter permissions on a resource, or a role."}
      onConfirm={() => grant.mutate({ path, body: member ? { member_of: member } : { ...first } })}
      onDismiss={onDismiss}
    >
      <SpaceBetween size="xs">
        <Box variant="awsui-key-label">Its own</Box>
        {resources.length === 0 && role.member_of.length === 0 && <Box color="text-body-secondary">Nothing yet.</Box>}
        {resources.map((resource) => {
          const held = role.permissions.filter((each) => each.resource === resource);
          const permissions = held.map(({ permission }) => permission);
          return (
            <div key={resource}>
              {permissions.join(", ")} on {resource}{" "}
              <Button
                variant="inline-link"
                ariaLabel={`Revoke the permissions on ${resource}`}
                loading={revoke.isPending}
                onClick={() => revoke.mutate({ path, query: { resource, permissions } })}
              >
                Revoke
              </Button>
            </div>
          );
        })}
        {role.member_of.map((other) => (
          <div key={other}>
            Member of {other}{" "}
            <Button
              variant="inline-link"
              ariaLabel={`End the membership of ${other}`}
              loading={revoke.isPending}
              onClick={() => revoke.mutate({ path, query: { member_of: other } })}
            >
              End
            </Button>
          </div>
        ))}
      </SpaceBetween>
      {!member && <GrantsEditor grants={grants} onChange={(next) => setGrants(next.slice(0, 1))} />}
      <FormField label="Or make it a member of a role" description="It may then do what that role may.">
        <Input
          value={member}
          autoComplete={false}
          spellcheck={false}
          onChange={({ detail }) => setMember(detail.value)}
        />
      </FormField>
    </ConfirmModal>
  );
}
