import { expect, test } from "vitest";
import { compareValues, flameAt, flameBoxes, formatValue, sortRows, toCsv } from "./answers";

test.each([
  [null, "count", "–"],
  [true, "flag", "Yes"],
  [0, "count", "0"],
  [1234567, "count", "1,234,567"],
  [0.12345, "milliseconds", "0.1235 ms"],
  [12.345, "milliseconds", "12.3 ms"],
  [1536, "bytes", "1.5 KiB"],
  [0.5, "ratio", "50 %"],
  ["a", "text", "a"],
] as const)("%s as %s is %s", (value, unit, said) => {
  expect(formatValue(value, unit)).toBe(said);
});

test("what is not known comes last, whichever way a column is sorted", () => {
  const rows = [[2], [null], [10], [1]];
  expect(sortRows(rows, 0, false)).toEqual([[1], [2], [10], [null]]);
  expect(sortRows(rows, 0, true)).toEqual([[10], [2], [1], [null]]);
  expect(compareValues("node-2", "node-10")).toBeLessThan(0);
});

test("a CSV file keeps commas and quotes, and holds no formula", () => {
  const columns = [
    { title: "Name", unit: "text" as const },
    { title: "N", unit: "count" as const },
  ];
  const rows = [
    ['a "b", c', -1],
    ["=1+1", null],
  ];
  expect(toCsv({ columns, rows })).toBe('Name,N\r\n"a ""b"", c",-1\r\n\'=1+1,\r\n');
});

const FLAME = {
  name: "all",
  samples: 100,
  children: [
    { name: "a", samples: 60, children: [{ name: "b", samples: 60 }] },
    { name: "c", samples: 40 },
  ],
};

test("a flame's functions stand below what called them, side by side", () => {
  const boxes = flameBoxes(FLAME, 10).map(({ node, depth, from, share }) => [node.name, depth, from, share]);
  expect(boxes).toEqual([
    ["all", 0, 0, 1],
    ["a", 1, 0, 0.6],
    ["b", 2, 0, 0.6],
    ["c", 1, 0.6, 0.4],
  ]);
  expect(flameBoxes(FLAME, 1).map(({ node }) => node.name)).toEqual(["all", "a", "c"]);
  expect(flameBoxes(FLAME, 10, 0.5).map(({ node }) => node.name)).toEqual(["all", "a", "b"]);
  expect(flameAt(FLAME, [0, 0]).name).toBe("b");
});

test("an engine that did nothing has no flame", () => {
  expect(flameBoxes({ name: "all", samples: 0 }, 10)).toEqual([]);
});
