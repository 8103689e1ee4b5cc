import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Cluster,
  type DatabaseRole,
  type DatabaseRoles,
  refresh,
  refreshRolesMutation,
  revealRolePasswordMutation,
  rotateRolePasswordMutation,
  toApiError,
} from "../api";
import { ActionButton } from "../components/action-button";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { RowMenu } from "../components/row-menu";
import { SecretModal } from "../components/secret-modal";
import { RoleCreateModal } from "../forms/role-create";
import { RoleDeleteModal } from "../forms/role-delete";
import { RoleGrantsModal } from "../forms/role-grants";
import { toast } from "../hooks/use-toasts";
import { Fold } from "../ui/fold";
import { reasonAgainst } from "../util/allowed";
import { count } from "../util/size";

const ACTIONS = [
  { id: "grant_role", text: "Grants …" },
  { id: "rotate_role_password", text: "Set a new password" },
  { id: "reveal_role_password", text: "Reveal the password" },
  { id: "delete_role", text: "Delete …" },
] as const;

/** The roles of the database, as it told them last, and what each may do. */
export function ClusterRoles({ cluster, reading }: { cluster: Cluster; reading: DatabaseRoles }) {
  const [isCreating, setIsCreating] = useState(false);
  const [open, setOpen] = useState<{ action: "grant_role" | "delete_role"; name: string } | null>(null);
  const [secret, setSecret] = useState<{ username: string; password: string } | null>(null);
  const path = { cluster_id: cluster.id };
  const read = useMutation({ ...refreshRolesMutation(), onSuccess: () => refresh(), onError: tell });
  const rotate = useMutation({
    ...rotateRolePasswordMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "A new password is being set. Reveal it when that is done." });
      return refresh();
    },
    onError: tell,
  });
  const reveal = useMutation({
    ...revealRolePasswordMutation(),
    // The secret is in the answer: keep it nowhere longer than the dialog that shows it.
    gcTime: 0,
    onSuccess: (answer) => {
      setSecret(answer);
      return refresh();
    },
    onError: tell,
  });
  const role = reading.items.find(({ name }) => name === open?.name);

  return (
    <>
      <Table
        variant="container"
        trackBy="name"
        wrapLines
        items={reading.items}
        ariaLabels={{ tableLabel: "Roles" }}
        empty={
          <Box color="inherit">
            {reading.read_at === null ? "The database has not been asked for its roles yet." : "There are no roles."}
          </Box>
        }
        header={
          <Header
            variant="h2"
            counter={`(${reading.items.length})`}
            description={<ReadAt reading={reading} />}
            actions={
              <SpaceBetween direction="horizontal" size="xs">
                <ActionButton
                  action="refresh_roles"
                  allowed={reading.allowed_actions}
                  iconName="refresh"
                  loading={read.isPending}
                  onClick={() => read.mutate({ path })}
                >
                  Read anew
                </ActionButton>
                <ActionButton
                  action="create_role"
                  allowed={reading.allowed_actions}
                  variant="primary"
                  onClick={() => setIsCreating(true)}
                >
                  Create role
                </ActionButton>
              </SpaceBetween>
            }
          >
            Database roles
          </Header>
        }
        columnDefinitions={[
          { id: "name", header: "Role", isRowHeader: true, cell: (each) => <RoleName role={each} /> },
          { id: "ends", header: "Ends", cell: ({ expires_at }) => (expires_at ? <Moment at={expires_at} /> : "–") },
          { id: "login", header: "Signs in", cell: ({ can_login }) => (can_login ? "Yes" : "No") },
          { id: "member", header: "Member of", cell: ({ member_of }) => member_of.join(", ") || "–" },
          { id: "may", header: "May", minWidth: 260, cell: (each) => <Effective role={each} /> },
          { id: "password", header: "Password", cell: (each) => <Password role={each} /> },
          {
            id: "actions",
            header: "Actions",
            cell: (each) => (
              <RowMenu
                name={each.name}
                items={ACTIONS.map((one) => ({ ...one, reason: reasonAgainst(one.id, each.allowed_actions) }))}
                onAction={(id) => {
                  const target = { path: { ...path, role: each.name } };
                  if (id === "rotate_role_password") rotate.mutate(target);
                  else if (id === "reveal_role_password") reveal.mutate(target);
                  else setOpen({ action: id, name: each.name });
                }}
              />
            ),
          },
        ]}
      />
      {isCreating && <RoleCreateModal cluster={cluster} onDismiss={() => setIsCreating(false)} />}
      {open?.action === "grant_role" && role && (
        <RoleGrantsModal cluster={cluster} role={role} onDismiss={() => setOpen(null)} />
      )}
      {open?.action === "delete_role" && role && (
        <RoleDeleteModal cluster={cluster} role={role} onDismiss={() => setOpen(null)} />
      )}
      {secret && (
        <SecretModal
          title={`Password of ${secret.username}`}
          label="password"
          secret={secret.password}
          hint="It is shown once. Keep it where your application finds it."
          onDone={() => setSecret(null)}
        />
      )}
    </>
  );
}

const tell = (problem: unknown) => toast({ type: "error", content: toApiError(problem, undefined).message });

function ReadAt({ reading }: { reading: DatabaseRoles }) {
  if (reading.pending_operation)
    return (
      <RouteLink to="/operations/$operationId" params={{ operationId: reading.pending_operation.id }}>
        Roles are being changed or read
      </RouteLink>
    );
  if (reading.read_at === null) return null;
  return (
    <>
      As the database told them: <Moment at={reading.read_at} />
    </>
  );
}

function RoleName({ role }: { role: DatabaseRole }) {
  const words = role.is_administrator
    ? "administrator"
    : role.superuser_through
      ? `superuser through ${role.superuser_through}`
      : role.is_superuser
        ? "superuser"
        : "";
  return (
    <>
      {role.name}
      {words && (
        <Box variant="span" color="text-body-secondary" fontSize="body-s" margin={{ left: "xs" }}>
          {words}
        </Box>
      )}
    </>
  );
}

/** With what comes through other roles, and from which. */
function Effective({ role }: { role: DatabaseRole }) {
  if (role.is_superuser || role.superuser_through) return <>Everything</>;
  if (role.effective.length === 0) return <>Nothing yet</>;
  return (
    <Fold summary={count(role.effective.length, "permission")}>
      <ul className="plan-list">
        {role.effective.map(({ resource, permission, sources }) => (
          <li key={`${resource} ${permission}`}>
            {permission} on {resource}
            {sources.some((source) => source !== role.name) && (
              <Box variant="span" color="text-body-secondary" fontSize="body-s">
                {" "}
                through {sources.filter((source) => source !== role.name).join(", ")}
              </Box>
            )}
          </li>
        ))}
      </ul>
    </Fold>
  );
}

function Password({ role }: { role: DatabaseRole }) {
  if (!role.can_login || role.password === null) return <>–</>;
  if (role.password.set_at === null) return <StatusIndicator type="in-progress">Being set</StatusIndicator>;
  return role.password.revealed_at === null ? "Not revealed yet" : "Revealed";
}
