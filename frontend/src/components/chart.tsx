import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { MetricChart } from "../api";
import { useIsDark } from "../hooks/use-theme";
import { axisTime, drawnRows, fullTime, valuesAt } from "../util/chart-data";
import { formatMetric, type MetricUnit } from "../util/metric-units";
import { type ChartEvent, ChartEvents } from "./chart-events";
import { ChartTable } from "./chart-table";

const HEIGHT = 190;
const COLOURS = 8;
const LEGEND_LINES = 16;
/** So many points further with Shift. */
const STRIDE = 10;

interface Props {
  chart: MetricChart;
  times: number[];
  /** What the time axis shows, in seconds since 1970; points may be missing at its ends. */
  span: [from: number, to: number];
  events: ChartEvent[];
  /** Charts with the same word share their crosshair. */
  group: string;
  isZoomed: boolean;
  onZoom: (from: number, to: number) => void;
  onReset: () => void;
  onCsv: () => void;
}

/** Lines over time: crosshair, zoom by dragging or by keys, operations, and the same numbers as a table and as CSV. */
export function Chart({ chart, times, span, events, group, isZoomed, onZoom, onReset, onCsv }: Props) {
  const [isTable, setIsTable] = useState(false);
  const isEmpty = chart.series.every(({ values }) => values.every((value) => value === null));
  return (
    <Container
      fitHeight
      header={
        <Header
          variant="h3"
          actions={
            <SpaceBetween direction="horizontal" size="xxs">
              {isZoomed && (
                <Button
                  variant="icon"
                  iconName="zoom-to-fit"
                  ariaLabel={`Reset zoom of ${chart.title}`}
                  onClick={onReset}
                />
              )}
              <Button
                variant="icon"
                iconName={isTable ? "grid-view" : "list-view"}
                ariaLabel={isTable ? `Show ${chart.title} as a chart` : `Show ${chart.title} as a table`}
                disabled={isEmpty}
                onClick={() => setIsTable(!isTable)}
              />
              <Button
                variant="icon"
                iconName="download"
                ariaLabel={`Download ${chart.title} as CSV`}
                disabled={isEmpty}
                onClick={onCsv}
              />
            </SpaceBetween>
          }
        >
          {chart.title}
        </Header>
      }
    >
      {isEmpty ? (
        <Box color="text-body-secondary" padding={{ vertical: "xl" }} textAlign="center">
          Nothing was counted in this time.
        </Box>
      ) : isTable ? (
        <ChartTable chart={chart} times={times} />
      ) : (
        <>
          <ChartEvents events={events} span={span} />
          <Plot {...{ chart, times, span, events, group, onZoom, onReset }} />
        </>
      )}
      {chart.series_left_out > 0 && (
        <Box variant="small">{chart.series_left_out} more lines with lower values are left out.</Box>
      )}
    </Container>
  );
}

