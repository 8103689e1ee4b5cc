import Checkbox from "@cloudscape-design/components/checkbox";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tiles from "@cloudscape-design/components/tiles";
import { useQuery } from "@tanstack/react-query";
import { allCloudAccountsQuery, type Catalog, type CatalogMachineType, capacityQuery } from "../api";
import { needTable } from "../util/machine-types";
import {
  asTestDrive,
  type Draft,
  inProvider,
  reasonAgainst,
  reasonAgainstEngine,
  usualZones,
  withEngine,
} from "../util/order";
import { count, formatMib } from "../util/size";
import { MachineTypeTable } from "./machine-type-table";
import { TagsEditor } from "./tags-editor";
import { TestDriveFields } from "./test-drive-fields";

interface Props {
  catalog: Catalog;
  draft: Draft;
  /** The API's complaints, by field. */
  fields: Record<string, string>;
  change: (changes: Partial<Draft>) => void;
}

export function EngineStep({ catalog, draft, fields, change }: Props) {
  const engine = catalog.engines.find(({ name }) => name === draft.engine);
  const versions = (engine?.versions ?? []).map(({ version, is_default }) => ({
    value: version,
    label: version,
    description: is_default ? "Recommended" : undefined,
  }));
  return (
    <SpaceBetween size="l">
      <Container header={<Header variant="h2">Engine and version</Header>}>
        <SpaceBetween size="l">
          <FormField label="Engine" errorText={fields.engine} stretch>
            <Tiles
              ariaLabel="Engine"
              value={draft.engine}
              items={catalog.engines.map(({ name, title }) => {
                const reason = reasonAgainstEngine(catalog, name);
                return { value: name, label: title, description: reason, disabled: reason !== undefined };
              })}
              onChange={({ detail: { value } }) => change(withEngine(catalog, draft, value))}
            />
          </FormField>
          <FormField label="Version" errorText={fields.engine_version}>
            <Select
              selectedOption={versions.find(({ value }) => value === draft.engine_version) ?? null}
              options={versions}
              placeholder="Choose a version"
              onChange={({ detail }) => change({ engine_version: detail.selectedOption.value ?? "" })}
            />
          </FormField>
        </SpaceBetween>
      </Container>
      <TestDriveFields
        wanted={draft.test_drive}
        error={fields.test_drive}
        onToggle={(wanted) => change(asTestDrive(catalog, draft, wanted))}
        onChange={(test_drive) => change({ test_drive })}
      />
    </SpaceBetween>
  );
}

export function PlaceStep({ catalog, draft, fields, change }: Props) {
  const provider = catalog.providers.find(({ id }) => id === draft.provider);
  const regions = (provider?.regions ?? []).map(({ name, title }) => ({
    value: name,
    label: title,
    description: name,
  }));
  const region = provider?.regions.find(({ name }) => name === draft.region);
  return (
    <Container header={<Header variant="h2">Provider, region and zones</Header>}>
      <SpaceBetween size="l">
        <FormField label="Provider" errorText={fields.provider} stretch>
          <Tiles
            ariaLabel="Provider"
            value={draft.provider}
            items={catalog.providers.map(({ id, name }) => {
              const reason = reasonAgainst(catalog, draft.engine, id);
              return { value: id, label: name, description: reason, disabled: reason !== undefined };
            })}
            onChange={({ detail }) => change(inProvider(catalog, detail.value, draft.test_drive !== null))}
          />
        </FormField>
        <AccountField draft={draft} error={fields.cloud_account} change={change} />
        <FormField label="Region" errorText={fields.region}>
          <Select
            selectedOption={regions.find(({ value }) => value === draft.region) ?? null}
            options={regions}
            placeholder="Choose a region"
            onChange={({ detail: { selectedOption } }) => {
              const chosen = provider?.regions.find(({ name }) => name === selectedOption.value);
              change({ region: chosen?.name ?? "", zones: usualZones(chosen, draft.test_drive !== null) });
            }}
          />
        </FormField>
        <FormField
          label="Zones"
          description="Each zone holds one replica of every row. Three survive the loss of one without a pause."
          errorText={fields.zones}
        >
          <SpaceBetween size="xs">
            {(region?.zones ?? []).map((zone) => (
              <Checkbox
                key={zone}
                checked={draft.zones.includes(zone)}
                onChange={({ detail }) => {
                  const chosen = new Set(draft.zones);
                  if (detail.checked) chosen.add(zone);
                  else chosen.delete(zone);
                  // In the catalogue's order, whatever the order of clicks.
                  change({ zones: (region?.zones ?? []).filter((each) => chosen.has(each)) });
                }}
              >
                {zone}
              </Checkbox>
            ))}
          </SpaceBetween>
        </FormField>
      </SpaceBetween>
    </Container>
  );
}

