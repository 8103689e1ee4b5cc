import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Multiselect from "@cloudscape-design/components/multiselect";
import RadioGroup from "@cloudscape-design/components/radio-group";
import Select from "@cloudscape-design/components/select";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import {
  type Backup,
  backupQuery,
  type ClusterOrder,
  catalogQuery,
  clusterQuery,
  clustersQuery,
  type RestoreOrder,
  refresh,
  restoreBackupMutation,
  restorePlanQuery,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ErrorBox } from "../components/error-box";
import { PlanOf } from "../components/restore-plan";
import { momentIn } from "../util/moment-text";
import { likeCluster, missingIn } from "../util/new-cluster";
import { NewClusterFields } from "./new-cluster-fields";
import { RestorePoint } from "./restore-point";

/** The API knows the last two as one: into a cluster that is there, or one that is ordered for it. */
type Mode = RestoreOrder["mode"] | "new_cluster";

const MODES: { value: Mode; label: string; description: string }[] = [
  {
    value: "copy",
    label: "As a copy beside the live tables",
    description: "Under a new name, to look at. Nothing that is there is changed.",
  },
  {
    value: "replace",
    label: "In place of what is there",
    description: "The tables are emptied first, after everything was fetched and verified.",
  },
  { value: "add", label: "Into what is there", description: "Rows that were written later stay as they are." },
  {
    value: "new_cluster",
    label: "Into a new cluster",
    description: "Ordered for it: like the one that was backed up, or of any other shape.",
  },
  {
    value: "cluster",
    label: "Into another cluster",
    description: "One that is there, of any shape. Tables are created there.",
  },
];

const INTO_OTHERS: readonly Mode[] = ["new_cluster", "cluster"];

