import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { useQuery } from "@tanstack/react-query";
import { backupLocationsQuery } from "../api";

/** Where a backup goes; null: the usual place. */
export function LocationField({
  value,
  onChange,
}: {
  value: string | null;
  onChange: (location: string | null) => void;
}) {
  const locations = useQuery(backupLocationsQuery());
  const usual = { value: "", label: "The installation's" };
  const options = [
    usual,
    ...(locations.data?.items ?? [])
      .filter(({ operators }) => !operators)
      .map(({ id, name, address, problem }) => ({
        value: id,
        label: name,
        description: address,
        disabled: problem !== null,
        disabledReason: problem ?? undefined,
      })),
  ];
  return (
    <FormField label="Location">
      <Select
        selectedOption={options.find((each) => each.value === (value ?? "")) ?? usual}
        options={options}
        onChange={({ detail }) => onChange(detail.selectedOption.value || null)}
      />
    </FormField>
  );
}
