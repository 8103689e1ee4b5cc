import Alert from "@cloudscape-design/components/alert";
import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, catalogQuery } from "../api";
import { ChangeModal } from "./change-modal";

/** A second region: its nodes join, the users' keyspaces are replicated there and filled from the first. */
export function ClusterAddDatacenterModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const catalog = useQuery(catalogQuery());
  const provider = catalog.data?.providers.find(({ id }) => id === cluster.provider);
  const first = cluster.datacenters[0];
  const [regionName, setRegionName] = useState("");
  const [zones, setZones] = useState<string[]>([]);
  const [nodes, setNodes] = useState(String(first?.nodes_per_zone ?? 1));
  const [isConfirmed, setIsConfirmed] = useState(false);
  const taken = new Set(cluster.datacenters.map(({ region }) => region));
  const regions = (provider?.regions ?? []).filter(({ name }) => !taken.has(name));
  const region = regions.find(({ name }) => name === regionName);
  const number = Number(nodes);
  const missing =
    region === undefined
      ? "Choose a region."
      : zones.length === 0
        ? "Choose at least one zone."
        : !Number.isInteger(number) || number < 1
          ? "Enter a whole number of nodes from 1."
          : !isConfirmed
            ? "Confirm that replication may be changed."
            : undefined;
  return (
    <ChangeModal
      cluster={cluster}
      title={`Add a data centre to ${cluster.name}`}
      confirm="Add data centre"
      change={
        missing === undefined
          ? {
              kind: "add_datacenter",
              region: regionName,
              zones,
              machine_type: first?.machine_type ?? "",
              nodes_per_zone: number,
            }
          : null
      }
      missing={missing}
      onDismiss={onDismiss}
    >
      <SpaceBetween size="m">
        <FormField label="Region">
          <Select
            selectedOption={region ? { value: region.name, label: region.title, description: region.name } : null}
            options={regions.map(({ name, title }) => ({ value: name, label: title, description: name }))}
            statusType={catalog.isPending ? "loading" : "finished"}
            placeholder="Choose a region"
            empty="The provider offers no other region."
            onChange={({ detail }) => {
              const chosen = regions.find(({ name }) => name === detail.selectedOption.value);
              setRegionName(chosen?.name ?? "");
              setZones(chosen?.zones.slice(0, 3) ?? []);
            }}
          />
        </FormField>
        {region && (
          <FormField label="Zones" description="Each zone holds one replica of every row.">
            <SpaceBetween size="xs">
              {region.zones.map((zone) => (
                <Checkbox
                  key={zone}
                  checked={zones.includes(zone)}
                  onChange={({ detail }) =>
                    setZones(region.zones.filter((each) => (each === zone ? detail.checked : zones.includes(each))))
                  }
                >
                  {zone}
                </Checkbox>
              ))}
            </SpaceBetween>
          </FormField>
        )}
        <FormField label="Nodes per zone">
          <Input
            type="number"
            inputMode="numeric"
            step={1}
            value={nodes}
            onChange={({ detail }) => setNodes(detail.value)}
          />
        </FormField>
        <Alert type="info" statusIconAriaLabel="Information">
          The replication of all keyspaces is altered so that the new data centre holds every row as well. Applications
          should use LOCAL_QUORUM from then on.
        </Alert>
        <Checkbox checked={isConfirmed} onChange={({ detail }) => setIsConfirmed(detail.checked)}>
          Alter the replication of the keyspaces
        </Checkbox>
      </SpaceBetween>
    </ChangeModal>
  );
}
