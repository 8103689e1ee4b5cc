import { expect, test } from "vitest";
import { chartPiece, matcherWords, whereToLook } from "./alert-places";
import { DASHBOARDS } from "./metrics-search";

test("a rule leads to the page that shows its numbers, and one that this console does not know to none", () => {
  expect(whereToLook("hints")).toMatchObject({ dashboard: "errors", by: "node" });
  expect(whereToLook("repair-overdue")).toMatchObject({ tab: "repairs" });
  expect(DASHBOARDS).toContain("errors");
  expect(whereToLook("of-a-later-release")).toBeUndefined();
});

test("charts of an alert begin before it, and end after it or now", () => {
  const began = "2026-01-31T12:00:00Z";
  const at = Date.parse(began) / 1000;
  const later = Date.parse("2026-02-01T00:00:00Z");
  expect(chartPiece(began, "2026-01-31T12:10:00Z", later)).toEqual({ from: at - 900, to: at + 600 + 900 });
  expect(chartPiece(began, "2026-01-31T12:10:00Z", (at + 700) * 1000)).toEqual({ from: at - 900, to: at + 700 });
  expect(chartPiece(began, null, later)).toEqual({ from: at - 900, to: later / 1000 });
});

test("what is silenced is said with names", () => {
  const names = new Map([["nd_1", "orders-a-1"]]);
  expect(matcherWords({}, names)).toBe("all alerts of the cluster");
  expect(matcherWords({ rule: "disk-80", node: "nd_1" }, names)).toBe("rule disk-80, node orders-a-1");
  expect(matcherWords({ node: "nd_2" }, names)).toBe("node nd_2");
  expect(matcherWords({ severity: "info", keyspace: "shop", table: "orders" }, names)).toBe(
    "severity info, table shop.orders",
  );
  expect(matcherWords({ keyspace: "shop" }, names)).toBe("keyspace shop");
});
