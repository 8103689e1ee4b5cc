import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Toggle from "@cloudscape-design/components/toggle";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, editableCluster, refresh, toApiError, updateClusterMutation } from "../api";
import { ActionButton } from "../components/action-button";
import { ChangedMeanwhile } from "../components/changed-meanwhile";
import { ErrorBox } from "../components/error-box";
import { useEdit } from "../hooks/use-edit";
import { toast } from "../hooks/use-toasts";

/** Termination protection, and what happens by itself when a node is broken. */
export function ClusterHealingForm({ cluster }: { cluster: Cluster }) {
  const [mode, setMode] = useState(cluster.healing.mode);
  const [grace, setGrace] = useState(String(cluster.healing.grace_seconds));
  const [perDay, setPerDay] = useState(String(cluster.healing.replacements_per_day));
  // While it is being saved the switch shows what was asked for.
  const [asked, setAsked] = useState<boolean>();
  const onSuccess = () => {
    toast({ type: "success", content: "Saved." });
    return refresh();
  };
  const update = useMutation({ ...updateClusterMutation(), onSuccess });
  const edit = useEdit({
    editable: editableCluster(cluster.id),
    opened: cluster,
    edited: (found) => found.healing,
    onSuccess,
  });
  const path = { cluster_id: cluster.id };
  const problem = edit.error ?? update.error;
  const error = problem ? toApiError(problem, undefined) : undefined;
  const wish = { healing: { mode, grace_seconds: Number(grace), replacements_per_day: Number(perDay) } };
  return (
    <SpaceBetween size="l">
      {error && <ErrorBox error={error} />}
      <Container header={<Header variant="h2">Termination protection</Header>}>
        <Toggle
          checked={asked ?? cluster.termination_protection}
          disabled={update.isPending || !mayUpdate(cluster) || cluster.expires_at !== null}
          description={
            cluster.expires_at === null
              ? "While it is on, the cluster cannot be deleted: not here, not over the API, not with Terraform."
              : "A test drive is deleted by itself. Keep the cluster (under Change): it is protected then."
          }
          onChange={({ detail }) => {
            setAsked(detail.checked);
            update.mutate(
              { path, body: { termination_protection: detail.checked } },
              { onSettled: () => setAsked(undefined) },
            );
          }}
        >
          Protect this cluster against deletion
        </Toggle>
      </Container>
      <Container
        header={
          <Header
            variant="h2"
            description="The control plane sees dead processes, dead machines and lost disks."
            actions={
              <ActionButton
                ariaLabel="Save self-healing"
                action="update_cluster"
                allowed={cluster.allowed_actions}
                loading={edit.isPending}
                onClick={() => edit.save(wish)}
              >
                Save
              </ActionButton>
            }
          >
            Self-healing
          </Header>
        }
      >
        <SpaceBetween size="m">
          <ChangedMeanwhile
            edit={edit}
            words={wordsOf}
            onLoad={({ healing }) => {
              setMode(healing.mode);
              setGrace(String(healing.grace_seconds));
              setPerDay(String(healing.replacements_per_day));
              edit.load();
            }}
            onSaveOver={() => edit.saveOver(wish)}
          />
          <RadioGroup
            ariaLabel="Self-healing"
            value={mode}
            items={[
              {
                value: "act",
                label: "Mend it",
                description:
                  "Processes are restarted and dead machines replaced, one at a time, never at the cost of QUORUM.",
              },
              {
                value: "tell",
                label: "Tell me only",
                description: "What was found is listed under Activity; nothing is done.",
              },
            ]}
            onChange={({ detail }) => setMode(detail.value as typeof mode)}
          />
          <FormField
            label="Grace time in seconds"
            description="How long a machine must be dead before its node is replaced."
            errorText={error?.fields["healing.grace_seconds"]}
          >
            <Input type="number" inputMode="numeric" value={grace} onChange={({ detail }) => setGrace(detail.value)} />
          </FormField>
          <FormField
            label="Replacements per day"
            description="At most so many nodes are replaced by themselves in 24 hours."
            errorText={error?.fields["healing.replacements_per_day"]}
          >
            <Input
              type="number"
              inputMode="numeric"
              value={perDay}
              onChange={({ detail }) => setPerDay(detail.value)}
            />
          </FormField>
        </SpaceBetween>
      </Container>
    </SpaceBetween>
  );
}

const wordsOf = ({ healing }: Cluster) => ({
  "Self-healing": healing.mode === "act" ? "mend it" : "tell me only",
  "Grace time in seconds": String(healing.grace_seconds),
  "Replacements per day": String(healing.replacements_per_day),
});

function mayUpdate(cluster: Cluster): boolean {
  return cluster.allowed_actions.some(({ action, allowed }) => action === "update_cluster" && allowed);
}
