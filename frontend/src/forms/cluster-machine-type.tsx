import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, capacityQuery, catalogQuery } from "../api";
import { needTable } from "../util/machine-types";
import { formatMib } from "../util/size";
import { ChangeModal } from "./change-modal";
import { DatacenterField } from "./datacenter-field";
import { MachineTypeTable } from "./machine-type-table";

/** Every node moves to a machine of another type; none leaves before its successor has all its data. */
export function ClusterMachineTypeModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const catalog = useQuery(catalogQuery());
  const [name, setName] = useState(cluster.datacenters[0]?.name ?? "");
  const [type, setType] = useState("");
  const now = cluster.datacenters.find((each) => each.name === name)?.machine_type;
  const all = catalog.data?.providers.find(({ id }) => id === cluster.provider)?.machine_types ?? [];
  const region = cluster.datacenters.find((each) => each.name === name)?.region ?? "";
  const capacity = useQuery({
    ...capacityQuery(cluster.provider, region, cluster.cloud_account?.id ?? null),
    enabled: needTable(all) && region !== "",
  });
  const types = all.filter((each) => each.name !== now);
  const options = types.map((each) => ({
    value: each.name,
    label: each.name,
    description: `${each.description} · ${formatMib(each.memory_mib)} memory`,
  }));
  return (
    <ChangeModal
      cluster={cluster}
      title={`Change the machine type of ${cluster.name}`}
      confirm="Change machine type"
      change={
        type === ""
          ? null
          : { kind: "machine_type", machine_type: type, datacenter: cluster.datacenters.length > 1 ? name : null }
      }
      size={needTable(all) ? "max" : "large"}
      missing="Choose a machine type."
      onDismiss={onDismiss}
    >
      <DatacenterField cluster={cluster} value={name} onChange={setName} />
      {needTable(all) ? (
        <MachineTypeTable
          types={types}
          value={type}
          description={`Now ${now}.`}
          capacity={capacity.data}
          onChange={setType}
        />
      ) : (
        <FormField label="Machine type" description={`Now ${now}.`}>
          <Select
            selectedOption={options.find(({ value }) => value === type) ?? null}
            options={options}
            statusType={catalog.isPending ? "loading" : "finished"}
            placeholder="Choose a machine type"
            empty="There is no other machine type."
            onChange={({ detail }) => setType(detail.selectedOption.value ?? "")}
          />
        </FormField>
      )}
    </ChangeModal>
  );
}
