import Checkbox from "@cloudscape-design/components/checkbox";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Draft } from "../util/order";
import { WORKLOADS } from "../util/workloads";

type Wish = NonNullable<Draft["test_drive"]>;

/** Whether a cluster is to be tried out only, and with what. */
export function TestDriveFields({
  wanted,
  error,
  onToggle,
  onChange,
}: {
  wanted: Draft["test_drive"];
  error: string | undefined;
  onToggle: (wanted: boolean) => void;
  onChange: (wanted: Wish) => void;
}) {
  return (
    <Container header={<Header variant="h2">What for</Header>}>
      <SpaceBetween size="l">
        <Checkbox
          checked={wanted !== null}
          description="Comes with a data set and a workload that runs, and is deleted by itself. One node is chosen for you; change that in the next steps."
          onChange={({ detail }) => onToggle(detail.checked)}
        >
          Test drive
        </Checkbox>
        {wanted !== null && <Fields wanted={wanted} error={error} onChange={onChange} />}
      </SpaceBetween>
    </Container>
  );
}

function Fields({
  wanted,
  error,
  onChange,
}: {
  wanted: Wish;
  error: string | undefined;
  onChange: (wanted: Wish) => void;
}) {
  return (
    <FormField errorText={error} stretch>
      <SpaceBetween size="l">
        <FormField label="Workload">
          <Select
            selectedOption={WORKLOADS.find(({ value }) => value === wanted.workload) ?? null}
            options={WORKLOADS}
            onChange={({ detail }) =>
              onChange({ ...wanted, workload: detail.selectedOption.value as Wish["workload"] })
            }
          />
        </FormField>
        <ColumnLayout columns={3}>
          <NumberField
            label="Hours until it is deleted"
            constraint="1 to 168, from the order on."
            value={wanted.hours}
            onChange={(hours) => onChange({ ...wanted, hours })}
          />
          <NumberField
            label="Rows"
            constraint="100 to 200,000."
            value={wanted.rows}
            onChange={(rows) => onChange({ ...wanted, rows })}
          />
          <NumberField
            label="Reads and writes a second"
            constraint="1 to 500, on each node."
            value={wanted.operations_per_second}
            onChange={(operations_per_second) => onChange({ ...wanted, operations_per_second })}
          />
        </ColumnLayout>
      </SpaceBetween>
    </FormField>
  );
}

function NumberField({
  label,
  constraint,
  value,
  onChange,
}: {
  label: string;
  constraint: string;
  value: number | undefined;
  onChange: (value: number) => void;
}) {
  return (
    <FormField label={label} constraintText={constraint}>
      <Input
        type="number"
        inputMode="numeric"
        step={1}
        value={value === undefined || Number.isNaN(value) ? "" : String(value)}
        onChange={({ detail }) => onChange(Number.parseFloat(detail.value))}
      />
    </FormField>
  );
}
