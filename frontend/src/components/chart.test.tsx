// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import type { MetricChart } from "../api";

// There is no canvas here: this records where the crosshair was put.
const { cursors } = vi.hoisted(() => ({ cursors: [] as number[] }));
vi.mock("uplot", () => ({
  default: class {
    over = { clientHeight: 100 };
    valToPos = (value: number) => value;
    setCursor = ({ left }: { left: number }) => cursors.push(left);
    setData() {}
    setSize() {}
    destroy() {}
  },
}));

const TIMES = [1000, 1015, 1030];

function latency(changes: Partial<MetricChart> = {}): MetricChart {
  return {
    id: "read-latency",
    title: "Read latency",
    unit: "seconds",
    stacked: false,
    series: [
      { name: "p50", labels: {}, values: [0.001, null, 0.002] },
      { name: "p99", labels: {}, values: [0.012, null, 0.024] },
    ],
    series_left_out: 0,
    ...changes,
  };
}

const onZoom = vi.fn();
const onReset = vi.fn();
const onCsv = vi.fn();

let Chart: typeof import("./chart").Chart;

function show(chart = latency(), isZoomed = false) {
  render(
    <Chart
      chart={chart}
      times={TIMES}
      span={[1000, 1040]}
      events={[]}
      group="page"
      {...{ isZoomed, onZoom, onReset, onCsv }}
    />,
  );
}

beforeAll(async () => {
  const quiet = { matches: false, addEventListener() {}, removeEventListener() {} };
  vi.stubGlobal("matchMedia", () => quiet);
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
  // After the stubs, which it asks when it is loaded; on a busy machine that takes long.
  ({ Chart } = await import("./chart"));
}, 60_000);

vi.setConfig({ testTimeout: 30_000 });

afterEach(() => {
  cleanup();
  cursors.length = 0;
  vi.clearAllMocks();
});

it("moves the crosshair with arrow keys and reads the values out", () => {
  show();
  const chart = screen.getByRole("application", { name: /^Read latency: chart/ });
  fireEvent.keyDown(chart, { key: "ArrowLeft" });
  expect(cursors).toEqual([1030]);
  expect(document.querySelector("[aria-live]")?.textContent).toMatch(/: p50 2 ms, p99 24 ms$/);
  fireEvent.keyDown(chart, { key: "ArrowLeft" });
  expect(document.querySelector("[aria-live]")?.textContent).toMatch(/: p50 –, p99 –$/);
  fireEvent.keyDown(chart, { key: "Home" });
  fireEvent.keyDown(chart, { key: "ArrowLeft" });
  expect(cursors).toEqual([1030, 1015, 1000, 1000]);
});

it("zooms in about the crosshair and resets by key", () => {
  show();
  const chart = screen.getByRole("application");
  fireEvent.keyDown(chart, { key: "End" });
  fireEvent.keyDown(chart, { key: "+" });
  expect(onZoom).toHaveBeenCalledWith(1020, 1040);
  fireEvent.keyDown(chart, { key: "Escape" });
  expect(onReset).toHaveBeenCalledOnce();
});

it("shows the same numbers as a table, newest first", () => {
  show();
  fireEvent.click(screen.getByRole("button", { name: "Show Read latency as a table" }));
  const rows = screen.getAllByRole("row").map((row) => row.textContent ?? "");
  expect(rows[0]).toContain("p99");
  expect(rows[1]).toMatch(/2 ms24 ms$/);
  expect(rows[3]).toMatch(/1 ms12 ms$/);
});

it("says that there is nothing, and offers nothing of it", () => {
  show(latency({ series: [{ name: "p50", labels: {}, values: [null, null, null] }] }));
  expect(screen.getByText("Nothing was counted in this time.")).toBeTruthy();
  expect(screen.queryByRole("application")).toBeNull();
});

it("downloads itself, and offers the way back from a zoom", () => {
  show(latency({ series_left_out: 3 }), true);
  fireEvent.click(screen.getByRole("button", { name: "Download Read latency as CSV" }));
  fireEvent.click(screen.getByRole("button", { name: "Reset zoom of Read latency" }));
  expect(onCsv).toHaveBeenCalledOnce();
  expect(onReset).toHaveBeenCalledOnce();
  expect(screen.getByText(/^3 more lines/)).toBeTruthy();
});
