import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Textarea from "@cloudscape-design/components/textarea";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { createBackupLocationMutation, type LocationOrder, refresh, toApiError } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";

type Lock = "none" | "governance" | "compliance";

/** Brings a bucket; it is tried at once. */
export function BackupLocationCreateModal({ onDismiss }: { onDismiss: () => void }) {
  const [kind, setKind] = useState<"s3" | "gcs">("s3");
  const [values, setValues] = useState<Record<string, string>>({});
  const [lock, setLock] = useState<Lock>("none");
  const create = useMutation({
    ...createBackupLocationMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "The location is being tried." });
      onDismiss();
      return refresh();
    },
  });
  const error = create.isError ? toApiError(create.error, undefined) : undefined;
  const value = (name: string) => values[name]?.trim() ?? "";
  const needed = ["name", "bucket", ...(kind === "s3" ? ["access_key_id", "secret_access_key"] : ["service_account"])];
  const field = (name: string, label: string, placeholder: string, description?: string) => (
    <FormField key={name} label={label} description={description} errorText={error?.fields[name]}>
      {name === "service_account" ? (
        <Textarea
          value={values[name] ?? ""}
          placeholder={placeholder}
          spellcheck={false}
          onChange={({ detail }) => setValues({ ...values, [name]: detail.value })}
        />
      ) : (
        <Input
          value={values[name] ?? ""}
          placeholder={placeholder}
          type={name === "secret_access_key" ? "password" : "text"}
          autoComplete={false}
          spellcheck={false}
          onChange={({ detail }) => setValues({ ...values, [name]: detail.value })}
        />
      )}
    </FormField>
  );
  return (
    <ConfirmModal
      title="Add a backup location"
      confirm="Add"
      isPending={create.isPending}
      error={create.error}
      disabledReason={needed.some((name) => !value(name)) ? "Fill in what is asked for." : undefined}
      onConfirm={() => create.mutate({ body: { ...order(kind, value), object_lock: lock === "none" ? null : lock } })}
      onDismiss={onDismiss}
    >
      <RadioGroup
        ariaLabel="Kind of store"
        value={kind}
        items={[
          { value: "s3", label: "S3", description: "Amazon's, or any server that speaks its language." },
          { value: "gcs", label: "Google Cloud Storage" },
        ]}
        onChange={({ detail }) => setKind(detail.value as typeof kind)}
      />
      {field("name", "Name", "Our bucket")}
      {field("bucket", "Bucket", "acme-backups")}
      {field("prefix", "Folder in it (optional)", "ringmaster")}
      {kind === "s3" ? (
        <SpaceBetween size="m">
          {field("region", "Region", "eu-central-1")}
          {field("endpoint", "Endpoint (optional)", "https://storage.example.com", "Of a server that is not Amazon's.")}
          {field("access_key_id", "Access key", "")}
          {field("secret_access_key", "Secret key", "", "Kept encrypted, and never shown again.")}
        </SpaceBetween>
      ) : (
        field("service_account", "Key of a service account (JSON)", "{ … }", "Kept encrypted, and never shown again.")
      )}
      <FormField label="Locks in the store" errorText={error?.fields.object_lock}>
        <RadioGroup
          value={lock}
          items={[
            { value: "none", label: "None", description: "Locked backups are kept by Ringmaster alone." },
            {
              value: "governance",
              label: "Governance",
              description: "The bucket's administrators can take them back.",
            },
            { value: "compliance", label: "Compliance", description: "Nobody can take them back before they end." },
          ]}
          onChange={({ detail }) => setLock(detail.value as Lock)}
        />
      </FormField>
    </ConfirmModal>
  );
}

function order(kind: "s3" | "gcs", value: (name: string) => string): LocationOrder {
  const place = { name: value("name"), bucket: value("bucket"), prefix: value("prefix") };
  if (kind === "gcs") return { kind, ...place, service_account: value("service_account") };
  return {
    kind,
    ...place,
    region: value("region"),
    endpoint: value("endpoint") || null,
    access_key_id: value("access_key_id"),
    secret_access_key: value("secret_access_key"),
  };
}
