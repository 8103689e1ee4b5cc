import { expect, test } from "vitest";
import { costDays, costName, costStep, readCosts } from "./costs";

const NOW = Date.UTC(2026, 1, 28, 23, 59);

test("ranges are whole months of UTC, the running one up to now", () => {
  expect(costDays("month", NOW)).toEqual({ from: "2026-02-01" });
  expect(costDays("last", NOW)).toEqual({ from: "2026-01-01", to: "2026-02-01" });
  expect(costDays("quarter", NOW)).toEqual({ from: "2025-12-01" });
  expect(costDays("year", NOW)).toEqual({ from: "2025-03-01" });
});

test("one or two months are drawn by day, more by month", () => {
  expect(costStep("last")).toBe("day");
  expect(costStep("quarter")).toBe("month");
});

test("whatever stands in the address, a page can be shown", () => {
  expect(readCosts({ spent: "forever", group: 7, key: "", after: "x" })).toEqual({});
  expect(readCosts({ spent: "year", group: "tag", key: "team", after: ["a"] })).toEqual({
    spent: "year",
    group: "tag",
    key: "team",
    after: ["a"],
  });
});

test("a row is called as people call it", () => {
  const cluster = { id: "clu_1", name: "orders", deleted: false };
  expect(costName({ key: "clu_1", cluster, table: null }, "cluster")).toBe("orders");
  expect(costName({ key: "clu_1", cluster: { ...cluster, deleted: true }, table: null }, "cluster")).toBe(
    "orders (deleted)",
  );
  const table = { keyspace: "shop", name: "orders", shared: false };
  expect(costName({ key: "x", cluster, table }, "table")).toBe("shop.orders");
  expect(costName({ key: "x", cluster, table: { ...table, shared: true } }, "table")).toBe("Shared");
  expect(costName({ key: "", cluster: null, table: null }, "tag")).toBe("Without this tag");
  expect(costName({ key: "", cluster: null, table: null }, "cluster")).toBe("Of no cluster");
});
