import FormField from "@cloudscape-design/components/form-field";
import Multiselect from "@cloudscape-design/components/multiselect";
import type { ClusterBackups } from "../api";

/** Which tables; none chosen means all. */
export function TableChoiceField({
  tables,
  value,
  onChange,
}: {
  tables: ClusterBackups["tables"];
  value: string[];
  onChange: (value: string[]) => void;
}) {
  const options = tables.map(({ keyspace, table }) => ({ value: `${keyspace}.${table}` }));
  return (
    <FormField label="Tables" description="None chosen: all of them, also those that come later.">
      <Multiselect
        selectedOptions={options.filter((option) => value.includes(option.value))}
        options={options}
        placeholder="All tables"
        empty="The cluster has not told of its tables yet."
        deselectAriaLabel={(option) => `Leave out ${option.value}`}
        onChange={({ detail }) => onChange(detail.selectedOptions.map((option) => option.value ?? ""))}
      />
    </FormField>
  );
}
