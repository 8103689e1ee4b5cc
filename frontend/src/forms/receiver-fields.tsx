import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Multiselect from "@cloudscape-design/components/multiselect";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { type AlertReceiver, clustersQuery } from "../api";
import { SEVERITY_OPTIONS } from "../components/alert-parts";
import { type ReceiverKind, TOPICS, type Topic, takesTopic } from "../util/alert-receivers";

const TOLD = { critical: "Critical only", warning: "Warning and above", info: "Everything" } as const;
const OPTIONS = SEVERITY_OPTIONS.map(({ value }) => ({ value, label: TOLD[value] })).reverse();

/** From which severity on a receiver is told. */
export function toldFrom(severity: AlertReceiver["severity"]): string {
  return TOLD[severity];
}

/** What a receiver is told: of what, from which severity on, and of which clusters. */
export function ReceiverScope({
  kind,
  topics,
  severity,
  clusterIds,
  errors,
  onTopics,
  onSeverity,
  onClusters,
}: {
  kind: ReceiverKind;
  topics: Topic[];
  severity: AlertReceiver["severity"];
  clusterIds: string[];
  errors: Readonly<Record<string, string>>;
  onTopics: (topics: Topic[]) => void;
  onSeverity: (severity: AlertReceiver["severity"]) => void;
  onClusters: (ids: string[]) => void;
}) {
  const clusters = useQuery(clustersQuery({ limit: 200 }));
  const options = (clusters.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }));
  return (
    <SpaceBetween size="m">
      <FormField label="Tell of" errorText={errors.topics}>
        <SpaceBetween size="xxs">
          {TOPICS.filter(({ value }) => takesTopic(kind, value)).map(({ value, label, description }) => (
            <Checkbox
              key={value}
              checked={topics.includes(value)}
              description={description}
              onChange={({ detail }) =>
                onTopics(detail.checked ? [...topics, value] : topics.filter((each) => each !== value))
              }
            >
              {label}
            </Checkbox>
          ))}
        </SpaceBetween>
      </FormField>
      <FormField label="How severe" errorText={errors.severity}>
        <Select
          selectedOption={OPTIONS.find(({ value }) => value === severity) ?? null}
          options={OPTIONS}
          onChange={({ detail }) => onSeverity(detail.selectedOption.value as AlertReceiver["severity"])}
        />
      </FormField>
      <FormField label="Clusters" description="None chosen: all, also those to come." errorText={errors.cluster_ids}>
        <Multiselect
          placeholder="All clusters"
          selectedOptions={clusterIds.map(
            (id) => options.find(({ value }) => value === id) ?? { value: id, label: id },
          )}
          options={options}
          empty="There are no clusters yet."
          filteringType="auto"
          statusType={clusters.isPending ? "loading" : "finished"}
          deselectAriaLabel={({ label }) => `Leave out ${label}`}
          onChange={({ detail }) => onClusters(detail.selectedOptions.flatMap(({ value }) => value ?? []))}
        />
      </FormField>
    </SpaceBetween>
  );
}
