import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useMutation } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { type Backup, fetchBackupAddresses, revealBackupKeyMutation } from "../api";
import { ErrorBox } from "../components/error-box";
import { Copy } from "../ui/copy";
import { saveAs } from "../util/download";
import { count } from "../util/size";

// Syntax colours weigh more than the rest of the page.
const Code = lazy(() => import("../ui/code").then((module) => ({ default: module.Code })));

/** A copy of a backup of one's own: addresses of its objects, the key that opens them, and how it is done. */
export function BackupDownloadModal({ backup, onDismiss }: { backup: Backup; onDismiss: () => void }) {
  return (
    <Modal
      visible
      size="large"
      header={`Take a backup of ${backup.cluster_name} out`}
      closeAriaLabel="Close"
      onDismiss={onDismiss}
      footer={
        <Box float="right">
          <Button variant="primary" onClick={onDismiss}>
            Done
          </Button>
        </Box>
      }
    >
      <SpaceBetween size="l">
        <Box>
          Its objects are encrypted. Three things read it without Ringmaster: addresses to fetch them from, the key, and
          a script.
        </Box>
        <Addresses backup={backup} />
        <Key />
        <Script backup={backup} />
      </SpaceBetween>
    </Modal>
  );
}

function Addresses({ backup }: { backup: Backup }) {
  const places = [
    { value: backup.location_id, label: backup.location_name },
    ...backup.copies
      .filter(({ state }) => state === "complete")
      .map(({ location_id, location_name }) => ({ value: location_id, label: location_name })),
  ];
  const [place, setPlace] = useState(backup.location_id);
  const [hours, setHours] = useState("12");
  const number = Number(hours);
  const wrong = Number.isInteger(number) && number >= 1 && number <= 168 ? undefined : "From 1 to 168 hours.";
  const save = useMutation({
    mutationFn: () => fetchBackupAddresses(backup.id, { hours: number, location_id: place }),
    onSuccess: ({ file }) => saveAs(addressesOf(backup), file),
  });
  return (
    <SpaceBetween size="s">
      <Box variant="h3">1. Addresses</Box>
      <Box>
        Each reads one object, for so many hours, without signing in: keep the file as you would keep a password. That
        they were made is in the audit log.
      </Box>
      {save.isError && <ErrorBox error={save.error} />}
      {places.length > 1 && (
        <FormField label="From">
          <Select
            selectedOption={places.find(({ value }) => value === place) ?? null}
            options={places}
            onChange={({ detail }) => setPlace(detail.selectedOption.value ?? backup.location_id)}
          />
        </FormField>
      )}
      <FormField label="They can be used for (hours)" errorText={wrong}>
        <Input value={hours} inputMode="numeric" onChange={({ detail }) => setHours(detail.value)} />
      </FormField>
      <Button
        iconName="download"
        loading={save.isPending}
        loadingText="Making the addresses"
        disabled={wrong !== undefined}
        disabledReason={wrong}
        onClick={() => save.mutate()}
      >
        Save addresses
      </Button>
      {save.data && (
        <StatusIndicator type="success">
          {count(save.data.objects, "object")} in {addressesOf(backup)}
        </StatusIndicator>
      )}
    </SpaceBetween>
  );
}

function Key() {
  const reveal = useMutation({ ...revealBackupKeyMutation(), gcTime: 0 });
  const shown = reveal.data;
  return (
    <SpaceBetween size="s">
      <Box variant="h3">2. Key</Box>
      <Alert type="warning" statusIconAriaLabel="Warning">
        Whoever has the key can read every backup of your organisation, those to come too. That it was shown, and to
        whom, is in the audit log.
      </Alert>
      {reveal.isError && <ErrorBox error={reveal.error} />}
      {shown ? (
        <SpaceBetween size="s">
          <div className="facts-code">
            <Box variant="awsui-key-label">Key {shown.key_id}</Box>
            <Copy value={shown.key} label="backup key" />
          </div>
          <Button iconName="download" onClick={() => saveAs("backup.key", new Blob([shown.key]))}>
            Save key
          </Button>
        </SpaceBetween>
      ) : (
        <Button loading={reveal.isPending} loadingText="Revealing the key" onClick={() => reveal.mutate({})}>
          Reveal key
        </Button>
      )}
    </SpaceBetween>
  );
}

function Script({ backup }: { backup: Backup }) {
  return (
    <SpaceBetween size="s">
      <Box variant="h3">3. Fetch and open</Box>
      <Box>
        In a checkout of Ringmaster's source, with Python and its package cryptography. Every object is checked. It
        writes SSTables by node, keyspace and table, as nodetool import and sstableloader take them, and schema.json.
      </Box>
      <Suspense fallback={<StatusIndicator type="loading">Loading</StatusIndicator>}>
        <Code label="script" language="bash" content={scriptOf(backup)} />
      </Suspense>
      <Box color="text-body-secondary">
        Where a backup is in a folder of the installation there are no addresses: copy the folder, and begin with open.
      </Box>
    </SpaceBetween>
  );
}

function addressesOf({ id }: Backup): string {
  return `${id}-addresses.json`;
}

function scriptOf(backup: Backup): string {
  return [
    "python -m provisioner.agent.open_backup fetch \\",
    `  ${addressesOf(backup)} backup`,
    "python -m provisioner.agent.open_backup open \\",
    "  --key-file backup.key backup opened",
  ].join("\n");
}
