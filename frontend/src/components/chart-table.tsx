import Pagination from "@cloudscape-design/components/pagination";
import Table from "@cloudscape-design/components/table";
import { useState } from "react";
import type { MetricChart } from "../api";
import { fullTime } from "../util/chart-data";
import { formatMetric } from "../util/metric-units";

const ROWS = 8;

/** The numbers of a chart, newest first. */
export function ChartTable({ chart, times }: { chart: MetricChart; times: number[] }) {
  const [page, setPage] = useState(1);
  const indexes = times.map((_, index) => index).reverse();
  return (
    <Table
      variant="embedded"
      contentDensity="compact"
      trackBy={(index) => `${index}`}
      items={indexes.slice((page - 1) * ROWS, page * ROWS)}
      ariaLabels={{ tableLabel: chart.title }}
      pagination={
        <Pagination
          currentPageIndex={page}
          pagesCount={Math.ceil(times.length / ROWS)}
          onChange={({ detail }) => setPage(detail.currentPageIndex)}
          ariaLabels={{
            nextPageLabel: "Earlier numbers",
            previousPageLabel: "Later numbers",
            pageLabel: (number) => `Page ${number}`,
          }}
        />
      }
      columnDefinitions={[
        { id: "time", header: "Time", isRowHeader: true, cell: (index) => fullTime(times[index] ?? 0) },
        ...chart.series.map(({ name, values }, line) => ({
          id: `line-${line}`,
          header: name,
          cell: (index: number) => formatMetric(values[index], chart.unit),
        })),
      ]}
    />
  );
}
