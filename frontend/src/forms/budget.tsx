import ColumnLayout from "@cloudscape-design/components/column-layout";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Budget, clustersQuery, createBudgetMutation, editableBudget, refresh, toApiError } from "../api";
import { ChangedMeanwhile } from "../components/changed-meanwhile";
import { ConfirmModal } from "../components/confirm-modal";
import { useEdit } from "../hooks/use-edit";
import { toast } from "../hooks/use-toasts";
import {
  type BudgetFields,
  type BudgetScope,
  missingInBudget,
  readDollars,
  readPercents,
  SCOPES,
} from "../util/budgets";
import { formatDollars } from "../util/money";

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

interface Props {
  onDismiss: () => void;
}

/** Makes a budget. */
export function BudgetCreateModal({ onDismiss }: Props) {
  const [fields, setFields] = useState(EMPTY);
  const create = useMutation({ ...createBudgetMutation(), onSuccess: () => saved(onDismiss) });
  return (
    <ConfirmModal
      title="Create a budget"
      confirm="Create"
      isPending={create.isPending}
      error={create.error}
      disabledReason={missingInBudget(fields)}
      onConfirm={() => create.mutate({ body: { ...bodyOf(fields), ...scopeIn(fields) } })}
      onDismiss={onDismiss}
    >
      <BudgetFieldsForm fields={fields} error={create.error} withScope onChange={setFields} />
    </ConfirmModal>
  );
}

/** Changes a budget: its name, amount and thresholds. */
export function BudgetEditModal({ budget, onDismiss }: Props & { budget: Budget }) {
  const [fields, setFields] = useState(fieldsOf(budget));
  const edit = useEdit({
    editable: editableBudget(budget.id),
    opened: budget,
    edited: (found) => bodyOf(fieldsOf(found)),
    onSuccess: () => saved(onDismiss),
  });
  return (
    <ConfirmModal
      title={`Change ${edit.opened.name}`}
      confirm="Save"
      isPending={edit.isPending}
      error={edit.error}
      disabledReason={missingInBudget(fields)}
      onConfirm={() => edit.save(bodyOf(fields))}
      onDismiss={onDismiss}
    >
      <ChangedMeanwhile
        edit={edit}
        words={wordsOf}
        onLoad={(now) => {
          setFields(fieldsOf(now));
          edit.load();
        }}
        onSaveOver={() => edit.saveOver(bodyOf(fields))}
      />
      <BudgetFieldsForm fields={fields} error={edit.error} onChange={setFields} />
    </ConfirmModal>
  );
}

function saved(onDismiss: () => void): Promise<void> {
  onDismiss();
  toast({ type: "success", content: "Saved." });
  return refresh();
}

function BudgetFieldsForm({
  fields,
  error,
  withScope = false,
  onChange,
}: {
  fields: BudgetFields;
  error: unknown;
  withScope?: boolean;
  onChange: (fields: BudgetFields) => void;
}) {
  const errors = error ? toApiError(error, undefined).fields : {};
  const set = (changed: Partial<BudgetFields>) => onChange({ ...fields, ...changed });
  return (
    <SpaceBetween size="m">
      <FormField label="Name" errorText={errors.name}>
        <Input
          value={fields.name}
          placeholder="shop"
          autoComplete={false}
          onChange={({ detail }) => set({ name: detail.value })}
        />
      </FormField>
      {withScope && <ScopeFields fields={fields} errors={errors} onChange={set} />}
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
    </SpaceBetween>
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

function bodyOf(fields: BudgetFields) {
  return {
    name: fields.name.trim(),
    micros: readDollars(fields.dollars) ?? 0,
    spent_percents: readPercents(fields.spentPercents) ?? [],
    forecast_percents: readPercents(fields.forecastPercents) ?? [],
  };
}

const wordsOf = (budget: Budget) => ({
  Name: budget.name,
  "Dollars a month": formatDollars(budget.micros),
  "Tell when so much is spent": budget.spent_percents.join(", "),
  "Tell when so much is forecast": budget.forecast_percents.join(", "),
});

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
