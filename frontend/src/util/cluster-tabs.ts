/** The tabs of a cluster's page, as its address names them. */
export const CLUSTER_TABS = [
  "overview",
  "connect",
  "settings",
  "access",
  "network",
  "backups",
  "repairs",
  "protection",
  "activity",
] as const;
export type ClusterTab = (typeof CLUSTER_TABS)[number];
