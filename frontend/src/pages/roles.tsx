import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  deleteOrganisationRoleMutation,
  type OrganisationRole,
  organisationRolesQuery,
  refresh,
  roleChoicesQuery,
  useMay,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { QueryView } from "../components/query-view";
import { tagsInWords } from "../components/roles";
import { RowButton } from "../components/row-button";
import { RoleCreateModal, RoleEditModal } from "../forms/role";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";

export function RolesPage() {
  useTitle("Roles");
  const roles = useQuery(organisationRolesQuery());
  const choices = useQuery(roleChoicesQuery());
  const mayMake = useMay("members:write");
  const [editing, setEditing] = useState<OrganisationRole | "new" | null>(null);
  const [deleting, setDeleting] = useState<OrganisationRole | null>(null);
  return (
    <SpaceBetween size="l">
      <QueryView query={roles}>
        {({ items }) => (
          <Table
            variant="container"
            trackBy="id"
            wrapLines
            items={items}
            ariaLabels={{ tableLabel: "Your own roles" }}
            header={
              <Header
                variant="h1"
                description="Sets of permissions, for all clusters or those with certain tags."
                actions={
                  <Button
                    variant="primary"
                    disabled={!mayMake}
                    disabledReason={mayMake ? undefined : "Your role may not make roles."}
                    onClick={() => setEditing("new")}
                  >
                    Create role
                  </Button>
                }
              >
                Roles
              </Header>
            }
            empty={<Box color="inherit">No roles of your own yet. Members hold the built-in ones.</Box>}
            columnDefinitions={columns(setEditing, setDeleting)}
          />
        )}
      </QueryView>
      <QueryView query={choices}>
        {({ built_in }) => (
          <Table
            variant="container"
            trackBy="role"
            wrapLines
            items={built_in}
            ariaLabels={{ tableLabel: "Built-in roles" }}
            header={<Header variant="h2">Built-in roles</Header>}
            columnDefinitions={[
              { id: "role", header: "Role", isRowHeader: true, width: 110, cell: ({ role }) => role },
              { id: "what", header: "For", width: 260, cell: ({ description }) => description },
              { id: "permissions", header: "Permissions", cell: ({ permissions }) => permissions.join(", ") },
            ]}
          />
        )}
      </QueryView>
      {editing === "new" && choices.data && (
        <RoleCreateModal choices={choices.data.permissions} onDismiss={() => setEditing(null)} />
      )}
      {editing && editing !== "new" && choices.data && (
        <RoleEditModal role={editing} choices={choices.data.permissions} onDismiss={() => setEditing(null)} />
      )}
      {deleting && <DeleteModal role={deleting} onDismiss={() => setDeleting(null)} />}
    </SpaceBetween>
  );
}

function columns(
  onEdit: (role: OrganisationRole) => void,
  onDelete: (role: OrganisationRole) => void,
): TableProps.ColumnDefinition<OrganisationRole>[] {
  return [
    { id: "name", header: "Name", isRowHeader: true, cell: ({ name }) => name },
    { id: "description", header: "Description", cell: ({ description }) => description || "–" },
    { id: "for", header: "For", cell: ({ tags }) => tagsInWords(tags) || "All clusters" },
    { id: "permissions", header: "Permissions", cell: ({ permissions }) => permissions.join(", ") },
    {
      id: "holders",
      header: "Held by",
      cell: ({ members, service_accounts }) =>
        service_accounts === 0 ? members : `${members}, and ${service_accounts} service accounts`,
    },
    {
      id: "actions",
      header: "Actions",
      cell: (role) => (
        <SpaceBetween direction="horizontal" size="m">
          <RowButton
            action="update_organisation_role"
            allowed={role.allowed_actions}
            ariaLabel={`Change ${role.name}`}
            onClick={() => onEdit(role)}
          >
            Change
          </RowButton>
          <RowButton
            action="delete_organisation_role"
            allowed={role.allowed_actions}
            ariaLabel={`Delete ${role.name}`}
            onClick={() => onDelete(role)}
          >
            Delete
          </RowButton>
        </SpaceBetween>
      ),
    },
  ];
}

function DeleteModal({ role, onDismiss }: { role: OrganisationRole; onDismiss: () => void }) {
  const remove = useMutation({
    ...deleteOrganisationRoleMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `${role.name} deleted.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Delete ${role.name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { role_id: role.id } })}
      onDismiss={onDismiss}
    >
      <Box>Nobody holds it.</Box>
    </ConfirmModal>
  );
}