/** Only where there is something to choose. */
function AccountField({
  draft,
  error,
  change,
}: Pick<Props, "draft" | "change"> & {
  error: string | undefined;
}) {
  const accounts = useQuery(allCloudAccountsQuery());
  const found = accounts.data?.items.filter(({ provider }) => provider === draft.provider) ?? [];
  if (found.length === 0) return null;
  const options = [
    { value: "", label: "That of this installation" },
    ...found.map(({ id, name, role_arn, project, allowed_actions }) => {
      const rule = allowed_actions.find(({ action }) => action === "create_cluster");
      return {
        value: id,
        label: name,
        description: role_arn ?? project ?? undefined,
        disabled: !rule?.allowed,
        disabledReason: rule?.reason ?? undefined,
      };
    }),
  ];
  return (
    <FormField label="Cloud account" description="Where machines are made, and billed." errorText={error}>
      <Select
        selectedOption={options.find(({ value }) => value === (draft.cloud_account ?? "")) ?? null}
        options={options}
        onChange={({ detail }) => change({ cloud_account: detail.selectedOption.value || null })}
      />
    </FormField>
  );
}

export function MachineStep({ catalog, draft, fields, change }: Props) {
  const provider = catalog.providers.find(({ id }) => id === draft.provider);
  const fit = provider?.regions.find(({ name }) => name === draft.region)?.nodes_that_fit ?? {};
  const types = provider?.machine_types ?? [];
  const isCloud = needTable(types);
  const capacity = useQuery({
    ...capacityQuery(draft.provider, draft.region, draft.cloud_account),
    enabled: isCloud && draft.region !== "",
  });
  const total = draft.zones.length * draft.nodes_per_zone;
  return (
    <Container header={<Header variant="h2">Machine type and nodes</Header>}>
      <SpaceBetween size="l">
        {isCloud ? (
          <MachineTypeTable
            // Another provider's types start without a filter.
            key={draft.provider}
            types={types}
            value={draft.machine_type}
            errorText={fields.machine_type}
            capacity={capacity.data}
            onChange={(name) => change({ machine_type: name })}
          />
        ) : (
          <FormField label="Machine type" errorText={fields.machine_type} stretch>
            <Tiles
              ariaLabel="Machine type"
              value={draft.machine_type}
              items={types.map((type) => ({
                value: type.name,
                label: type.name,
                description: <MachineFacts type={type} fit={fit[type.name] ?? null} />,
              }))}
              onChange={({ detail }) => change({ machine_type: detail.value })}
            />
          </FormField>
        )}
        <FormField
          label="Nodes per zone"
          description="The same number in every zone, so that replicas spread evenly."
          constraintText={
            Number.isInteger(draft.nodes_per_zone) &&
            `${count(draft.zones.length, "zone")} × ${draft.nodes_per_zone} = ${count(total, "node")}`
          }
          errorText={fields.nodes_per_zone}
        >
          <Input
            type="number"
            inputMode="numeric"
            step={1}
            value={Number.isNaN(draft.nodes_per_zone) ? "" : String(draft.nodes_per_zone)}
            onChange={({ detail }) => change({ nodes_per_zone: Number.parseFloat(detail.value) })}
          />
        </FormField>
      </SpaceBetween>
    </Container>
  );
}

function MachineFacts({ type, fit }: { type: CatalogMachineType; fit: number | null }) {
  const facts = [
    type.vcpus !== null && count(type.vcpus, "vCPU"),
    `${formatMib(type.memory_mib)} memory, ${formatMib(type.heap_mib)} of it heap`,
    type.storage_gib !== null && `${type.storage_gib} GiB disk`,
  ];
  return (
    <>
      {type.description && <div>{type.description}</div>}
      <div>{facts.filter(Boolean).join(" · ")}</div>
      {fit !== null && <div>{fits(fit)}</div>}
    </>
  );
}

function fits(nodes: number): string {
  if (nodes === 0) return "No more nodes of this type fit on this machine.";
  return `${count(nodes, "more node")} of this type ${nodes === 1 ? "fits" : "fit"} on this machine.`;
}

export function NameStep({ draft, fields, change }: Props) {
  return (
    <Container header={<Header variant="h2">Name and options</Header>}>
      <SpaceBetween size="l">
        <FormField
          label="Cluster name"
          constraintText="Lower-case letters, digits and hyphens; starts with a letter."
          errorText={fields.name}
        >
          <Input
            value={draft.name}
            placeholder="orders-production"
            spellcheck={false}
            autoComplete={false}
            onChange={({ detail }) => change({ name: detail.value })}
          />
        </FormField>
        <FormField label="Tags" description="Your own labels: team, cost centre." errorText={fields.options} stretch>
          <TagsEditor tags={draft.tags} onChange={(tags) => change({ tags })} />
        </FormField>
        <Checkbox
          checked={draft.termination_protection}
          disabled={draft.test_drive !== null}
          description={
            draft.test_drive === null
              ? "While it is on, the cluster cannot be deleted. It can be switched off at any time."
              : "A test drive is deleted by itself, so it cannot be protected."
          }
          onChange={({ detail }) => change({ termination_protection: detail.checked })}
        >
          Protect against deletion
        </Checkbox>
      </SpaceBetween>
    </Container>
  );
}