function Plot({ chart, times, span: [from, to], events, group, onZoom, onReset }: Omit<Props, "isZoomed" | "onCsv">) {
  const isDark = useIsDark();
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [at, setAt] = useState<number | null>(null);
  const [spoken, setSpoken] = useState("");
  // What a drawing calls when something happens, without being made anew for it.
  const latest = useRef({ onZoom, onReset, events, span: [from, to] as [number, number] });
  latest.current = { onZoom, onReset, events, span: [from, to] };

  const { unit, stacked, series } = chart;
  const names = JSON.stringify(series.map(({ name }) => name));

  // biome-ignore lint/correctness/useExhaustiveDependencies: numbers that moved are given to the drawing there is, below
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const made = new uPlot(
      options({
        names: JSON.parse(names),
        unit,
        stacked,
        group,
        width: element.clientWidth,
        latest,
        onCursor: setAt,
      }),
      [times, ...drawnRows(chart)] as uPlot.AlignedData,
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [names, unit, stacked, group, isDark]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the ends of the axis are read where it is drawn
  useEffect(() => {
    plot.current?.setData([times, ...drawnRows(chart)] as uPlot.AlignedData);
  }, [chart, times, from, to]);

  function move(index: number): void {
    const made = plot.current;
    const time = times[index];
    if (!made || time === undefined) return;
    // Its types leave out the third: whether the other charts are told, as a mouse does by itself.
    const setCursor: (at: { left: number; top: number }, fire: boolean, tell: boolean) => void = made.setCursor;
    setCursor({ left: made.valToPos(time, "x"), top: made.over.clientHeight / 2 }, true, true);
    setAt(index);
    setSpoken(
      `${fullTime(time)}: ${valuesAt(chart, index)
        .map(({ name, text }) => `${name} ${text}`)
        .join(", ")}`,
    );
  }

  function onKeyDown(event: KeyboardEvent): void {
    const end = times.length - 1;
    const here = at ?? end + 1;
    const stride = event.shiftKey ? STRIDE : 1;
    switch (event.key) {
      case "ArrowLeft":
        move(Math.max(0, here - stride));
        break;
      case "ArrowRight":
        move(at === null ? 0 : Math.min(end, here + stride));
        break;
      case "Home":
        move(0);
        break;
      case "End":
        move(end);
        break;
      case "+": {
        const middle = (at === null ? undefined : times[at]) ?? (from + to) / 2;
        onZoom(Math.max(from, middle - (to - from) / 4), Math.min(to, middle + (to - from) / 4));
        break;
      }
      case "-":
      case "Escape":
        onReset();
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  const shown = at ?? times.length - 1;
  return (
    <>
      <div
        ref={frame}
        className="chart"
        role="application"
        aria-label={`${chart.title}: chart. Arrow keys read the values, plus zooms in, Escape shows all.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys move the crosshair
        tabIndex={0}
        onKeyDown={onKeyDown}
        onBlur={() => setSpoken("")}
      />
      <div className="chart-spoken" aria-live="polite">
        {spoken}
      </div>
      <div className="chart-legend">
        <span className="chart-legend-time">{at === null ? "Newest" : fullTime(times[shown] ?? to)}</span>
        {valuesAt(chart, shown)
          .slice(0, LEGEND_LINES)
          .map(({ name, text }, index) => (
            <span key={name} className="nowrap">
              <span className={`chart-swatch chart-colour-${index % COLOURS}`} />
              {name} <strong>{text}</strong>
            </span>
          ))}
        {series.length > LEGEND_LINES && <span>and {series.length - LEGEND_LINES} more: see the table</span>}
      </div>
    </>
  );
}

interface Drawing {
  names: string[];
  unit: MetricUnit;
  stacked: boolean;
  group: string;
  width: number;
  latest: { current: Pick<Props, "onZoom" | "onReset" | "events" | "span"> };
  onCursor: (index: number | null) => void;
}

function options({ names, unit, stacked, group, width, latest, onCursor }: Drawing): uPlot.Options {
  const token = (name: string) => getComputedStyle(document.body).getPropertyValue(`--chart-${name}`).trim();
  const axis = {
    stroke: token("text"),
    grid: { stroke: token("grid"), width: 1 },
    ticks: { stroke: token("grid"), width: 1 },
    font: "12px 'Open Sans', 'Helvetica Neue', Roboto, Arial, sans-serif",
  };
  const ofBytes = unit === "bytes" || unit === "bytes per second";
  return {
    width,
    height: HEIGHT,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false },
      bind: {
        // Instead of fitting the axis to the points: all that the range says is shown again.
        dblclick: () => () => {
          latest.current.onReset();
          return null;
        },
      },
      // Only where the crosshair is: a piece that is dragged over in one chart is not dragged over in the others.
      sync: {
        key: group,
        setSeries: false,
        scales: ["x", null],
        filters: { pub: (type) => type === "mousemove" || type === "mouseleave" },
      },
    },
    scales: {
      x: { time: true, range: () => latest.current.span },
      y: { range: (_, __, max) => [0, max > 0 ? uPlot.rangeNum(0, max, 0.1, true)[1] : 1] },
    },
    axes: [
      {
        ...axis,
        values: (_, splits, __, ___, increment) => splits.map((split) => axisTime(split, increment)),
        space: 70,
        size: 34,
      },
      {
        ...axis,
        size: 78,
        values: (_, splits) => splits.map((split) => formatMetric(split, unit)),
        space: 34,
        ...(ofBytes && { incrs: Array.from({ length: 60 }, (_, power) => 2 ** power) }),
      },
    ],
    series: [
      {},
      ...names.map((label, index) => {
        const colour = token(`colour-${index % COLOURS}`);
        return {
          label,
          stroke: colour,
          width: 1.5,
          points: { size: 5 },
          ...(stacked && { fill: `${colour}66` }),
          ...(index >= COLOURS && { dash: [6, 4] }),
        };
      }),
    ],
    // Lines of a whole stand upon each other; the area between a line and the one below it is its own.
    bands: stacked ? names.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })) : [],
    hooks: {
      setCursor: [(u) => onCursor(u.cursor.left !== undefined && u.cursor.left >= 0 ? (u.cursor.idx ?? null) : null)],
      setSelect: [
        (u) => {
          if (u.select.width < 5) return;
          const [from, to] = [u.select.left, u.select.left + u.select.width].map((left) => u.posToVal(left, "x"));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (from !== undefined && to !== undefined) latest.current.onZoom(from, to);
        },
      ],
      drawClear: [(u) => drawEvents(u, latest.current.events, latest.current.span, token("event"))],
    },
  };
}

/** Behind the lines: when operations were under way. */
function drawEvents(u: uPlot, events: ChartEvent[], [from, to]: [number, number], colour: string): void {
  const { left, top, width, height } = u.bbox;
  const place = (time: number) => left + (width * (Math.min(to, Math.max(from, time)) - from)) / (to - from);
  u.ctx.save();
  u.ctx.fillStyle = colour;
  for (const { startedAt, finishedAt } of events) {
    const begins = place(startedAt);
    u.ctx.globalAlpha = 0.12;
    u.ctx.fillRect(begins, top, Math.max(1, place(finishedAt ?? to) - begins), height);
    if (startedAt < from) continue;
    u.ctx.globalAlpha = 0.7;
    u.ctx.fillRect(begins, top, 1, height);
  }
  u.ctx.restore();
}
