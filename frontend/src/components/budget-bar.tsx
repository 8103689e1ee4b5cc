import Box from "@cloudscape-design/components/box";
import type { Budget } from "../api";
import { barOf, percentOf, standingOf } from "../util/budgets";
import { formatSpent } from "../util/money";

/** What of a budget is spent, how far it will come by the forecast, and where the budget ends; the same in words. */
export function BudgetBar({ budget }: { budget: Budget }) {
  const { micros, spent, forecast, crossings } = budget;
  const bar = barOf(budget);
  return (
    <>
      <div className="budget-bar" aria-hidden="true">
        <div className="budget-forecast" style={{ inlineSize: `${bar.forecast}%` }} />
        <div className={`budget-spent budget-${standingOf(crossings)}`} style={{ inlineSize: `${bar.spent}%` }} />
        {bar.budget < 100 && <div className="budget-end" style={{ insetInlineStart: `${bar.budget}%` }} />}
      </div>
      <Box fontSize="body-s">
        {formatSpent(spent)} spent, {percentOf(spent, micros)} %
      </Box>
      <Box fontSize="body-s" color="text-body-secondary">
        {formatSpent(forecast)} by the end of the month, {percentOf(forecast, micros)} %
      </Box>
    </>
  );
}
