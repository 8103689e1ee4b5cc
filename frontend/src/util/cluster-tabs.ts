/** The tabs of a cluster's page, as its address names them. */
export const CLUSTER_TABS = ["overview", "connect", "settings", "access", "network", "protection", "activity"] as const;
export type ClusterTab = (typeof CLUSTER_TABS)[number];
