import Alert from "@cloudscape-design/components/alert";
import { useQuery } from "@tanstack/react-query";
import { budgetsQuery } from "../api";
import { furthest, standingOf } from "../util/budgets";
import { RouteLink } from "./route-link";

/** Budgets that are crossed this month. Nothing while there are none; the page Budgets says when they cannot be read. */
export function BudgetAlerts() {
  const budgets = useQuery(budgetsQuery());
  const crossed = (budgets.data?.items ?? []).filter(({ crossings }) => standingOf(crossings) !== "fine");
  if (crossed.length === 0) return null;
  const isOver = crossed.some(({ crossings }) => standingOf(crossings) === "over");
  return (
    <Alert
      type={isOver ? "error" : "warning"}
      header={isOver ? "A budget is spent" : "A budget is running out"}
      action={<RouteLink to="/budgets">Budgets</RouteLink>}
    >
      <ul className="plan-list">
        {crossed.flatMap(({ id, crossings }) =>
          furthest(crossings).map(({ measure, sentence }) => <li key={`${id} ${measure}`}>{sentence}</li>),
        )}
      </ul>
    </Alert>
  );
}
