import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tabs from "@cloudscape-design/components/tabs";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { BudgetAlerts } from "../components/budget-alerts";
import { CostInvoice } from "../components/cost-invoice";
import { CostOutlook } from "../components/cost-outlook";
import { CostReport } from "../components/cost-report";
import { CostSavings } from "../components/cost-savings";
import { CostUsage } from "../components/cost-usage";
import { useTitle } from "../hooks/use-title";
import {
  COST_GROUP_LABELS,
  COST_GROUPS,
  COST_VIEW_LABELS,
  COST_VIEWS,
  type CostSearch,
  costMonths,
} from "../util/costs";

const route = getRouteApi("/console/costs");
const USUAL_KEY = "team";

/** What the organisation spent, on what, and where it is going. */
export function CostsPage() {
  useTitle("Costs");
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const { view = "spent" } = search;
  // Another question begins on the first page of its answer.
  const ask = (changed: CostSearch) =>
    void navigate({ search: { ...search, after: undefined, ...changed }, resetScroll: false });
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description="By the price book, from what ran and what is stored. Deleted clusters stay in it."
      >
        Costs
      </Header>
      <BudgetAlerts />
      <Tabs
        ariaLabel="Costs"
        activeTabId={view}
        onChange={({ detail }) => ask({ view: COST_VIEWS.find((id) => id === detail.activeTabId) })}
        tabs={COST_VIEWS.map((id) => ({
          id,
          label: COST_VIEW_LABELS[id],
          content: id === view && <View search={search} ask={ask} />,
        }))}
      />
    </SpaceBetween>
  );
}

interface ViewProps {
  search: CostSearch;
  ask: (changed: CostSearch) => void;
}

function View({ search, ask }: ViewProps) {
  const { view = "spent", month = costMonths(Date.now(), 1)[0] ?? "", after } = search;
  const pages = { cursors: after, onCursors: (cursors: string[] | undefined) => ask({ after: cursors }) };
  const ofMonth = { month, onMonth: (wanted: string) => ask({ month: wanted }) };
  switch (view) {
    case "savings":
      return <CostSavings {...pages} />;
    case "invoices":
      return <CostInvoice {...pages} {...ofMonth} />;
    case "usage":
      return <CostUsage {...pages} {...ofMonth} />;
    case "spent":
      return <Spent search={search} ask={ask} />;
  }
}

function Spent({ search, ask }: ViewProps) {
  const { spent = "month", group = "cluster", key = USUAL_KEY, after } = search;
  return (
    <SpaceBetween size="l">
      <CostOutlook />
      <CostReport
        group={group}
        tagKey={key}
        range={spent}
        onRange={(range) => ask({ spent: range })}
        cursors={after}
        onCursors={(cursors) => ask({ after: cursors })}
        grouping={
          <SpaceBetween direction="horizontal" size="m" alignItems="end">
            <SegmentedControl
              label="Grouped by"
              selectedId={group}
              options={COST_GROUPS.map((id) => ({ id, text: COST_GROUP_LABELS[id] }))}
              onChange={({ detail }) => ask({ group: COST_GROUPS.find((id) => id === detail.selectedId) })}
            />
            {group === "tag" && <TagKey value={key} onChange={(changed) => ask({ key: changed })} />}
          </SpaceBetween>
        }
      />
    </SpaceBetween>
  );
}

/** Asked for when it is whole, not letter by letter. */
function TagKey({ value, onChange }: { value: string; onChange: (key: string) => void }) {
  const [draft, setDraft] = useState(value);
  const apply = () => {
    const wanted = draft.trim() || USUAL_KEY;
    setDraft(wanted);
    if (wanted !== value) onChange(wanted);
  };
  return (
    <FormField label="Key of the tag">
      <Input
        value={draft}
        onChange={({ detail }) => setDraft(detail.value)}
        onBlur={apply}
        onKeyDown={({ detail }) => detail.key === "Enter" && apply()}
      />
    </FormField>
  );
}
