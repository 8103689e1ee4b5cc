import BarChart from "@cloudscape-design/components/bar-chart";
import { useQuery } from "@tanstack/react-query";
import { type CostsWish, costsQuery } from "../api";
import { COST_PARTS } from "../util/costs";
import { formatSpent } from "../util/money";
import { QueryView } from "./query-view";

/** What was spent day by day or month by month, and on what. */
export function CostBars({ wish }: { wish: CostsWish & { group: "day" | "month" } }) {
  const costs = useQuery(costsQuery({ ...wish, limit: 200 }));
  return (
    <QueryView query={costs} lines={8}>
      {({ items }) => {
        const shown = COST_PARTS.filter(({ id }) => items.some(({ parts }) => parts[id] !== 0));
        return (
          <BarChart
            stackedBars
            hideFilter
            height={220}
            ariaLabel={wish.group === "day" ? "What was spent by day" : "What was spent by month"}
            xTitle={wish.group === "day" ? "Day (UTC)" : "Month (UTC)"}
            yTitle="USD"
            xScaleType="categorical"
            xDomain={items.map(({ key }) => key)}
            series={shown.map(({ id, label }) => ({
              title: label,
              type: "bar",
              data: items.map(({ key, parts }) => ({ x: key, y: parts[id] / 1_000_000 })),
              valueFormatter: (dollars: number) => formatSpent(Math.round(dollars * 1_000_000)),
            }))}
            empty="Nothing was spent in this time."
          />
        );
      }}
    </QueryView>
  );
}
