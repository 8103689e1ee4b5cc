import ColumnLayout from "@cloudscape-design/components/column-layout";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import Select from "@cloudscape-design/components/select";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Budget, clustersQuery, createBudgetMutation, refresh, toApiError, updateBudgetMutation } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";
import {
  type BudgetFields,
  type BudgetScope,
  missingInBudget,
  readDollars,
  readPercents,
  SCOPES,
} from "../util/budgets";

const EMPTY: BudgetFields = {
  name: "",
  scope: "organisation",
  clusterId: null,
  tagKey: "",
  tagValue: "",
  dollars: "",
  spentPercents: "50, 80, 100",
  forecastPercents: "100",
};

/** Makes a budget, or changes one: its name, amount and thresholds. */
export function BudgetModal({ budget, onDismiss }: { budget?: Budget; onDismiss: () => void }) {
  const [fields, setFields] = useState(budget ? fieldsOf(budget) : EMPTY);
  const set = (changed: Partial<BudgetFields>) => setFields((before) => ({ ...before, ...changed }));
  const onSuccess = () => {
    onDismiss();
    toast({ type: "success", content: "Saved." });
    return refresh();
  };
  const create = useMutation({ ...createBudgetMutation(), onSuccess });
  const update = useMutation({ ...updateBudgetMutation(), onSuccess });
  const { isPending, isError, error } = budget ? update : create;
  const errors = isError ? toApiError(error, undefined).fields : {};
  const save = () => {
    const body = {
      name: fields.name.trim(),
      micros: readDollars(fields.dollars) ?? 0,
      spent_percents: readPercents(fields.spentPercents) ?? [],
      forecast_percents: readPercents(fields.forecastPercents) ?? [],
    };
    if (budget) update.mutate({ path: { budget_id: budget.id }, body });
    else create.mutate({ body: { ...body, ...scopeIn(fields) } });
  };
  return (
    <ConfirmModal
      title={budget ? `Change ${budget.name}` : "Create a budget"}
      confirm={budget ? "Save" : "Create"}
      isPending={isPending}
      error={error}
      disabledReason={missingInBudget(fields)}
      onConfirm={save}
      onDismiss={onDismiss}
    >
      <FormField label="Name" errorText={errors.name}>
        <Input
          value={fields.name}
          placeholder="shop"
          autoComplete={false}
          onChange={({ detail }) => set({ name: detail.value })}
        />
      </FormField>
      {!budget && <ScopeFields fields={fields} errors={errors} onChange={set} />}
      <FormField label="Dollars a month" errorText={errors.micros}>
        <Input
          value={fields.dollars}
          placeholder="500"
          inputMode="decimal"
          autoComplete={false}
          onChange={({ detail }) => set({ dollars: detail.value })}
        />
      </FormField>
      <ColumnLayout columns={2}>
        <FormField
          label="Tell when so much is spent"
          description="Percents with commas; empty: never."
          errorText={errors.spent_percents}
        >
          <Input
            value={fields.spentPercents}
            autoComplete={false}
            onChange={({ detail }) => set({ spentPercents: detail.value })}
          />
        </FormField>
        <FormField
          label="Tell when so much is forecast"
          description="Of what the month will come to; empty: never."
          errorText={errors.forecast_percents}
        >
          <Input
            value={fields.forecastPercents}
            autoComplete={false}
            onChange={({ detail }) => set({ forecastPercents: detail.value })}
          />
        </FormField>
      </ColumnLayout>
    </ConfirmModal>
  );
}

function ScopeFields({
  fields,
  errors,
  onChange,
}: {
  fields: BudgetFields;
  errors: Readonly<Record<string, string>>;
  onChange: (changed: Partial<BudgetFields>) => void;
}) {
  return (
    <>
      <FormField label="Of" errorText={errors.scope}>
        <RadioGroup
          value={fields.scope}
          items={SCOPES}
          onChange={({ detail }) => onChange({ scope: detail.value as BudgetScope })}
        />
      </FormField>
      {fields.scope === "cluster" && (
        <ClusterField
          label="Cluster"
          value={fields.clusterId}
          errorText={errors.cluster_id}
          onChange={(clusterId) => onChange({ clusterId })}
        />
      )}
      {fields.scope === "tag" && (
        <ColumnLayout columns={2}>
          <FormField label="Key of the tag" errorText={errors.tag_key}>
            <Input
              value={fields.tagKey}
              placeholder="team"
              autoComplete={false}
              onChange={({ detail }) => onChange({ tagKey: detail.value })}
            />
          </FormField>
          <FormField label="Value of the tag" errorText={errors.tag_value}>
            <Input
              value={fields.tagValue}
              placeholder="shop"
              autoComplete={false}
              onChange={({ detail }) => onChange({ tagValue: detail.value })}
            />
          </FormField>
        </ColumnLayout>
      )}
    </>
  );
}

/** One of the organisation's clusters. */
export function ClusterField({
  label,
  value,
  errorText,
  onChange,
}: {
  label: string;
  value: string | null;
  errorText?: string;
  onChange: (id: string) => void;
}) {
  const clusters = useQuery(clustersQuery({ limit: 200 }));
  const options = (clusters.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }));
  return (
    <FormField label={label} errorText={errorText}>
      <Select
        selectedOption={options.find((option) => option.value === value) ?? null}
        options={options}
        placeholder="Choose a cluster"
        empty="There are no clusters yet."
        filteringType="auto"
        statusType={clusters.isPending ? "loading" : "finished"}
        onChange={({ detail }) => onChange(detail.selectedOption.value ?? "")}
      />
    </FormField>
  );
}

function scopeIn({ scope, clusterId, tagKey, tagValue }: BudgetFields) {
  switch (scope) {
    case "cluster":
      return { scope, cluster_id: clusterId };
    case "tag":
      return { scope, tag_key: tagKey.trim(), tag_value: tagValue };
    default:
      return { scope };
  }
}

function fieldsOf(budget: Budget): BudgetFields {
  return {
    name: budget.name,
    scope: budget.scope,
    clusterId: budget.cluster?.id ?? null,
    tagKey: budget.tag?.key ?? "",
    tagValue: budget.tag?.value ?? "",
    dollars: String(budget.micros / 1_000_000),
    spentPercents: budget.spent_percents.join(", "),
    forecastPercents: budget.forecast_percents.join(", "),
  };
}