/** Asks what to bring back and how, shows the plan, and does it. */
export function BackupRestoreModal({ backup, onDismiss }: { backup: Backup; onDismiss: () => void }) {
  const router = useRouter();
  const detail = useQuery(backupQuery(backup.id));
  const clusters = useQuery(clustersQuery({}));
  const [mode, setMode] = useState<Mode>(backup.cluster_deleted ? "new_cluster" : "copy");
  const [chosen, setChosen] = useState<string[]>([]);
  const [suffix, setSuffix] = useState("_restored");
  const source = useQuery(clusterQuery(backup.cluster_id));
  const catalog = useQuery(catalogQuery());
  const [changes, setChanges] = useState<Partial<ClusterOrder>>({});
  const like =
    source.data && catalog.data
      ? likeCluster(source.data, catalog.data, { suffix: "-restored", engine_version: backup.engine_version })
      : undefined;
  const wanted = like && { ...like, ...changes };
  const [target, setTarget] = useState<string | null>(null);
  const [point, setPoint] = useState<string | null>(null);
  const [repair, setRepair] = useState("auto");
  const names = detail.data?.tables.map(({ keyspace, table }) => `${keyspace}.${table}`) ?? [];
  const missing =
    MISSING[mode]({ chosen, suffix, target, wanted }) ??
    (point !== null && momentIn(point) === null ? "Write the moment like 2026-01-31 14:05:00." : undefined);
  const order: RestoreOrder | null = missing
    ? null
    : {
        mode: mode === "new_cluster" ? "cluster" : mode,
        tables: chosen.map((name) => {
          const [keyspace = "", table = ""] = name.split(".");
          return { keyspace, table, as_table: mode === "copy" ? `${table}${suffix.trim()}` : null };
        }),
        cluster_id: mode === "cluster" ? target : null,
        new_cluster: mode === "new_cluster" ? wanted : null,
        point_in_time: point === null ? null : momentIn(point),
        repair: repair === "auto" ? null : repair === "yes",
      };
  const plan = useQuery({
    ...restorePlanQuery(backup.id, order),
    enabled: order !== null,
    // So that nothing jumps while somebody types.
    placeholderData: keepPreviousData,
  });
  const isPlanned = plan.data !== undefined && !plan.isPlaceholderData;
  const restore = useMutation({
    ...restoreBackupMutation(),
    onSuccess: ({ operation }) => {
      void refresh();
      void router.navigate({ to: "/operations/$operationId", params: { operationId: operation.id } });
    },
  });
  const options = names.map((value) => ({ value, label: value }));
  return (
    <ConfirmModal
      title={`Restore from a backup of ${backup.cluster_name}`}
      size="large"
      confirm="Restore"
      isPending={restore.isPending}
      error={restore.error}
      disabledReason={missing ?? (isPlanned ? plan.data.problems[0] : "The plan is being made.")}
      onConfirm={() => order && restore.mutate({ path: { backup_id: backup.id }, body: order })}
      onDismiss={onDismiss}
    >
      <RadioGroup
        ariaLabel="How to restore"
        value={mode}
        items={MODES.map((each) => ({
          ...each,
          disabled: backup.cluster_deleted && !INTO_OTHERS.includes(each.value),
        }))}
        onChange={({ detail: { value } }) => setMode(value as Mode)}
      />
      {mode === "cluster" && (
        <FormField label="Cluster" description="One that serves, or is just being created.">
          <Select
            selectedOption={target === null ? null : { value: target, label: clusterName(clusters.data, target) }}
            options={(clusters.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))}
            placeholder="Choose a cluster"
            empty="There are no clusters."
            onChange={({ detail: { selectedOption } }) => setTarget(selectedOption.value ?? null)}
          />
        </FormField>
      )}
      {mode === "new_cluster" && wanted && catalog.data && (
        <NewClusterFields
          catalog={catalog.data}
          order={wanted}
          onChange={(more) => setChanges((before) => ({ ...before, ...more }))}
        />
      )}
      <RestorePoint backup={backup} text={point} onChange={setPoint} />
      <FormField label="Tables" description={mode === "copy" ? undefined : "None chosen: all that are in the backup."}>
        <Multiselect
          selectedOptions={options.filter(({ value }) => chosen.includes(value))}
          options={options}
          placeholder={mode === "copy" ? "Choose tables" : "All tables"}
          statusType={detail.isPending ? "loading" : "finished"}
          loadingText="Loading tables"
          empty="There are no tables in it."
          deselectAriaLabel={(option) => `Leave out ${option.value}`}
          onChange={({ detail: { selectedOptions } }) => setChosen(selectedOptions.map(({ value }) => value ?? ""))}
        />
      </FormField>
      {mode === "copy" && (
        <FormField label="Put behind each name" description="orders becomes orders_restored.">
          <Input value={suffix} spellcheck={false} onChange={({ detail: { value } }) => setSuffix(value)} />
        </FormField>
      )}
      <RadioGroup
        ariaLabel="Repair afterwards"
        value={repair}
        items={[
          { value: "auto", label: "Repair afterwards where it is needed" },
          { value: "yes", label: "Repair afterwards" },
          { value: "no", label: "No repair" },
        ]}
        onChange={({ detail: { value } }) => setRepair(value)}
      />
      {order && plan.isError && <ErrorBox error={plan.error} />}
      {order && plan.data && <PlanOf plan={plan.data} />}
    </ConfirmModal>
  );
}

function clusterName(page: { items: { id: string; name: string }[] } | undefined, id: string): string {
  return page?.items.find((each) => each.id === id)?.name ?? id;
}

interface Entered {
  chosen: string[];
  suffix: string;
  target: string | null;
  wanted: ClusterOrder | undefined;
}

/** What is still to be entered, by mode. */
const MISSING: Record<Mode, (entered: Entered) => string | undefined> = {
  copy: ({ chosen, suffix }) =>
    chosen.length === 0
      ? "Choose the tables to copy."
      : suffix.trim() === ""
        ? "A copy needs another name."
        : undefined,
  replace: () => undefined,
  add: () => undefined,
  cluster: ({ target }) => (target === null ? "Choose the cluster." : undefined),
  new_cluster: ({ wanted }) => (wanted === undefined ? "What can be ordered is being asked for." : missingIn(wanted)),
};
