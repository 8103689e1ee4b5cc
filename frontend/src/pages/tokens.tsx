import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { accessSettingsQuery, refresh, revokeTokenMutation, type Token, tokensQuery, useMay } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { Moment } from "../components/moment";
import { RowButton } from "../components/row-button";
import { SecretModal } from "../components/secret-modal";
import { TokenCreateModal } from "../forms/token-create";
import { TokenSettingsModal } from "../forms/token-settings";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/tokens");

export function TokensPage() {
  useTitle("API tokens");
  const navigate = route.useNavigate();
  const { after } = route.useSearch();
  const tokens = useQuery(tokensQuery(lastCursor(after)));
  const now = useNow(30_000);
  const mayMake = useMay("tokens:write");
  const maySet = useMay("members:write");
  const settings = useQuery(accessSettingsQuery());
  const [isSetting, setIsSetting] = useState(false);
  const [isCreating, setIsCreating] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<Token | null>(null);

  return (
    <>
      <CursorTable
        noun="API tokens"
        page={tokens}
        columns={columns(now, setRevoking)}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { after: cursors } })}
        header={
          <Header
            variant="h1"
            description="Keys for programs. A token can do what its scopes and its owner's role allow."
            actions={
              <SpaceBetween direction="horizontal" size="xs">
                <Button
                  disabled={!maySet || !settings.data}
                  disabledReason={maySet ? undefined : "Your role may not change settings of the organisation."}
                  onClick={() => setIsSetting(true)}
                >
                  Lifetimes
                </Button>
                <Button
                  variant="primary"
                  disabled={!mayMake}
                  disabledReason={mayMake ? undefined : "Your role may not make API tokens."}
                  onClick={() => setIsCreating(true)}
                >
                  Create token
                </Button>
              </SpaceBetween>
            }
          >
            API tokens
          </Header>
        }
        empty={<Box color="inherit">No API tokens yet.</Box>}
      />
      {isSetting && settings.data && (
        <TokenSettingsModal settings={settings.data} onDismiss={() => setIsSetting(false)} />
      )}
      {isCreating && (
        <TokenCreateModal
          onDismiss={() => setIsCreating(false)}
          onCreated={(made) => {
            setIsCreating(false);
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
      {revoking && <RevokeModal token={revoking} onDismiss={() => setRevoking(null)} />}
    </>
  );
}

const STATE: Record<string, [StatusIndicatorProps.Type, string]> = {
  active: ["success", "Active"],
  expired: ["stopped", "Expired"],
  revoked: ["stopped", "Revoked"],
};

function columns(now: number, onRevoke: (token: Token) => void): TableProps.ColumnDefinition<Token>[] {
  return [
    {
      id: "name",
      header: "Name",
      isRowHeader: true,
      minWidth: 110,
      cell: ({ name, hint }) => (
        <>
          {name}
          <Box color="text-body-secondary" fontSize="body-s">
            Ends with <Box variant="code">{hint}</Box>
          </Box>
        </>
      ),
    },
    {
      id: "state",
      header: "State",
      minWidth: 110,
      cell: ({ state }) => {
        const [type, text] = STATE[state] ?? ["info", state];
        return (
          <StatusIndicator type={type} wrapText={false}>
            {text}
          </StatusIndicator>
        );
      },
    },
    { id: "scopes", header: "Scopes", minWidth: 130, cell: ({ scopes }) => scopes.join(", ") },
    {
      id: "user",
      header: "Of, and from where",
      minWidth: 150,
      cell: ({ user_email, service_account, source_ranges }) => (
        <>
          {service_account?.name ?? user_email ?? "–"}
          <Box color="text-body-secondary" fontSize="body-s">
            {source_ranges.length === 0 ? "From anywhere" : `From ${source_ranges.join(", ")}`}
          </Box>
        </>
      ),
    },
    { id: "used", header: "Last used", cell: ({ last_used_at }) => <Moment at={last_used_at} now={now} /> },
    {
      id: "expires",
      header: "Expires",
      cell: ({ expires_at }) => (expires_at ? <Moment at={expires_at} /> : "Never"),
    },
    {
      id: "actions",
      header: "Actions",
      cell: (token) => (
        <RowButton
          action="revoke_token"
          allowed={token.allowed_actions}
          ariaLabel={`Revoke ${token.name}`}
          onClick={() => onRevoke(token)}
        >
          Revoke
        </RowButton>
      ),
    },
  ];
}

function RevokeModal({ token, onDismiss }: { token: Token; onDismiss: () => void }) {
  const revoke = useMutation({
    ...revokeTokenMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `Token ${token.name} revoked.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Revoke ${token.name}?`}
      confirm="Revoke"
      isPending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate({ path: { token_id: token.id } })}
      onDismiss={onDismiss}
    >
      <Box>Programs that use it are refused at once. This cannot be undone.</Box>
    </ConfirmModal>
  );
}
