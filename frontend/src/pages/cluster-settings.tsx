import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import TextFilter from "@cloudscape-design/components/text-filter";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, catalogQuery, clusterNodesQuery, type EngineSetting, type Node } from "../api";
import { QueryView } from "../components/query-view";
import { ChangeModal } from "../forms/change-modal";
import { showSetting, toSettings } from "../util/engine-settings";

/** The engine settings that may be changed, what they are, and where a node has something else. */
export function ClusterSettings({ cluster }: { cluster: Cluster }) {
  const catalog = useQuery(catalogQuery());
  const nodes = useQuery(clusterNodesQuery(cluster.id));
  return (
    <QueryView query={catalog} lines={8}>
      {({ engines }) => (
        <Settings
          key={JSON.stringify(cluster.settings)}
          cluster={cluster}
          settings={engines.find(({ name }) => name === cluster.engine)?.settings ?? []}
          nodes={nodes.data?.items ?? []}
        />
      )}
    </QueryView>
  );
}

function Settings({ cluster, settings, nodes }: { cluster: Cluster; settings: EngineSetting[]; nodes: Node[] }) {
  const saved = Object.fromEntries(settings.map(({ name }) => [name, showSetting(cluster.settings[name])]));
  const [texts, setTexts] = useState(saved);
  const [filter, setFilter] = useState("");
  const [isApplying, setIsApplying] = useState(false);
  const changed = settings.filter(({ name }) => texts[name] !== saved[name]);
  const shown = settings.filter(({ name, title, description }) =>
    `${name} ${title} ${description}`.toLowerCase().includes(filter.toLowerCase()),
  );
  return (
    <>
      <Table
        variant="container"
        trackBy="name"
        wrapLines
        items={shown}
        ariaLabels={{ tableLabel: "Engine settings" }}
        empty={<Box color="inherit">No setting matches.</Box>}
        filter={
          <TextFilter
            filteringText={filter}
            filteringPlaceholder="Find a setting"
            filteringAriaLabel="Find a setting"
            countText={`${shown.length} of ${settings.length}`}
            onChange={({ detail }) => setFilter(detail.filteringText)}
          />
        }
        header={
          <Header
            variant="h2"
            description="What is left empty keeps the engine's own value. Drift is what a node has otherwise than wanted."
            actions={
              <SpaceBetween direction="horizontal" size="xs">
                <Button
                  disabled={changed.length === 0}
                  disabledReason="Nothing was changed."
                  onClick={() => setTexts(saved)}
                >
                  Discard
                </Button>
                <Button
                  variant="primary"
                  disabled={changed.length === 0}
                  disabledReason="Nothing was changed."
                  onClick={() => setIsApplying(true)}
                >
                  Review changes
                </Button>
              </SpaceBetween>
            }
          >
            Engine settings
          </Header>
        }
        columnDefinitions={[
          {
            id: "title",
            header: "Setting",
            isRowHeader: true,
            minWidth: 260,
            cell: (each) => <Words setting={each} />,
          },
          {
            id: "value",
            header: "Value",
            minWidth: 200,
            cell: (each) => (
              <ValueField
                setting={each}
                text={texts[each.name] ?? ""}
                onChange={(text) => setTexts({ ...texts, [each.name]: text })}
              />
            ),
          },
          { id: "default", header: "Engine's own", cell: (each) => `${showSetting(each.default)} ${each.unit ?? ""}` },
          { id: "limits", header: "Limits", cell: limits },
          { id: "live", header: "Takes effect", cell: ({ live }) => (live ? "At once" : "After a rolling restart") },
          { id: "drift", header: "Drift", cell: (each) => <Drift setting={each} nodes={nodes} /> },
        ]}
      />
      {isApplying && (
        <ChangeModal
          cluster={cluster}
          title={`Change settings of ${cluster.name}`}
          confirm="Apply"
          change={{ kind: "settings", settings: toSettings(settings, texts) }}
          onDismiss={() => setIsApplying(false)}
        >
          <ul className="plan-list">
            {changed.map(({ name, title, unit }) => (
              <li key={name}>
                {title}: {saved[name] || "engine's own"} → {texts[name] || "engine's own"} {texts[name] ? unit : ""}
              </li>
            ))}
          </ul>
        </ChangeModal>
      )}
    </>
  );
}

function Words({ setting }: { setting: EngineSetting }) {
  return (
    <>
      {setting.title}
      <Box fontSize="body-s" color="text-body-secondary">
        {setting.description}
      </Box>
    </>
  );
}

function ValueField({
  setting,
  text,
  onChange,
}: {
  setting: EngineSetting;
  text: string;
  onChange: (text: string) => void;
}) {
  const choices = setting.type === "boolean" ? ["true", "false"] : setting.type === "choice" ? setting.choices : null;
  if (!choices)
    return (
      <Input
        ariaLabel={setting.title}
        type="number"
        inputMode="numeric"
        value={text}
        placeholder={showSetting(setting.default)}
        onChange={({ detail }) => onChange(detail.value)}
      />
    );
  const options = [{ value: "", label: "Engine's own" }, ...choices.map((value) => ({ value, label: value }))];
  return (
    <Select
      ariaLabel={setting.title}
      expandToViewport
      selectedOption={options.find(({ value }) => value === text) ?? null}
      options={options}
      onChange={({ detail }) => onChange(detail.selectedOption.value ?? "")}
    />
  );
}

function limits({ minimum, maximum, unit }: EngineSetting): string {
  if (minimum === null && maximum === null) return "–";
  return `${showSetting(minimum)} to ${showSetting(maximum)} ${unit ?? ""}`.trim();
}

function Drift({ setting, nodes }: { setting: EngineSetting; nodes: Node[] }) {
  const found = nodes.flatMap((node) =>
    node.drift
      .filter((each) => each.setting === setting.name)
      .map((each) => `${node.name}: ${showSetting(each.found)}`),
  );
  if (found.length === 0) return <>–</>;
  return <StatusIndicator type="warning">{found.join(", ")}</StatusIndicator>;
}
