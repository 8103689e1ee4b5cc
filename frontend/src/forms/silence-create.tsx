import Alert from "@cloudscape-design/components/alert";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select, { type SelectProps } from "@cloudscape-design/components/select";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type AlertSilenceOrder,
  alertRulesQuery,
  clusterNodesQuery,
  createAlertSilenceMutation,
  type FiringAlert,
  refresh,
  toApiError,
} from "../api";
import { SEVERITY_OPTIONS } from "../components/alert-parts";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";

const ANY = { value: "", label: "Any" };
const HOURS = [
  { value: "1", label: "For 1 hour" },
  { value: "4", label: "For 4 hours" },
  { value: "24", label: "For a day" },
  { value: "168", label: "For a week" },
  { value: "720", label: "For 30 days" },
];

interface Fields {
  rule: string;
  severity: string;
  node: string;
  keyspace: string;
  table: string;
}

/** Silences alerts of a cluster; with `alert`, those that are like it. */
export function SilenceCreateModal({
  clusterId,
  alert,
  onDismiss,
}: {
  clusterId: string;
  alert?: FiringAlert;
  onDismiss: () => void;
}) {
  const rules = useQuery(alertRulesQuery(clusterId));
  const nodes = useQuery(clusterNodesQuery(clusterId));
  const [fields, setFields] = useState<Fields>({
    rule: alert?.rule ?? "",
    severity: "",
    node: alert?.node_id ?? "",
    keyspace: alert?.keyspace ?? "",
    table: alert?.table ?? "",
  });
  const [hours, setHours] = useState("4");
  const [comment, setComment] = useState("");
  const create = useMutation({
    ...createAlertSilenceMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: "Silenced. It is shown all the same." });
      return refresh();
    },
  });
  const errors = create.isError ? toApiError(create.error, undefined).fields : {};
  const set = (changed: Partial<Fields>) => setFields((before) => ({ ...before, ...changed }));
  const choice = (name: keyof Fields, label: string, options: SelectProps.Option[]) => (
    <FormField label={label} errorText={errors[name === "node" ? "node_id" : name]}>
      <Select
        selectedOption={
          [ANY, ...options].find(({ value }) => value === fields[name]) ?? { value: fields[name], label: fields[name] }
        }
        options={[ANY, ...options]}
        filteringType={options.length > 8 ? "auto" : "none"}
        onChange={({ detail }) => set({ [name]: detail.selectedOption.value ?? "" })}
      />
    </FormField>
  );
  const text = (name: "keyspace" | "table", label: string) => (
    <FormField label={label} errorText={errors[name]}>
      <Input
        value={fields[name]}
        placeholder="Any"
        autoComplete={false}
        spellcheck={false}
        onChange={({ detail }) => set({ [name]: detail.value.trim() })}
      />
    </FormField>
  );
  return (
    <ConfirmModal
      title={alert ? `Silence: ${alert.title}` : "Silence alerts"}
      confirm="Silence"
      size="large"
      isPending={create.isPending}
      error={create.error}
      disabledReason={missing(fields, comment)}
      onConfirm={() =>
        create.mutate({ path: { cluster_id: clusterId }, body: order(fields, Number(hours), comment.trim()) })
      }
      onDismiss={onDismiss}
    >
      <ColumnLayout columns={2}>
        {choice(
          "rule",
          "Rule",
          (rules.data?.items ?? []).map(({ rule, title }) => ({ value: rule, label: title })),
        )}
        {choice("severity", "Severity", SEVERITY_OPTIONS)}
        {choice(
          "node",
          "Node",
          (nodes.data?.items ?? [])
            .filter(({ state }) => state !== "deleted")
            .map(({ id, name, rack }) => ({ value: id, label: name, description: rack })),
        )}
        <FormField label="How long" errorText={errors.ends_at}>
          <Select
            selectedOption={HOURS.find(({ value }) => value === hours) ?? null}
            options={HOURS}
            onChange={({ detail }) => setHours(detail.selectedOption.value ?? "4")}
          />
        </FormField>
        {text("keyspace", "Keyspace")}
        {text("table", "Table")}
      </ColumnLayout>
      {Object.values(fields).every((value) => value === "") && (
        <Alert type="warning" statusIconAriaLabel="Warning">
          Nobody is told of any alert of this cluster meanwhile.
        </Alert>
      )}
      <FormField label="Why" description="Whoever comes after you reads it." errorText={errors.comment}>
        <Input value={comment} autoComplete={false} onChange={({ detail }) => setComment(detail.value)} />
      </FormField>
    </ConfirmModal>
  );
}

function missing({ keyspace, table }: Fields, comment: string): string | undefined {
  if (table !== "" && keyspace === "") return "A table needs its keyspace.";
  return comment.trim() === "" ? "Say why, in a few words." : undefined;
}

function order({ node, ...fields }: Fields, hours: number, comment: string): AlertSilenceOrder {
  const given = Object.entries({ ...fields, node_id: node }).filter(([, value]) => value !== "");
  return { ...Object.fromEntries(given), ends_at: new Date(Date.now() + hours * 3_600_000).toISOString(), comment };
}
