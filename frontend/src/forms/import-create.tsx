import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import Select from "@cloudscape-design/components/select";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Textarea from "@cloudscape-design/components/textarea";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  backupLocationsQuery,
  type Cluster,
  createImportMutation,
  type ImportOrder,
  importQuery,
  planImportMutation,
  refresh,
  type TableImport,
  toApiError,
  useLiveQuery,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";
import { count, formatBytes } from "../util/size";

type Layout = NonNullable<ImportOrder["layout"]>;

/** Looks at what lies in a location, says what is against it, and only then imports it. */
export function ImportCreateModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const [locationId, setLocationId] = useState<string | null>(null);
  const [path, setPath] = useState("");
  const [layout, setLayout] = useState<Layout>("files");
  const [backup, setBackup] = useState("");
  const [schema, setSchema] = useState("");
  // What was looked at; another order is another look.
  const [looked, setLooked] = useState<{ order: string; id: string } | null>(null);
  const locations = useQuery(backupLocationsQuery());
  const order: ImportOrder = {
    location_id: locationId,
    path,
    layout,
    backup_name: layout === "medusa" ? backup : null,
    schema_cql: schema,
  };
  const key = JSON.stringify(order);
  const plan = useMutation({
    ...planImportMutation(),
    onSuccess: ({ imported }) => setLooked({ order: key, id: imported.id }),
  });
  const create = useMutation({
    ...createImportMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "The tables are being imported." });
      onDismiss();
      return refresh();
    },
  });
  const id = looked?.order === key ? looked.id : null;
  const found = useLiveQuery(
    { ...importQuery(id ?? ""), enabled: id !== null },
    ({ state }: TableImport) => state === "running",
  );
  const result = id === null ? undefined : found.data;
  const isLooking = id !== null && (!result || result.state === "running");
  const used = create.isError ? create : plan;
  const error = used.isError ? toApiError(used.error, undefined) : undefined;
  const options = (locations.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }));
  const chosen = options.find(({ value }) => value === locationId) ?? null;
  const body = { path: { cluster_id: cluster.id }, body: order };
  const missing = layout === "medusa" && backup.trim() === "" ? "Name the backup of Medusa." : undefined;
  return (
    <ConfirmModal
      title={`Import tables into ${cluster.name}`}
      confirm={result ? "Import" : "Look at it"}
      size="large"
      isPending={plan.isPending || create.isPending || isLooking}
      error={used.error}
      disabledReason={missing ?? result?.problems[0]}
      onConfirm={() => (result ? create.mutate(body) : plan.mutate(body))}
      onDismiss={onDismiss}
    >
      <FormField label="Location" description="Where the files lie." errorText={error?.fields.location_id}>
        <Select
          selectedOption={chosen}
          options={options}
          placeholder="The installation's"
          onChange={({ detail }) => setLocationId(detail.selectedOption.value ?? null)}
        />
      </FormField>
      <FormField
        label="Path"
        description="Below your place in the location. Empty: all of it."
        errorText={error?.fields.path}
      >
        <Input
          value={path}
          placeholder="old/cluster"
          autoComplete={false}
          spellcheck={false}
          onChange={({ detail }) => setPath(detail.value)}
        />
      </FormField>
      <FormField label="What lies there">
        <RadioGroup
          value={layout}
          onChange={({ detail }) => setLayout(detail.value === "medusa" ? "medusa" : "files")}
          items={[
            { value: "files", label: "Folders of SSTables", description: "KEYSPACE/TABLE, as snapshots have them." },
            { value: "medusa", label: "A backup of cassandra-medusa", description: "In full or differential mode." },
          ]}
        />
      </FormField>
      {layout === "medusa" && (
        <FormField label="Name of the backup" errorText={error?.fields.backup_name}>
          <Input
            value={backup}
            autoComplete={false}
            spellcheck={false}
            onChange={({ detail }) => setBackup(detail.value)}
          />
        </FormField>
      )}
      <FormField
        label="Schema"
        description="CREATE statements. Empty: those of every schema.cql that lies beside the files."
        errorText={error?.fields.schema_cql}
      >
        <Textarea
          value={schema}
          rows={3}
          spellcheck={false}
          placeholder="CREATE TABLE shop.orders (…);"
          onChange={({ detail }) => setSchema(detail.value)}
        />
      </FormField>
      {isLooking && <StatusIndicator type="loading">Looking at what lies there</StatusIndicator>}
      {result && !isLooking && <Found imported={result} />}
    </ConfirmModal>
  );
}

function Found({ imported: { tables, problems, warnings, bytes, same_shape } }: { imported: TableImport }) {
  return (
    <>
      {problems.map((problem) => (
        <Alert key={problem} type="error" statusIconAriaLabel="Error">
          {problem}
        </Alert>
      ))}
      {warnings.map((warning) => (
        <Alert key={warning} type="warning" statusIconAriaLabel="Warning">
          {warning}
        </Alert>
      ))}
      {tables.map(({ keyspace, table, sstables, bytes: size, exists }) => (
        <Box key={`${keyspace}.${table}`}>
          {keyspace}.{table}: {count(sstables, "SSTable")}, {formatBytes(size)},{" "}
          {exists ? "beside the rows that are there" : "a new table"}
        </Box>
      ))}
      {tables.length > 0 && (
        <Box color="text-body-secondary">
          {formatBytes(bytes)} are fetched and verified before anything is changed.
          {!same_shape && " Every node fetches all files and keeps what is in its ranges."}
        </Box>
      )}
    </>
  );
}
