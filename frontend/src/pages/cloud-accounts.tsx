import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { type CloudAccount, catalogQuery, cloudAccountsQuery, useMay } from "../api";
import { AccountCheckBadge } from "../components/account-check";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { CloudAccountCreateModal } from "../forms/cloud-account-create";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { CursorTable } from "../table/cursor-table";
import { cloudName, cloudsOf } from "../util/clouds";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/cloud-accounts");

export function CloudAccountsPage() {
  useTitle("Cloud accounts");
  const router = useRouter();
  const navigate = route.useNavigate();
  const { after } = route.useSearch();
  const accounts = useQuery(cloudAccountsQuery(lastCursor(after)));
  const catalog = useQuery(catalogQuery());
  const now = useNow(30_000);
  const mayAdd = useMay("cloud-accounts:write");
  const [isAdding, setIsAdding] = useState(false);
  const clouds = cloudsOf(catalog.data);
  const reason = !mayAdd
    ? "Your role may not change cloud accounts."
    : clouds.length === 0
      ? "This installation offers no cloud."
      : undefined;

  return (
    <>
      <CursorTable
        noun="cloud accounts"
        page={accounts}
        columns={columns(now)}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { after: cursors } })}
        header={
          <Header
            variant="h1"
            description="Accounts of yours at AWS and Google Cloud. Clusters that are ordered into one run, and are billed, there."
            actions={
              <Button
                variant="primary"
                disabled={reason !== undefined}
                disabledReason={reason}
                onClick={() => setIsAdding(true)}
              >
                Add account
              </Button>
            }
          >
            Cloud accounts
          </Header>
        }
        empty={
          <SpaceBetween size="xs">
            <Box color="inherit">No cloud accounts yet.</Box>
            <Box color="text-body-secondary">Clusters are made in the account of this installation.</Box>
          </SpaceBetween>
        }
      />
      {isAdding && (
        <CloudAccountCreateModal
          clouds={clouds}
          onDismiss={() => setIsAdding(false)}
          onCreated={(id) => {
            setIsAdding(false);
            void router.navigate({ to: "/cloud-accounts/$accountId", params: { accountId: id } });
          }}
        />
      )}
    </>
  );
}

function columns(now: number): TableProps.ColumnDefinition<CloudAccount>[] {
  return [
    {
      id: "name",
      header: "Name",
      isRowHeader: true,
      cell: ({ id, name }) => (
        <RouteLink to="/cloud-accounts/$accountId" params={{ accountId: id }}>
          {name}
        </RouteLink>
      ),
    },
    { id: "provider", header: "Cloud", cell: ({ provider }) => cloudName(provider) },
    {
      id: "account",
      header: "Role or project",
      cell: ({ role_arn, project }) => <Box variant="code">{role_arn ?? project}</Box>,
    },
    { id: "check", header: "Check", minWidth: 150, cell: ({ check }) => <AccountCheckBadge check={check} /> },
    { id: "checked", header: "Checked", cell: ({ check }) => <Moment at={check.checked_at} now={now} /> },
    { id: "clusters", header: "Clusters", cell: ({ clusters }) => clusters },
  ];
}
