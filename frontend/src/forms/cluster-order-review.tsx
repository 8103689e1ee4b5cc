import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useQuery } from "@tanstack/react-query";
import { allCloudAccountsQuery, type Catalog, type OrderCheck } from "../api";
import { Moment } from "../components/moment";
import { type LoadDraft, OrderCost } from "../components/order-cost";
import { formatDuration } from "../util/duration";
import { figuresOf } from "../util/machine-types";
import { formatDollars } from "../util/money";
import type { Draft } from "../util/order";
import { count, formatMib } from "../util/size";
import { workloadName } from "../util/workloads";

function AccountName({ id }: { id: string }) {
  const accounts = useQuery(allCloudAccountsQuery());
  return <>{accounts.data?.items.find((account) => account.id === id)?.name ?? id}</>;
}

/** The last page: what will be made, what it costs, and what was entered. */
export function ReviewStep({
  catalog,
  draft,
  check,
  load,
  onLoad,
  onEdit,
}: {
  catalog: Catalog;
  draft: Draft;
  check: OrderCheck | undefined;
  load: LoadDraft;
  onLoad: (load: LoadDraft) => void;
  onEdit: (step: number) => void;
}) {
  const engine = catalog.engines.find(({ name }) => name === draft.engine);
  const provider = catalog.providers.find(({ id }) => id === draft.provider);
  const type = provider?.machine_types.find(({ name }) => name === draft.machine_type);
  const edit = (step: number, what: string) => (
    <Button ariaLabel={`Edit ${what}`} onClick={() => onEdit(step)}>
      Edit
    </Button>
  );
  return (
    <SpaceBetween size="l">
      {check && (
        <Container header={<Header variant="h2">What will be made</Header>}>
          <SpaceBetween size="m">
            {check.warnings.map((warning) => (
              <StatusIndicator key={warning} type="warning">
                {warning}
              </StatusIndicator>
            ))}
            <Box>
              {count(check.nodes_total, "node")} in {count(draft.zones.length, "zone")},{" "}
              {count(check.replicas, "replica")} of every row, encrypted connections, an administrator whose password
              you can see once.
            </Box>
            <KeyValuePairs
              columns={check.test_drive === null ? 4 : 3}
              items={[
                {
                  label: "Machines on demand, a month",
                  value: check.cost === null ? "Price not known" : formatDollars(check.cost.month),
                },
                { label: "Memory in all", value: formatMib(check.memory_mib_total) },
                { label: "Data centre", value: check.datacenter },
                ...(check.test_drive === null
                  ? []
                  : [
                      { label: "Deleted by itself", value: <Moment at={check.test_drive.expires_at} /> },
                      {
                        label: "Machines until then",
                        value:
                          check.test_drive.micros === null ? "Price not known" : formatDollars(check.test_drive.micros),
                      },
                    ]),
                { label: "Usually ready in", value: formatDuration(check.expected_seconds) },
              ]}
            />
          </SpaceBetween>
        </Container>
      )}
      <OrderCost catalog={catalog} draft={draft} load={load} onLoad={onLoad} />
      <Container
        header={
          <Header variant="h2" actions={edit(0, "engine")}>
            Engine
          </Header>
        }
      >
        <KeyValuePairs
          columns={3}
          items={[
            { label: "Engine", value: engine?.title ?? draft.engine },
            { label: "Version", value: draft.engine_version },
            ...(draft.test_drive === null
              ? []
              : [
                  {
                    label: "Test drive",
                    value: `${draft.test_drive.hours} h of ${workloadName(draft.test_drive.workload ?? "key-value")}`,
                  },
                ]),
          ]}
        />
      </Container>
      <Container
        header={
          <Header variant="h2" actions={edit(1, "place")}>
            Place
          </Header>
        }
      >
        <KeyValuePairs
          columns={3}
          items={[
            { label: "Provider", value: provider?.name ?? draft.provider },
            ...(draft.cloud_account === null
              ? []
              : [{ label: "Cloud account", value: <AccountName id={draft.cloud_account} /> }]),
            { label: "Region", value: draft.region },
            { label: "Zones", value: draft.zones.join(", ") },
          ]}
        />
      </Container>
      <Container
        header={
          <Header variant="h2" actions={edit(2, "machines")}>
            Machines
          </Header>
        }
      >
        <KeyValuePairs
          columns={3}
          items={[
            { label: "Machine type", value: draft.machine_type },
            { label: "Nodes per zone", value: draft.nodes_per_zone },
            ...(type === undefined || type.nvme_count === null ? [] : figuresOf(type)),
          ]}
        />
      </Container>
      <Container
        header={
          <Header variant="h2" actions={edit(3, "name and options")}>
            Name and options
          </Header>
        }
      >
        <KeyValuePairs
          columns={3}
          items={[
            { label: "Cluster name", value: draft.name },
            {
              label: "Tags",
              value: draft.tags.map(({ key, value }) => `${key}: ${value}`).join(", ") || "–",
            },
          ]}
        />
      </Container>
    </SpaceBetween>
  );
}
