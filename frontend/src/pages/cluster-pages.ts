import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import {
  adviceQuery,
  alertRulesQuery,
  type Cluster,
  catalogQuery,
  clusterBackupsQuery,
  clusterFiringAlertsQuery,
  clusterNodesQuery,
  connectionQuery,
  cqlConsoleQuery,
  diagnosticsQuery,
  operationsQuery,
  queryClient,
} from "../api";
import { lastCursor } from "../util/search";

type PageContent = ComponentType<{ cluster: Cluster }>;

interface ClusterPage<Id extends string> {
  /** As the address names it: `?tab=backups`. Overview is the page without a name. */
  id: Id;
  label: string;
  /** The heading in the navigation under which it stands; those without one come first. Headings without a page are not shown. */
  group: ClusterPageGroup | undefined;
  Content: LazyExoticComponent<PageContent>;
  /** Fetches its code and what it shows first, before it is drawn. */
  load: (clusterId: string, search: { after?: string[] }) => void;
}

/** The headings of a cluster's navigation, in their order. */
export const CLUSTER_PAGE_GROUPS = ["Data", "Monitoring", "Protection", "Security", "Settings"] as const;
export type ClusterPageGroup = (typeof CLUSTER_PAGE_GROUPS)[number];

/** The pages of a cluster, in the order of its navigation. A new one is an entry here, and a file that exports it. */
export const CLUSTER_PAGES = [
  page(
    "overview",
    "Overview",
    undefined,
    () => import("./cluster-overview"),
    "ClusterOverview",
    (id) => {
      void queryClient.prefetchQuery(clusterNodesQuery(id));
    },
  ),
  page(
    "connect",
    "Connect",
    undefined,
    () => import("./cluster-connect"),
    "ClusterConnect",
    (id) => {
      void queryClient.prefetchQuery(connectionQuery(id));
    },
  ),
  page(
    "activity",
    "Activity",
    undefined,
    () => import("./cluster-activity"),
    "ClusterActivity",
    (id, { after }) => {
      void queryClient.prefetchQuery(operationsQuery({ cluster_id: id, cursor: lastCursor(after) }));
    },
  ),
  page("tables", "Tables", "Data", () => import("./cluster-tables"), "ClusterTables"),
  page(
    "console",
    "CQL console",
    "Data",
    () => import("./cluster-console"),
    "ClusterConsole",
    (id) => {
      void queryClient.prefetchQuery(cqlConsoleQuery(id));
    },
  ),
  page("costs", "Costs", "Data", () => import("./cluster-costs"), "ClusterCosts"),
  page("dashboards", "Dashboards", "Monitoring", () => import("./cluster-dashboards"), "ClusterDashboards"),
  page(
    "alerts",
    "Alerts",
    "Monitoring",
    () => import("./cluster-alerts"),
    "ClusterAlerts",
    (id) => {
      void queryClient.prefetchQuery(clusterFiringAlertsQuery(id));
      void queryClient.prefetchQuery(alertRulesQuery(id));
    },
  ),
  page(
    "advice",
    "Advice",
    "Monitoring",
    () => import("./cluster-advice"),
    "ClusterAdvice",
    (id) => {
      void queryClient.prefetchQuery(adviceQuery(id, {}));
    },
  ),
  page(
    "diagnostics",
    "Diagnostics",
    "Monitoring",
    () => import("./cluster-diagnostics"),
    "ClusterDiagnostics",
    (id) => {
      void queryClient.prefetchQuery(clusterNodesQuery(id));
      void queryClient.prefetchQuery(diagnosticsQuery(id));
    },
  ),
  page(
    "backups",
    "Backups",
    "Protection",
    () => import("./cluster-backups"),
    "ClusterBackups",
    (id) => {
      void queryClient.prefetchQuery(clusterBackupsQuery(id));
    },
  ),
  page("repairs", "Repairs", "Protection", () => import("./cluster-repairs"), "ClusterRepairs"),
  page("access", "Access", "Security", () => import("./cluster-access"), "ClusterAccess"),
  page("network", "Network", "Security", () => import("./cluster-network"), "ClusterNetwork"),
  page(
    "settings",
    "Engine settings",
    "Settings",
    () => import("./cluster-settings"),
    "ClusterSettings",
    () => {
      void queryClient.prefetchQuery(catalogQuery());
    },
  ),
  page("protection", "Cluster settings", "Settings", () => import("./cluster-protection"), "ClusterProtection"),
];

export type ClusterPageId = (typeof CLUSTER_PAGES)[number]["id"];

export const CLUSTER_PAGE_IDS = CLUSTER_PAGES.map(({ id }) => id);

/** The page with this name; Overview without one. */
export function clusterPage(id: ClusterPageId = "overview") {
  return CLUSTER_PAGES.find((page) => page.id === id) as (typeof CLUSTER_PAGES)[number];
}

/** Where a page of a cluster is. */
export function clusterPageHref(clusterId: string, id: ClusterPageId): string {
  return id === "overview" ? `/clusters/${clusterId}` : `/clusters/${clusterId}?tab=${id}`;
}

/**
 * Which page of a cluster an address belongs to. Addresses below a cluster's own (`/clusters/ID/tables/…`) belong to the
 * page that their word names, and those of nodes to the overview, which lists them.
 */
export function clusterPageAt(pathname: string, tab: ClusterPageId | undefined): ClusterPageId {
  const below = pathname.split("/")[3];
  return CLUSTER_PAGE_IDS.find((id) => id === (below ?? tab)) ?? "overview";
}

function page<const Id extends string, Name extends string>(
  id: Id,
  label: string,
  group: ClusterPageGroup | undefined,
  code: () => Promise<Record<Name, PageContent>>,
  name: Name,
  prefetch?: ClusterPage<Id>["load"],
): ClusterPage<Id> {
  return {
    id,
    label,
    group,
    Content: lazy(() => code().then((module) => ({ default: module[name] }))),
    load: (clusterId, search) => {
      void code();
      prefetch?.(clusterId, search);
    },
  };
}
