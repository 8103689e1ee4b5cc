import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import Toggle from "@cloudscape-design/components/toggle";
import { useMutation } from "@tanstack/react-query";
import {
  type AlertRule,
  type AlertRuleUpdate,
  alertRulesQuery,
  type Cluster,
  queryClient,
  type AlertRules as Rules,
  toApiError,
  updateAlertRuleMutation,
} from "../api";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { againstDuration, againstThreshold, amountText, durationText, readAmount } from "../util/alert-amounts";
import { reasonAgainst } from "../util/allowed";
import { SeverityBadge } from "./alert-parts";
import { Moment } from "./moment";
import { RowButton } from "./row-button";

/** The rules of a cluster with what it has of them, to be changed where they stand. */
export function AlertRules({ cluster, rules }: { cluster: Cluster; rules: Rules }) {
  const now = useNow(30_000);
  const update = useMutation({
    ...updateAlertRuleMutation(),
    onSuccess: () => queryClient.invalidateQueries(alertRulesQuery(cluster.id)),
    onError: (problem) => {
      const { message, hint } = toApiError(problem, undefined);
      toast({ type: "error", header: message, content: hint });
    },
  });
  const reason = reasonAgainst("update_alert_rule", rules.allowed_actions);
  const save = (rule: AlertRule, body: AlertRuleUpdate) =>
    update.mutateAsync({ path: { cluster_id: cluster.id, rule: rule.rule }, body });

  const columns: TableProps.ColumnDefinition<AlertRule>[] = [
    {
      id: "title",
      header: "Rule",
      isRowHeader: true,
      minWidth: 240,
      cell: ({ title, description }) => (
        <>
          {title}
          <Box fontSize="body-s" color="text-body-secondary" fontWeight="normal">
            {description}
          </Box>
        </>
      ),
    },
    {
      id: "severity",
      header: "Severity",
      minWidth: 110,
      cell: ({ severity }) => <SeverityBadge severity={severity} />,
    },
    {
      id: "threshold",
      header: "Fires",
      minWidth: 170,
      cell: (rule) => <Fires rule={rule} />,
      editConfig: {
        ariaLabel: "Threshold",
        errorIconAriaLabel: "Error",
        editIconAriaLabel: "can be changed",
        disabledReason: ({ threshold_facts, title }) =>
          threshold_facts === null ? `${title} says only yes or no: it has no threshold.` : reason,
        validation: (rule, text) => (text === undefined ? undefined : againstThreshold(String(text), rule)),
        editingCell: (rule, { currentValue, setValue }) => (
          <AmountInput
            label={`Threshold of ${rule.title}`}
            value={currentValue ?? amountText(rule.threshold ?? 0, rule.unit)}
            onChange={setValue}
          />
        ),
      },
    },
    {
      id: "for",
      header: "After",
      minWidth: 120,
      cell: ({ for_seconds }) => durationText(for_seconds),
      editConfig: {
        ariaLabel: "How long it must have lasted",
        errorIconAriaLabel: "Error",
        editIconAriaLabel: "can be changed",
        disabledReason: () => reason,
        validation: (_, text) => (text === undefined ? undefined : againstDuration(String(text))),
        editingCell: (rule, { currentValue, setValue }) => (
          <AmountInput
            label={`How long ${rule.title} must have lasted`}
            value={currentValue ?? amountText(rule.for_seconds, "seconds")}
            onChange={setValue}
          />
        ),
      },
    },
    {
      id: "enabled",
      header: "On",
      minWidth: 70,
      cell: (rule) => (
        <Toggle
          checked={rule.enabled}
          disabled={reason !== undefined}
          ariaLabel={`${rule.title} is on`}
          onChange={({ detail }) => save(rule, { enabled: detail.checked }).catch(() => undefined)}
        />
      ),
    },
    {
      id: "usual",
      header: "Usual",
      minWidth: 190,
      cell: (rule) => (
        <>
          {usual(rule)}
          {rule.changed && (
            <Box fontSize="body-s" color="text-body-secondary">
              <RowButton
                action="update_alert_rule"
                allowed={rules.allowed_actions}
                ariaLabel={`Back to usual: ${rule.title}`}
                onClick={() =>
                  void save(rule, { threshold: null, for_seconds: null, enabled: null }).catch(() => undefined)
                }
              >
                Back to usual
              </RowButton>
              <br />
              Changed by {rule.changed_by}, <Moment at={rule.changed_at} now={now} />
            </Box>
          )}
        </>
      ),
    },
  ];

  return (
    <Table
      variant="container"
      trackBy="rule"
      wrapLines
      items={rules.items}
      ariaLabels={{
        tableLabel: "Rules",
        activateEditLabel: (column, { title }) =>
          `Change ${column.id === "for" ? "duration" : "threshold"} of ${title}`,
        cancelEditLabel: () => "Cancel",
        submitEditLabel: () => "Save",
        submittingEditText: () => "Saving",
        successfulEditLabel: () => "Saved",
      }}
      header={
        <Header variant="h2" description={reason ?? "What you change counts within half a minute, here only."}>
          Rules
        </Header>
      }
      columnDefinitions={columns}
      submitEdit={async (rule, column, text) => {
        if (text === undefined) return;
        const amount = readAmount(String(text), column.id === "for" ? "seconds" : rule.unit);
        await save(rule, column.id === "for" ? { for_seconds: amount } : { threshold: amount });
      }}
    />
  );
}

function Fires({ rule }: { rule: AlertRule }) {
  if (rule.threshold === null) return <>when it is so</>;
  return (
    <span className="nowrap">
      {rule.comparison} {amountText(rule.threshold, rule.unit)}
    </span>
  );
}

function usual({ threshold_facts, unit, default_for_seconds }: AlertRule): string {
  const after = default_for_seconds === 0 ? "at once" : `after ${durationText(default_for_seconds)}`;
  return threshold_facts === null ? after : `${amountText(threshold_facts.default, unit)}, ${after}`;
}

function AmountInput({ label, value, onChange }: { label: string; value: string; onChange: (text: string) => void }) {
  return (
    <Input
      autoFocus
      ariaLabel={label}
      value={value}
      autoComplete={false}
      spellcheck={false}
      onChange={({ detail }) => onChange(detail.value)}
    />
  );
}
