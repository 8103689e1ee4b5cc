import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Cluster } from "../api";
import { ClusterHealingForm } from "../forms/cluster-healing";
import { ClusterNamingForm } from "../forms/cluster-naming";
import { ClusterWindowsForm } from "../forms/cluster-windows";

/** What guards a cluster, and what it is called. */
export function ClusterProtection({ cluster }: { cluster: Cluster }) {
  return (
    <SpaceBetween size="l">
      <ClusterHealingForm cluster={cluster} />
      <ClusterWindowsForm cluster={cluster} />
      <ClusterNamingForm cluster={cluster} />
    </SpaceBetween>
  );
}
