import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { useQuery } from "@tanstack/react-query";
import { backupLocationsQuery } from "../api";

/** Where a backup goes; null: the usual place, or what `none` says. */
export function LocationField({
  label = "Location",
  description,
  none = "The installation's",
  value,
  errorText,
  onChange,
}: {
  label?: string;
  description?: string;
  none?: string;
  value: string | null;
  errorText?: string | undefined;
  onChange: (location: string | null) => void;
}) {
  const locations = useQuery(backupLocationsQuery());
  const usual = { value: "", label: none };
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
    <FormField label={label} description={description} errorText={errorText}>
      <Select
        selectedOption={options.find((each) => each.value === (value ?? "")) ?? usual}
        options={options}
        onChange={({ detail }) => onChange(detail.selectedOption.value || null)}
      />
    </FormField>
  );
}
