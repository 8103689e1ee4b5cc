import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Cluster } from "../api";
import { ClusterHealingForm } from "../forms/cluster-healing";
import { ClusterImageForm } from "../forms/cluster-image";
import { ClusterNamingForm } from "../forms/cluster-naming";
import { ClusterWindowsForm } from "../forms/cluster-windows";
import { hasImages } from "../util/clouds";

/** What guards a cluster, and what it is called. */
export function ClusterProtection({ cluster }: { cluster: Cluster }) {
  return (
    <SpaceBetween size="l">
      <ClusterHealingForm cluster={cluster} />
      <ClusterWindowsForm cluster={cluster} />
      {hasImages(cluster.provider) && <ClusterImageForm cluster={cluster} />}
      <ClusterNamingForm cluster={cluster} />
    </SpaceBetween>
  );
}
