import { expect, it } from "vitest";
import {
  completions,
  cqlName,
  csvHeading,
  csvRows,
  formatMicroseconds,
  selectOf,
  traceLength,
  traceNodes,
} from "./cql";

const column = (name: string, type: string) => ({ keyspace: "shop", table: "t", name, type });
const table = {
  name: "Orders",
  view_of: "",
  comment: "",
  columns: [
    { name: "id", type: "int", kind: "partition_key" as const, position: 0, order: "none" },
    { name: 'a"b', type: "text", kind: "regular" as const, position: -1, order: "none" },
  ],
  indexes: [],
};

it("quotes names only where CQL needs it", () => {
  expect(["orders", "Orders", "1st", 'a"b'].map(cqlName)).toEqual(["orders", '"Orders"', '"1st"', '"a""b"']);
  expect(selectOf("shop", table)).toBe('SELECT id, "a""b"\nFROM shop."Orders"\nLIMIT 100;');
});

it("completes what there is", () => {
  const keyspace = { name: "shop", system: false, replication: {}, tables: [table], types: [], functions: [] };
  expect(completions({ keyspaces: [keyspace], left: 0 })).toEqual({ shop: { Orders: ["id", 'a"b'] } });
  expect(completions(null)).toEqual({});
});

it("writes null and an empty text differently, and no formulas", () => {
  const columns = [column("n", "int"), column("t,x", "text")];
  expect(csvHeading(columns)).toBe('n,"t,x"\r\n');
  const rows = [
    ["-5", "=1+1"],
    [null, ""],
    ["1", 'say "hi"\n'],
  ];
  expect(csvRows({ columns, rows })).toBe('-5,\'=1+1\r\n,""\r\n1,"say ""hi""\n"\r\n');
});

it("tells when each node had to do with a statement", () => {
  const event = (source: string, offset_microseconds: number) => ({
    source,
    offset_microseconds,
    activity: "a",
    thread: "t",
    elapsed_microseconds: null,
  });
  const events = [event("a", 0), event("b", 20), event("a", 90)];
  expect(traceNodes({ events })).toEqual([
    { source: "a", events: 2, from: 0, to: 90 },
    { source: "b", events: 1, from: 20, to: 20 },
  ]);
  expect(traceLength({ events, microseconds: 70 })).toBe(90);
  expect(traceLength({ events: [], microseconds: null })).toBe(1);
  expect([999, 1500, 2_500_000].map(formatMicroseconds)).toEqual(["999 µs", "1.5 ms", "2.5 s"]);
});
