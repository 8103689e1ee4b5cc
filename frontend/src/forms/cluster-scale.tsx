import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useState } from "react";
import type { Cluster } from "../api";
import { count } from "../util/size";
import { ChangeModal } from "./change-modal";
import { DatacenterField } from "./datacenter-field";

/** More or fewer nodes, the same number in every zone. */
export function ClusterScaleModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const [name, setName] = useState(cluster.datacenters[0]?.name ?? "");
  const datacenter = cluster.datacenters.find((each) => each.name === name);
  const now = datacenter?.nodes_per_zone ?? 1;
  const zones = datacenter?.zones.length ?? 1;
  const [wanted, setWanted] = useState(String(now));
  const number = Number(wanted);
  const isNumber = wanted.trim() !== "" && Number.isInteger(number) && number >= 1;
  return (
    <ChangeModal
      cluster={cluster}
      title={`Scale ${cluster.name}`}
      confirm="Scale"
      change={
        isNumber && number !== now
          ? { kind: "scale", nodes_per_zone: number, datacenter: cluster.datacenters.length > 1 ? name : null }
          : null
      }
      missing={isNumber ? "Choose another number of nodes." : "Enter a whole number from 1."}
      onDismiss={onDismiss}
    >
      <DatacenterField cluster={cluster} value={name} onChange={setName} />
      <FormField
        label="Nodes per zone"
        description={`Now ${now}. The same in every zone, so that replicas spread evenly.`}
        constraintText={
          isNumber &&
          `${count(zones, "zone")} × ${number} = ${count(zones * number, "node")}, now ${count(zones * now, "node")}`
        }
      >
        <Input
          type="number"
          inputMode="numeric"
          step={1}
          value={wanted}
          onChange={({ detail }) => setWanted(detail.value)}
        />
      </FormField>
    </ChangeModal>
  );
}
