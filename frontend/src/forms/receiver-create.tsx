import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import Textarea from "@cloudscape-design/components/textarea";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { createAlertReceiverMutation, refresh, toApiError } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { KINDS, missingIn, type ReceiverFields, type ReceiverKind, receiverOrder } from "../util/alert-receivers";
import { ReceiverScope } from "./receiver-fields";

const EMPTY: ReceiverFields = {
  name: "",
  kind: "webhook",
  addresses: "",
  url: "",
  routingKey: "",
  topics: ["alerts", "budgets"],
  severity: "info",
  clusterIds: [],
};

/** Names somebody who is told. `onCreated` gets the secret of a webhook, which is shown this once. */
export function ReceiverCreateModal({
  onDismiss,
  onCreated,
}: {
  onDismiss: () => void;
  onCreated: (secret: string | null) => void;
}) {
  const [fields, setFields] = useState(EMPTY);
  const create = useMutation({
    ...createAlertReceiverMutation(),
    // The secret is in the answer: keep it nowhere longer than the dialog that shows it.
    gcTime: 0,
    onSuccess: ({ signing_secret }) => {
      onCreated(signing_secret);
      return refresh();
    },
  });
  const errors = create.isError ? toApiError(create.error, undefined).fields : {};
  const set = (changed: Partial<ReceiverFields>) => setFields((before) => ({ ...before, ...changed }));
  const { kind } = fields;
  return (
    <ConfirmModal
      title="Add a receiver"
      confirm="Add"
      isPending={create.isPending}
      error={create.error}
      disabledReason={missingIn(fields)}
      onConfirm={() => create.mutate({ body: receiverOrder(fields) })}
      onDismiss={onDismiss}
    >
      <FormField label="Name" errorText={errors.name}>
        <Input
          value={fields.name}
          placeholder="on call"
          autoComplete={false}
          onChange={({ detail }) => set({ name: detail.value })}
        />
      </FormField>
      <FormField label="Kind" errorText={errors.kind}>
        <RadioGroup value={kind} items={KINDS} onChange={({ detail }) => set({ kind: detail.value as ReceiverKind })} />
      </FormField>
      {kind === "email" && (
        <FormField label="Addresses" description="20 at most, with commas between them." errorText={errors.addresses}>
          <Textarea
            rows={2}
            value={fields.addresses}
            placeholder="oncall@example.com"
            spellcheck={false}
            onChange={({ detail }) => set({ addresses: detail.value })}
          />
        </FormField>
      )}
      {kind === "pagerduty" && (
        <FormField
          label="Integration key"
          description="Of a service's Events API v2 integration. Kept encrypted, and not shown again."
          errorText={errors.routing_key}
        >
          <Input
            type="password"
            value={fields.routingKey}
            autoComplete={false}
            onChange={({ detail }) => set({ routingKey: detail.value })}
          />
        </FormField>
      )}
      {kind !== "email" && (
        <FormField
          label={kind === "pagerduty" ? "Address (optional)" : "Address"}
          description={
            kind === "pagerduty"
              ? "Of a compatible service; PagerDuty's own otherwise."
              : "Where to post. Kept encrypted, and only its host is shown again."
          }
          errorText={errors.url}
        >
          <Input
            type="url"
            value={fields.url}
            placeholder="https://…"
            autoComplete={false}
            spellcheck={false}
            onChange={({ detail }) => set({ url: detail.value })}
          />
        </FormField>
      )}
      <ReceiverScope
        kind={fields.kind}
        topics={fields.topics}
        severity={fields.severity}
        clusterIds={fields.clusterIds}
        errors={errors}
        onTopics={(topics) => set({ topics })}
        onSeverity={(severity) => set({ severity })}
        onClusters={(clusterIds) => set({ clusterIds })}
      />
    </ConfirmModal>
  );
}
