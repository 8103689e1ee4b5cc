import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { refresh, type ServiceAccount, serviceAccountsQuery, updateServiceAccountMutation, useMay } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { roleName } from "../components/roles";
import { RowButton } from "../components/row-button";
import { SecretModal } from "../components/secret-modal";
import { ServiceAccountCreateModal, ServiceAccountEditModal } from "../forms/service-account";
import { TokenCreateModal } from "../forms/token-create";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/service-accounts");

export function ServiceAccountsPage() {
  useTitle("Service accounts");
  const navigate = route.useNavigate();
  const { after } = route.useSearch();
  const accounts = useQuery(serviceAccountsQuery(lastCursor(after)));
  const mayMake = useMay("members:write");
  const [editing, setEditing] = useState<ServiceAccount | "new" | null>(null);
  const [switching, setSwitching] = useState<ServiceAccount | null>(null);
  const [giving, setGiving] = useState<ServiceAccount | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <>
      <CursorTable
        noun="service accounts"
        page={accounts}
        columns={columns({ onEdit: setEditing, onSwitch: setSwitching, onGive: setGiving })}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { after: cursors } })}
        header={
          <Header
            variant="h1"
            description="Identities for programs that are no person. Their tokens outlive whoever made them."
            actions={
              <Button
                variant="primary"
                disabled={!mayMake}
                disabledReason={mayMake ? undefined : "Your role may not make service accounts."}
                onClick={() => setEditing("new")}
              >
                Create service account
              </Button>
            }
          >
            Service accounts
          </Header>
        }
        empty={<Box color="inherit">No service accounts yet.</Box>}
      />
      {editing === "new" && <ServiceAccountCreateModal onDismiss={() => setEditing(null)} />}
      {editing && editing !== "new" && <ServiceAccountEditModal account={editing} onDismiss={() => setEditing(null)} />}
      {switching && <SwitchModal account={switching} onDismiss={() => setSwitching(null)} />}
      {giving && (
        <TokenCreateModal
          account={giving}
          onDismiss={() => setGiving(null)}
          onCreated={(made) => {
            setGiving(null);
            setSecret(made);
          }}
        />
      )}
      {secret !== null && (
        <SecretModal
          title="Token created"
          label="API token"
          secret={secret}
          hint="Copy the token now. It is not shown again."
          onDone={() => setSecret(null)}
        />
      )}
    </>
  );
}

function columns({
  onEdit,
  onSwitch,
  onGive,
}: {
  onEdit: (account: ServiceAccount) => void;
  onSwitch: (account: ServiceAccount) => void;
  onGive: (account: ServiceAccount) => void;
}): TableProps.ColumnDefinition<ServiceAccount>[] {
  return [
    { id: "name", header: "Name", isRowHeader: true, cell: ({ name }) => name },
    { id: "description", header: "Description", cell: ({ description }) => description || "–" },
    {
      id: "state",
      header: "State",
      minWidth: 110,
      cell: ({ disabled_at }) => (
        <StatusIndicator type={disabled_at ? "stopped" : "success"} wrapText={false}>
          {disabled_at ? "Disabled" : "Enabled"}
        </StatusIndicator>
      ),
    },
    { id: "role", header: "Role", cell: (account) => roleName(account) },
    { id: "contact", header: "Contact", cell: ({ contact }) => contact },
    { id: "tokens", header: "Tokens", cell: ({ tokens }) => tokens },
    {
      id: "actions",
      header: "Actions",
      cell: (account) => (
        <SpaceBetween direction="horizontal" size="m">
          <RowButton
            action="create_token"
            allowed={account.allowed_actions}
            ariaLabel={`Create a token for ${account.name}`}
            onClick={() => onGive(account)}
          >
            Create token
          </RowButton>
          <RowButton
            action="update_service_account"
            allowed={account.allowed_actions}
            ariaLabel={`Change ${account.name}`}
            onClick={() => onEdit(account)}
          >
            Change
          </RowButton>
          <RowButton
            action="update_service_account"
            allowed={account.allowed_actions}
            ariaLabel={`${account.disabled_at ? "Enable" : "Disable"} ${account.name}`}
            onClick={() => onSwitch(account)}
          >
            {account.disabled_at ? "Enable" : "Disable"}
          </RowButton>
        </SpaceBetween>
      ),
    },
  ];
}

function SwitchModal({ account, onDismiss }: { account: ServiceAccount; onDismiss: () => void }) {
  const disabled = account.disabled_at === null;
  const verb = disabled ? "Disable" : "Enable";
  const change = useMutation({
    ...updateServiceAccountMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `${account.name} ${disabled ? "disabled" : "enabled"}.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`${verb} ${account.name}?`}
      confirm={verb}
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate({ path: { service_account_id: account.id }, body: { disabled } })}
      onDismiss={onDismiss}
    >
      <Box>
        {disabled
          ? `Its API tokens (${account.tokens}) end at once and for good.`
          : "It gets no token back: make new ones."}
      </Box>
    </ConfirmModal>
  );
}
