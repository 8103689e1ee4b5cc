import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import type { Cluster } from "../api";

/** Which data centre a change is about; nothing where there is only one. */
export function DatacenterField({
  cluster,
  value,
  onChange,
}: {
  cluster: Cluster;
  value: string;
  onChange: (name: string) => void;
}) {
  if (cluster.datacenters.length < 2) return null;
  const options = cluster.datacenters.map(({ name, zones }) => ({
    value: name,
    label: name,
    description: zones.join(", "),
  }));
  return (
    <FormField label="Data centre">
      <Select
        selectedOption={options.find((option) => option.value === value) ?? null}
        options={options}
        onChange={({ detail }) => onChange(detail.selectedOption.value ?? "")}
      />
    </FormField>
  );
}
