import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { costMonths, monthName } from "../util/costs";

interface Props {
  month: string;
  onMonth: (month: string) => void;
}

/** One of the last thirteen months, or the one that the address names. */
export function MonthChoice({ month, onMonth }: Props) {
  const known = costMonths(Date.now());
  const months = known.includes(month) ? known : [...known, month];
  const options = months.map((value) => ({ value, label: monthName(value) }));
  return (
    <FormField label="Month (UTC)">
      <Select
        selectedOption={{ value: month, label: monthName(month) }}
        options={options}
        onChange={({ detail }) => onMonth(detail.selectedOption.value ?? month)}
      />
    </FormField>
  );
}
