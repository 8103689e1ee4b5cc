import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { allowlistQuery, type Cluster, rolesQuery, useLiveQuery } from "../api";
import { QueryView } from "../components/query-view";
import { AllowlistForm } from "../forms/allowlist";
import { ClusterRoles } from "./cluster-roles";

/** Who may reach the cluster, and what each may do there. */
export function ClusterAccess({ cluster }: { cluster: Cluster }) {
  const allowlist = useQuery(allowlistQuery(cluster.id));
  const roles = useLiveQuery(rolesQuery(cluster.id), () => true);
  return (
    <SpaceBetween size="l">
      <QueryView query={allowlist} lines={3}>
        {(data) => <AllowlistForm cluster={cluster} saved={data} />}
      </QueryView>
      <QueryView query={roles} lines={5}>
        {(data) => <ClusterRoles cluster={cluster} reading={data} />}
      </QueryView>
    </SpaceBetween>
  );
}
