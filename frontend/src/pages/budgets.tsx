import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { getRouteApi } from "@tanstack/react-router";
import { BudgetTable } from "../components/budget-table";
import { CeilingTable } from "../components/ceiling-table";
import { useTitle } from "../hooks/use-title";

const route = getRouteApi("/console/budgets");

/** What may be spent, who is told, and how much there may be at most. */
export function BudgetsPage() {
  useTitle("Budgets");
  const navigate = route.useNavigate();
  const { after, below } = route.useSearch();
  return (
    <SpaceBetween size="l">
      <Header variant="h1" description="A budget tells people what is being spent; a ceiling refuses what is too much.">
        Budgets and ceilings
      </Header>
      <BudgetTable
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { after: cursors, below }, resetScroll: false })}
      />
      <CeilingTable
        cursors={below}
        onCursors={(cursors) => void navigate({ search: { after, below: cursors }, resetScroll: false })}
      />
    </SpaceBetween>
  );
}
