import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Grid from "@cloudscape-design/components/grid";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Multiselect from "@cloudscape-design/components/multiselect";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import type { Cluster, ClusterChange, Node } from "../api";
import { ChangeModal } from "../forms/change-modal";
import { reasonAgainst } from "../util/allowed";

type RunCommand = Extract<ClusterChange, { kind: "run_command" }>;

const COMMANDS: { value: RunCommand["command"]; label: string; description: string }[] = [
  { value: "flush", label: "Flush", description: "Write what is in memory to files." },
  { value: "compact", label: "Compact", description: "Merge its SSTables into as few as its strategy makes." },
  { value: "cleanup", label: "Clean up", description: "Drop rows of which a node is no replica." },
  { value: "rewrite", label: "Rewrite SSTables", description: "Write every file anew with the settings of today." },
  { value: "refresh", label: "Refresh", description: "Take files that were placed in the table's folder." },
];
const NAME = /^[A-Za-z0-9_]+$/;

/** Commands on the files of a table. Each shows what it would do before it does anything. */
export function TableCommands({ cluster, nodes, node }: { cluster: Cluster; nodes: Node[]; node?: string }) {
  const [command, setCommand] = useState<RunCommand["command"]>("flush");
  const [keyspace, setKeyspace] = useState("");
  const [table, setTable] = useState("");
  const [chosen, setChosen] = useState<string[]>(node ? [node] : []);
  const [atOnce, setAtOnce] = useState("1");
  const [open, setOpen] = useState(false);
  const lacking = !NAME.test(keyspace) || !NAME.test(table) ? "Say which keyspace and table first." : undefined;
  const reason = reasonAgainst("change_cluster", cluster.allowed_actions) ?? lacking;
  const about = COMMANDS.find(({ value }) => value === command);
  const change: RunCommand = {
    kind: "run_command",
    command,
    keyspace,
    table,
    node_ids: chosen.length > 0 ? chosen : null,
    at_once: Math.min(16, Math.max(1, Number(atOnce) || 1)),
  };
  const options = nodes.map(({ id, name, rack }) => ({ value: id, label: name, description: rack }));
  return (
    <Container
      header={
        <Header variant="h2" description="Node by node, with a dry run first. They can be cancelled at any time.">
          Run a command on a table
        </Header>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (reason === undefined) setOpen(true);
        }}
      >
        <SpaceBetween size="m">
          <Grid gridDefinition={[{ colspan: { default: 12, s: 6 } }, { colspan: { default: 12, s: 6 } }]}>
            <FormField label="Command" description={about?.description}>
              <Select
                selectedOption={about ?? null}
                options={COMMANDS}
                onChange={({ detail }) => setCommand(detail.selectedOption.value as RunCommand["command"])}
              />
            </FormField>
            <FormField label="Nodes" description="None chosen: all of them, rack by rack.">
              <Multiselect
                selectedOptions={options.filter(({ value }) => chosen.includes(value))}
                options={options}
                placeholder="All nodes"
                empty="There is no node."
                deselectAriaLabel={({ label }) => `Leave ${label} out`}
                onChange={({ detail }) => setChosen(detail.selectedOptions.map(({ value }) => value as string))}
              />
            </FormField>
          </Grid>
          <SpaceBetween direction="horizontal" size="m">
            <FormField label="Keyspace">
              <Input value={keyspace} spellcheck={false} onChange={({ detail }) => setKeyspace(detail.value)} />
            </FormField>
            <FormField label="Table">
              <Input value={table} spellcheck={false} onChange={({ detail }) => setTable(detail.value)} />
            </FormField>
            <FormField label="Nodes at once">
              <Input
                type="number"
                inputMode="numeric"
                value={atOnce}
                onChange={({ detail }) => setAtOnce(detail.value)}
              />
            </FormField>
          </SpaceBetween>
          <Button disabled={reason !== undefined} disabledReason={reason} formAction="submit">
            Show what it would do …
          </Button>
          {command === "refresh" && (
            <Box color="text-body-secondary">
              Whoever has a shell on the machine copies the files into the table's folder first.
            </Box>
          )}
        </SpaceBetween>
      </form>
      {open && (
        <ChangeModal
          cluster={cluster}
          title={`${about?.label}: ${keyspace}.${table}`}
          confirm={about?.label ?? "Run"}
          change={change}
          onDismiss={() => setOpen(false)}
        />
      )}
    </Container>
  );
}
