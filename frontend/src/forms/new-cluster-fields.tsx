import Checkbox from "@cloudscape-design/components/checkbox";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Catalog, ClusterOrder } from "../api";
import { usualZones } from "../util/order";
import { count, formatMib } from "../util/size";

/** Name, place and shape of a cluster that is ordered to restore into. Engine, provider and account are given. */
export function NewClusterFields({
  catalog,
  order,
  onChange,
}: {
  catalog: Catalog;
  order: ClusterOrder;
  onChange: (changes: Partial<ClusterOrder>) => void;
}) {
  const provider = catalog.providers.find(({ id }) => id === order.provider);
  const regions = (provider?.regions ?? []).map(({ name, title }) => ({
    value: name,
    label: title,
    description: name,
  }));
  const region = provider?.regions.find(({ name }) => name === order.region);
  const types = (provider?.machine_types ?? []).map(({ name, memory_mib }) => ({
    value: name,
    label: name,
    description: `${formatMib(memory_mib)} memory`,
  }));
  return (
    <ColumnLayout columns={2}>
      <FormField
        label="Name of the new cluster"
        constraintText="Lower-case letters, digits and hyphens; starts with a letter."
      >
        <Input value={order.name} spellcheck={false} onChange={({ detail }) => onChange({ name: detail.value })} />
      </FormField>
      <FormField label="Region">
        <Select
          selectedOption={regions.find(({ value }) => value === order.region) ?? null}
          options={regions}
          onChange={({ detail }) => {
            const chosen = provider?.regions.find(({ name }) => name === detail.selectedOption.value);
            onChange({ region: chosen?.name ?? "", zones: usualZones(chosen) });
          }}
        />
      </FormField>
      <FormField label="Machine type">
        <Select
          selectedOption={types.find(({ value }) => value === order.machine_type) ?? null}
          options={types}
          filteringType={types.length > 10 ? "auto" : "none"}
          filteringPlaceholder="Find a type"
          onChange={({ detail }) => onChange({ machine_type: detail.selectedOption.value ?? "" })}
        />
      </FormField>
      <FormField
        label="Nodes per zone"
        constraintText={
          Number.isInteger(order.nodes_per_zone) &&
          `${count(order.zones.length, "zone")} × ${order.nodes_per_zone} = ${count(order.zones.length * order.nodes_per_zone, "node")}`
        }
      >
        <Input
          type="number"
          inputMode="numeric"
          step={1}
          value={Number.isNaN(order.nodes_per_zone) ? "" : String(order.nodes_per_zone)}
          onChange={({ detail }) => onChange({ nodes_per_zone: Number.parseFloat(detail.value) })}
        />
      </FormField>
      <FormField label="Zones" description="Each zone holds one replica of every row.">
        <SpaceBetween direction="horizontal" size="m">
          {(region?.zones ?? []).map((zone) => (
            <Checkbox
              key={zone}
              checked={order.zones.includes(zone)}
              onChange={({ detail }) =>
                onChange({
                  zones: (region?.zones ?? []).filter((each) =>
                    each === zone ? detail.checked : order.zones.includes(each),
                  ),
                })
              }
            >
              {zone}
            </Checkbox>
          ))}
        </SpaceBetween>
      </FormField>
    </ColumnLayout>
  );
}
