import Button from "@cloudscape-design/components/button";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import Form from "@cloudscape-design/components/form";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import { useState } from "react";
import type { SizingChoices } from "../api";
import {
  draftOf,
  FIELDS,
  notWhole,
  type SizingDraft,
  type SizingNumber,
  type SizingSearch,
  toSearch,
} from "../util/sizing";

const QUESTIONS: [name: SizingNumber, label: string, description?: string][] = [
  ["reads", "Reads a second"],
  ["writes", "Writes a second"],
  ["row", "Bytes of a row", "As it is sent."],
  ["data", "Data today, GiB", "Of one replica, as it lies on disk."],
  ["growth", "Growth of the data, % a month", "It compounds."],
  ["months", "Months ahead", "For how long it is to be large enough."],
  ["p99", "p99, ms", "99 of 100 requests keep within it."],
  ["spare", "Spare, %", "For peaks, repairs and lost nodes."],
  ["replicas", "Replicas of every row"],
  ["zones", "Zones"],
  ["scan", "Scan speed, rows a second and core", "As measured of your table. Empty: as published."],
];

/** Asks what a cluster is to do. What is wrong with it otherwise, the API says. */
export function SizingForm({
  choices,
  search,
  fields,
  isAsking,
  onAsk,
}: {
  choices: SizingChoices;
  search: SizingSearch;
  /** The API's complaints about what was asked last, by its field. */
  fields: Record<string, string>;
  isAsking: boolean;
  onAsk: (search: SizingSearch) => void;
}) {
  const [draft, setDraft] = useState(() => draftOf(search, choices));
  const [wrong, setWrong] = useState<ReturnType<typeof notWhole>>({});
  const change = (changes: Partial<SizingDraft>) => setDraft((before) => ({ ...before, ...changes }));
  const engines = choices.engines.map(({ name, title }) => ({ value: name, label: title }));
  const providers = choices.providers.map(({ id, name, is_offered }) => ({
    value: id,
    label: name,
    description: is_offered ? undefined : "Not offered by this installation: for comparison",
  }));
  const provider = choices.providers.find(({ id }) => id === draft.provider);
  const regions = (provider?.regions ?? []).map(({ name, title }) => ({
    value: name,
    label: title,
    description: name,
  }));

  const figures = [
    { value: "", label: "What was published" },
    ...choices.measured
      .filter(({ engine }) => engine === draft.engine)
      .map(({ cluster, work_per_vcpu: work, p99_ms: p99 }) => ({
        value: cluster.id,
        label: cluster.name,
        description: `Measured: ${work.toLocaleString("en")} a second and vCPU, p99 ${p99} ms`,
      })),
  ];

  function ask(): void {
    const found = notWhole(draft);
    setWrong(found);
    if (Object.keys(found).length === 0) onAsk(toSearch(draft));
  }

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <Form
        actions={
          <Button variant="primary" loading={isAsking} loadingText="Working it out">
            Suggest clusters
          </Button>
        }
      >
        <Container header={<Header variant="h2">What it is to do</Header>}>
          <ColumnLayout columns={3}>
            <FormField label="Engine" errorText={fields.engine}>
              <Select
                selectedOption={engines.find(({ value }) => value === draft.engine) ?? null}
                options={engines}
                onChange={({ detail }) => change({ engine: detail.selectedOption.value ?? "", like: "" })}
              />
            </FormField>
            <FormField label="Provider" errorText={fields.provider}>
              <Select
                selectedOption={providers.find(({ value }) => value === draft.provider) ?? null}
                options={providers}
                onChange={({ detail }) => {
                  const chosen = choices.providers.find(({ id }) => id === detail.selectedOption.value);
                  change({ provider: chosen?.id ?? "", region: chosen?.regions[0]?.name ?? "" });
                }}
              />
            </FormField>
            <FormField label="Region" errorText={fields.region}>
              <Select
                selectedOption={regions.find(({ value }) => value === draft.region) ?? null}
                options={regions}
                filteringType="auto"
                filteringPlaceholder="Find a region"
                onChange={({ detail }) => change({ region: detail.selectedOption.value ?? "" })}
              />
            </FormField>
            <FormField
              label="Throughput by"
              description="Own clusters can be chosen once they were busy for a week."
              errorText={fields.like_cluster_id}
            >
              <Select
                selectedOption={figures.find(({ value }) => value === draft.like) ?? figures[0] ?? null}
                options={figures}
                onChange={({ detail }) => change({ like: detail.selectedOption.value ?? "" })}
              />
            </FormField>
            {QUESTIONS.map(([name, label, description]) => (
              <FormField
                key={name}
                label={label}
                description={description}
                errorText={wrong[name] ?? fields[FIELDS[name]]}
              >
                <Input
                  type="number"
                  inputMode="numeric"
                  value={draft[name]}
                  onChange={({ detail }) => change({ [name]: detail.value })}
                />
              </FormField>
            ))}
          </ColumnLayout>
        </Container>
      </Form>
    </form>
  );
}
