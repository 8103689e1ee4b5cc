import SideNavigation, { type SideNavigationProps } from "@cloudscape-design/components/side-navigation";
import { useQuery } from "@tanstack/react-query";
import { useParams, useRouter, useRouterState, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { clusterFiringAlertsQuery, clusterQuery, firingAlertsQuery, useSession } from "../api";
import { FiringBadge } from "../components/firing-badge";
import { CLUSTER_PAGE_GROUPS, CLUSTER_PAGES, clusterPageAt, clusterPageHref } from "../pages/cluster-pages";

/** The organisation's pages; within a cluster, the cluster's. */
export function SideBar() {
  const session = useSession();
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const { clusterId } = useParams({ strict: false });
  const firing = useQuery({ ...firingAlertsQuery(), enabled: clusterId === undefined });
  if (clusterId !== undefined) return <ClusterNavigation clusterId={clusterId} />;
  return (
    <Navigation
      header={{ text: session.organisation?.name ?? "Ringmaster", href: "/clusters" }}
      activeHref={`/${pathname.split("/")[1]}`}
      items={[
        { type: "link", text: "Clusters", href: "/clusters" },
        { type: "link", text: "Sizing", href: "/sizing" },
        { type: "link", text: "Costs", href: "/costs" },
        { type: "link", text: "Budgets", href: "/budgets" },
        { type: "link", text: "Operations", href: "/operations" },
        { type: "link", text: "Alerts", href: "/alerts", info: <FiringBadge counts={firing.data?.counts ?? []} /> },
        { type: "link", text: "Backups", href: "/backups" },
        { type: "link", text: "Cloud accounts", href: "/cloud-accounts" },
        { type: "link", text: "Images", href: "/images" },
        { type: "divider" },
        { type: "link", text: "Members", href: "/members" },
        { type: "link", text: "Roles", href: "/roles" },
        { type: "link", text: "Groups", href: "/groups" },
        { type: "link", text: "Service accounts", href: "/service-accounts" },
        { type: "link", text: "API tokens", href: "/tokens" },
        { type: "link", text: "Deletion requests", href: "/deletion-requests" },
        { type: "link", text: "Audit log", href: "/audit" },
        { type: "divider" },
        { type: "link", text: "API reference", href: "/api-reference" },
      ]}
    />
  );
}

function ClusterNavigation({ clusterId }: { clusterId: string }) {
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const { tab } = useSearch({ strict: false });
  const cluster = useQuery(clusterQuery(clusterId));
  const firing = useQuery(clusterFiringAlertsQuery(clusterId));
  const badge = <FiringBadge counts={firing.data?.counts ?? []} />;
  return (
    <Navigation
      header={{ text: cluster.data?.name ?? "Cluster", href: clusterPageHref(clusterId, "overview") }}
      activeHref={clusterPageHref(clusterId, clusterPageAt(pathname, tab))}
      items={[
        { type: "link", text: "All clusters", href: "/clusters" },
        { type: "divider" },
        ...clusterLinks(clusterId, undefined, badge),
        ...CLUSTER_PAGE_GROUPS.flatMap((group) => {
          const items = clusterLinks(clusterId, group, badge);
          return items.length > 0 ? [{ type: "section-group" as const, title: group, items }] : [];
        }),
      ]}
    />
  );
}

function clusterLinks(clusterId: string, group: (typeof CLUSTER_PAGES)[number]["group"], firing: ReactNode) {
  return CLUSTER_PAGES.filter((page) => page.group === group).map(({ id, label }) => ({
    type: "link" as const,
    text: label,
    href: clusterPageHref(clusterId, id),
    ...(id === "alerts" && { info: firing }),
  }));
}

function Navigation(props: Pick<SideNavigationProps, "header" | "activeHref" | "items">) {
  const router = useRouter();
  return (
    <SideNavigation
      {...props}
      onFollow={(event) => {
        event.preventDefault();
        void router.navigate({ href: event.detail.href });
      }}
    />
  );
}
