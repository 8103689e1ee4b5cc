import type { Metrics } from "../api";
import { pieceOf, type RangeSearch, type ShownTime } from "../util/metric-range";
import { Chart } from "./chart";
import { chartEvents } from "./chart-events";

interface Props {
  metrics: Metrics;
  time: ShownTime;
  onTime: (next: RangeSearch) => void;
  /** Downloads one of the charts. */
  onCsv: (chart: string) => void;
}

/** The charts of a page: one crosshair, and one zoom, which the address keeps. Those without any line come last. */
export function ChartPage({ metrics, time, onTime, onCsv }: Props) {
  const events = chartEvents(metrics);
  const span: [number, number] = time.zoom ?? [Date.parse(metrics.from) / 1000, Date.parse(metrics.to) / 1000];
  const isEmpty = ({ series }: Metrics["charts"][number]) => series.length === 0;
  const charts = [...metrics.charts.filter((chart) => !isEmpty(chart)), ...metrics.charts.filter(isEmpty)];
  return (
    <div className="chart-grid">
      {charts.map((chart) => (
        <Chart
          key={chart.id}
          chart={chart}
          times={metrics.times}
          span={span}
          events={events}
          group="page"
          isZoomed={time.zoom !== null}
          onZoom={(from, to) => {
            const piece = pieceOf(from, to);
            if (piece) onTime({ range: time.word, from: piece[0], to: piece[1] });
          }}
          onReset={() => onTime({ range: time.word })}
          onCsv={() => onCsv(chart.id)}
        />
      ))}
    </div>
  );
}
