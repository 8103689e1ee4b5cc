import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type AccessSettings,
  accessSettingsQuery,
  deleteGroupRoleMutation,
  type GroupRole,
  groupRolesQuery,
  identityProvidersQuery,
  refresh,
  updateAccessSettingsMutation,
  useMay,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { QueryView } from "../components/query-view";
import { roleName } from "../components/roles";
import { RowButton } from "../components/row-button";
import { GroupRoleModal } from "../forms/group-role";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";

/** Who becomes a member by their groups at an identity provider, and whether passwords let people in, too. */
export function GroupsPage() {
  useTitle("Groups");
  const groups = useQuery(groupRolesQuery());
  const providers = useQuery(identityProvidersQuery());
  const settings = useQuery(accessSettingsQuery());
  const mayChange = useMay("members:write");
  const [editing, setEditing] = useState<GroupRole | "new" | null>(null);
  const [deleting, setDeleting] = useState<GroupRole | null>(null);
  const [isSetting, setIsSetting] = useState(false);
  const usable = providers.data?.items ?? [];
  const takesPasswords = settings.data?.password_sign_in ?? true;
  const against = mayChange ? undefined : "Your role may not change members.";
  const without = usable.length === 0 ? "This installation has no identity provider." : undefined;
  return (
    <SpaceBetween size="l">
      {providers.data && usable.length === 0 && (
        <Alert type="info" statusIconAriaLabel="Info">
          People sign in by e-mail and password: this installation has no identity provider. Who runs it can add one on
          the command line (identity_provider add).
        </Alert>
      )}
      <QueryView query={groups}>
        {({ items }) => (
          <Table
            variant="container"
            trackBy="id"
            wrapLines
            items={[...items].sort((one, other) => one.rank - other.rank || (one.id < other.id ? -1 : 1))}
            ariaLabels={{ tableLabel: "Groups" }}
            header={
              <Header
                variant="h1"
                description={
                  takesPasswords
                    ? "People of these groups become members when they sign in through the identity provider."
                    : "People of these groups become members when they sign in through the identity provider. Passwords let owners in only."
                }
                actions={
                  <SpaceBetween direction="horizontal" size="xs">
                    <Button
                      disabled={!mayChange || !settings.data || (takesPasswords && without !== undefined)}
                      disabledReason={against ?? without}
                      onClick={() => setIsSetting(true)}
                    >
                      {takesPasswords ? "Refuse passwords" : "Accept passwords"}
                    </Button>
                    <Button
                      variant="primary"
                      disabled={!mayChange || without !== undefined}
                      disabledReason={against ?? without}
                      onClick={() => setEditing("new")}
                    >
                      Give a group a role
                    </Button>
                  </SpaceBetween>
                }
              >
                Groups
              </Header>
            }
            empty={<Box color="inherit">No group has a role. Members come by invitation.</Box>}
            columnDefinitions={columns(setEditing, setDeleting)}
          />
        )}
      </QueryView>
      {editing !== null && (
        <GroupRoleModal
          mapped={editing === "new" ? undefined : editing}
          providers={usable}
          onDismiss={() => setEditing(null)}
        />
      )}
      {deleting && <DeleteModal mapped={deleting} onDismiss={() => setDeleting(null)} />}
      {isSetting && settings.data && <PasswordsModal settings={settings.data} onDismiss={() => setIsSetting(false)} />}
    </SpaceBetween>
  );
}

function columns(
  onEdit: (mapped: GroupRole) => void,
  onDelete: (mapped: GroupRole) => void,
): TableProps.ColumnDefinition<GroupRole>[] {
  return [
    { id: "group", header: "Group", isRowHeader: true, cell: ({ group }) => group },
    { id: "provider", header: "Identity provider", cell: ({ identity_provider }) => identity_provider.name },
    { id: "role", header: "Role", cell: (row) => roleName(row) },
    { id: "rank", header: "Rank", cell: ({ rank }) => rank },
    { id: "by", header: "Made by", cell: ({ created_by }) => created_by },
    {
      id: "actions",
      header: "Actions",
      cell: (mapped) => (
        <SpaceBetween direction="horizontal" size="m">
          <RowButton
            action="update_group_role"
            allowed={mapped.allowed_actions}
            ariaLabel={`Change ${mapped.group}`}
            onClick={() => onEdit(mapped)}
          >
            Change
          </RowButton>
          <RowButton
            action="delete_group_role"
            allowed={mapped.allowed_actions}
            ariaLabel={`Delete ${mapped.group}`}
            onClick={() => onDelete(mapped)}
          >
            Delete
          </RowButton>
        </SpaceBetween>
      ),
    },
  ];
}

function DeleteModal({ mapped, onDismiss }: { mapped: GroupRole; onDismiss: () => void }) {
  const remove = useMutation({
    ...deleteGroupRoleMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `${mapped.group} gives no role any more.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Take the role of ${mapped.group} away?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { group_role_id: mapped.id } })}
      onDismiss={onDismiss}
    >
      <Box>Who is a member by this group only loses access at once, and their API tokens are revoked.</Box>
    </ConfirmModal>
  );
}

function PasswordsModal({ settings, onDismiss }: { settings: AccessSettings; onDismiss: () => void }) {
  const isOn = settings.password_sign_in;
  const change = useMutation({
    ...updateAccessSettingsMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: isOn ? "Passwords let owners in only." : "Passwords let members in." });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={isOn ? "Refuse passwords?" : "Accept passwords?"}
      confirm={isOn ? "Refuse passwords" : "Accept passwords"}
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate({ body: { password_sign_in: !isOn } })}
      onDismiss={onDismiss}
    >
      <Box>
        {isOn
          ? "Members who signed in by password reach nothing of this organisation from then on: they sign in through an identity provider. Owners may go on with their passwords, and API tokens work as before."
          : "Members may sign in by password again, if they have one."}
      </Box>
    </ConfirmModal>
  );
}
