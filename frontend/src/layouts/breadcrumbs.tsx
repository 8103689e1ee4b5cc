import BreadcrumbGroup from "@cloudscape-design/components/breadcrumb-group";
import { useQuery } from "@tanstack/react-query";
import { useParams, useRouter, useRouterState, useSearch } from "@tanstack/react-router";
import { cloudAccountQuery, clusterQuery, nodeQuery, operationQuery } from "../api";
import { clusterPage, clusterPageHref } from "../pages/cluster-pages";

const SECTIONS: Record<string, string> = {
  clusters: "Clusters",
  sizing: "Sizing",
  costs: "Costs",
  budgets: "Budgets",
  operations: "Operations",
  alerts: "Alerts",
  backups: "Backups",
  "cloud-accounts": "Cloud accounts",
  images: "Images",
  members: "Members",
  roles: "Roles",
  groups: "Groups",
  "service-accounts": "Service accounts",
  tokens: "API tokens",
  "deletion-requests": "Deletion requests",
  audit: "Audit log",
  sessions: "Sessions",
  "second-factor": "Second factor",
};

/** Where one is. Names of things come from the queries their pages show anyway. */
export function Breadcrumbs() {
  const router = useRouter();
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const { accountId, clusterId, keyspace, nodeId, operationId, table } = useParams({ strict: false });
  const { tab } = useSearch({ strict: false });
  const cluster = useQuery({ ...clusterQuery(clusterId ?? ""), enabled: clusterId !== undefined });
  const node = useQuery({ ...nodeQuery(clusterId ?? "", nodeId ?? ""), enabled: nodeId !== undefined });
  const operation = useQuery({ ...operationQuery(operationId ?? ""), enabled: operationId !== undefined });

  const account = useQuery({ ...cloudAccountQuery(accountId ?? ""), enabled: accountId !== undefined });

  const section = pathname.split("/")[1] ?? "";
  const items = [{ text: SECTIONS[section] ?? "Ringmaster", href: `/${section}` }];
  if (pathname === "/clusters/new") items.push({ text: "Order cluster", href: pathname });
  if (clusterId) items.push({ text: cluster.data?.name ?? clusterId, href: `/clusters/${clusterId}` });
  if (clusterId && tab) items.push({ text: clusterPage(tab).label, href: clusterPageHref(clusterId, tab) });
  if (clusterId && keyspace && table) {
    items.push({ text: clusterPage("tables").label, href: clusterPageHref(clusterId, "tables") });
    items.push({ text: `${keyspace}.${table}`, href: pathname });
  }
  if (accountId) items.push({ text: account.data?.name ?? accountId, href: pathname });
  if (nodeId) items.push({ text: node.data?.name ?? nodeId, href: pathname });
  if (operationId) items.push({ text: operation.data?.title ?? operationId, href: pathname });

  // On a list's own page its heading says the same.
  if (items.length === 1) return null;
  return (
    <BreadcrumbGroup
      ariaLabel="Breadcrumbs"
      items={items}
      onFollow={(event) => {
        event.preventDefault();
        void router.navigate({ href: event.detail.href });
      }}
    />
  );
}
