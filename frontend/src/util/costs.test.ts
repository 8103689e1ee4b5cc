import { expect, test } from "vitest";
import {
  costDays,
  costMonths,
  costName,
  costStep,
  monthDays,
  monthName,
  readCosts,
  shortQuantity,
  usedAmount,
} from "./costs";

const NOW = Date.UTC(2026, 1, 28, 23, 59);

test("ranges are whole months of UTC, the running one up to now", () => {
  expect(costDays("month", NOW)).toEqual({ from: "2026-02-01" });
  expect(costDays("last", NOW)).toEqual({ from: "2026-01-01", to: "2026-02-01" });
  expect(costDays("quarter", NOW)).toEqual({ from: "2025-12-01" });
  expect(costDays("year", NOW)).toEqual({ from: "2025-03-01" });
});

test("months of UTC, also over the turn of a year", () => {
  expect(costMonths(NOW, 3)).toEqual(["2026-02", "2026-01", "2025-12"]);
  expect(monthName("2026-02")).toBe("February 2026");
  expect(monthDays("2025-12")).toEqual({ from: "2025-12-01", to: "2026-01-01" });
});

test("quantities are as long as they tell something", () => {
  expect(shortQuantity("1234.567890000")).toBe("1,234.568");
  expect(shortQuantity("0.000012345")).toBe("0.000012345");
  expect(shortQuantity("-24.000000000")).toBe("-24");
  expect(usedAmount({ item: "machine", unit_seconds: 3600 })).toBe("3,600 s");
  expect(usedAmount({ item: "object_storage", unit_seconds: 3600 * 2 ** 30 * 1.5 })).toBe("1.5 GiB");
  expect(usedAmount({ item: "traffic_out", unit_seconds: 2 ** 30 * 2.5 })).toBe("2.5 GiB");
  expect(usedAmount({ item: "object_storage", unit_seconds: -3600 * 2 ** 20 })).toBe("-0.000977 GiB");
});

test("one or two months are drawn by day, more by month", () => {
  expect(costStep("last")).toBe("day");
  expect(costStep("quarter")).toBe("month");
});

test("whatever stands in the address, a page can be shown", () => {
  expect(readCosts({ spent: "forever", group: 7, key: "", after: "x", view: "all", month: "2026-13" })).toEqual({});
  expect(
    readCosts({ spent: "year", group: "tag", key: "team", after: ["a"], view: "invoices", month: "2026-10" }),
  ).toEqual({
    view: "invoices",
    month: "2026-10",
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
