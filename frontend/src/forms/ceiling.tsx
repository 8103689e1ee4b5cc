import ColumnLayout from "@cloudscape-design/components/column-layout";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Ceiling, refresh, setCeilingMutation, toApiError } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";
import { readDollars } from "../util/budgets";
import { ClusterField } from "./budget";

/** Sets the most that the organisation or a cluster may have, or changes it. */
export function CeilingModal({ ceiling, onDismiss }: { ceiling?: Ceiling; onDismiss: () => void }) {
  const [of, setOf] = useState<"organisation" | "cluster">(ceiling?.cluster ? "cluster" : "organisation");
  const [clusterId, setClusterId] = useState(ceiling?.cluster?.id ?? null);
  const [nodes, setNodes] = useState(String(ceiling?.nodes ?? ""));
  const [dollars, setDollars] = useState(
    ceiling?.micros_per_month === undefined || ceiling.micros_per_month === null
      ? ""
      : String(ceiling.micros_per_month / 1_000_000),
  );
  const save = useMutation({
    ...setCeilingMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: "Saved. It holds at once." });
      return refresh();
    },
  });
  const errors = save.isError ? toApiError(save.error, undefined).fields : {};
  const title = ceiling ? `Change the ceiling of ${ceiling.cluster?.name ?? "the organisation"}` : "Set a ceiling";
  return (
    <ConfirmModal
      title={title}
      confirm="Save"
      isPending={save.isPending}
      error={save.error}
      disabledReason={missing(of, clusterId, nodes, dollars)}
      onConfirm={() =>
        save.mutate({
          body: {
            cluster_id: of === "cluster" ? clusterId : null,
            nodes: nodes.trim() === "" ? null : Number(nodes),
            micros_per_month: dollars.trim() === "" ? null : (readDollars(dollars) ?? null),
          },
        })
      }
      onDismiss={onDismiss}
    >
      {!ceiling && (
        <FormField label="Of">
          <RadioGroup
            value={of}
            items={[
              { value: "organisation", label: "The organisation" },
              { value: "cluster", label: "A cluster" },
            ]}
            onChange={({ detail }) => setOf(detail.value === "cluster" ? "cluster" : "organisation")}
          />
        </FormField>
      )}
      {!ceiling && of === "cluster" && (
        <ClusterField label="Cluster" value={clusterId} errorText={errors.cluster_id} onChange={setClusterId} />
      )}
      <ColumnLayout columns={2}>
        <FormField label="Nodes at most" description="Empty: any number." errorText={errors.nodes}>
          <Input
            value={nodes}
            inputMode="numeric"
            autoComplete={false}
            onChange={({ detail }) => setNodes(detail.value)}
          />
        </FormField>
        <FormField
          label="Dollars a month at most"
          description="Of machines on demand with mark-up and fees; empty: any amount."
          errorText={errors.micros_per_month}
        >
          <Input
            value={dollars}
            inputMode="decimal"
            autoComplete={false}
            onChange={({ detail }) => setDollars(detail.value)}
          />
        </FormField>
      </ColumnLayout>
    </ConfirmModal>
  );
}

function missing(of: string, clusterId: string | null, nodes: string, dollars: string): string | undefined {
  if (of === "cluster" && clusterId === null) return "Choose a cluster.";
  if (nodes.trim() === "" && dollars.trim() === "") return "Enter a number of nodes, an amount, or both.";
  if (nodes.trim() !== "" && !/^\d{1,6}$/.test(nodes.trim())) return "Enter a whole number of nodes.";
  return dollars.trim() !== "" && readDollars(dollars) === undefined ? "Enter an amount in dollars." : undefined;
}
