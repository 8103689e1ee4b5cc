import { expect, it } from "vitest";
import { sparkPath } from "../components/sparkline";
import { drawnRows } from "./chart-data";

const chart = {
  id: "requests",
  title: "Requests",
  unit: "per second" as const,
  series_left_out: 0,
  series: [
    { name: "read", labels: {}, values: [1, null, 3, null] },
    { name: "write", labels: {}, values: [10, 20, null, null] },
  ],
};

it("draws parts of a whole upon each other, with a gap where nothing is known", () => {
  expect(drawnRows({ ...chart, stacked: true })).toEqual([
    [1, null, 3, null],
    [11, 20, 3, null],
  ]);
  expect(drawnRows({ ...chart, stacked: false })[1]).toEqual([10, 20, null, null]);
});

it("draws a sparkline with gaps, and none of nothing", () => {
  expect(sparkPath([0, 2, null, 1])).toBe("M1.0 16.0L16.3 2.0M47.0 9.0");
  expect(sparkPath([null, null])).toBe("");
});
