import { expect, test } from "vitest";
import type { BudgetCrossing } from "../api";
import {
  type BudgetFields,
  barOf,
  furthest,
  missingInBudget,
  percentOf,
  readDollars,
  readPercents,
  scopeOf,
  standingOf,
} from "./budgets";

const FIELDS: BudgetFields = {
  name: "all",
  scope: "organisation",
  clusterId: null,
  tagKey: "",
  tagValue: "",
  dollars: "100",
  spentPercents: "50, 80, 100",
  forecastPercents: "",
};

const crossing = (measure: BudgetCrossing["measure"], percent: number, cleared_at: string | null = null) => ({
  measure,
  percent,
  cleared_at,
  micros: 1,
  budget_micros: 1,
  sentence: "",
  crossed_at: "2026-11-21T12:00:00Z",
});

test.each([
  ["100", 100_000_000],
  [" 1,234.56 ", 1_234_560_000],
  ["0.000001", 1],
  ["", undefined],
  ["-5", undefined],
  ["1e3", undefined],
  ["1.2345678", undefined],
])("%j dollars are %j micro-dollars", (text, micros) => {
  expect(readDollars(text)).toBe(micros);
});

test.each([
  ["50, 80, 100", [50, 80, 100]],
  ["100 % 50 50", [50, 100]],
  ["", []],
  ["0", undefined],
  ["1001", undefined],
  ["half", undefined],
  ["12.5", undefined],
])("%j are the thresholds %j", (text, percents) => {
  expect(readPercents(text)).toEqual(percents);
});

test("a form says what it lacks", () => {
  expect(missingInBudget(FIELDS)).toBeUndefined();
  expect(missingInBudget({ ...FIELDS, name: " " })).toMatch(/name/);
  expect(missingInBudget({ ...FIELDS, scope: "cluster" })).toMatch(/cluster/);
  expect(missingInBudget({ ...FIELDS, scope: "tag" })).toMatch(/tag/);
  expect(missingInBudget({ ...FIELDS, dollars: "0" })).toMatch(/above zero/);
  expect(missingInBudget({ ...FIELDS, forecastPercents: "soon" })).toMatch(/percents/);
  expect(missingInBudget({ ...FIELDS, spentPercents: "1 2 3 4 5 6 7 8 9 10 11" })).toMatch(/ten/);
});

test("what a budget is of", () => {
  expect(scopeOf({ cluster: null, tag: null })).toBe("The organisation");
  expect(scopeOf({ cluster: null, tag: { key: "team", value: "shop" } })).toBe("Tag team=shop");
  expect(scopeOf({ cluster: { id: "c", name: "orders", deleted: true }, tag: null })).toBe("Cluster orders (deleted)");
});

test("the largest of budget, spent and forecast fills the bar", () => {
  expect(barOf({ micros: 100, spent: 50, forecast: 80 })).toEqual({ spent: 50, forecast: 80, budget: 100 });
  expect(barOf({ micros: 100, spent: 50, forecast: 200 })).toEqual({ spent: 25, forecast: 100, budget: 50 });
  expect(barOf({ micros: 100, spent: -5, forecast: 0 })).toEqual({ spent: 0, forecast: 0, budget: 100 });
  expect(percentOf(999, 1000)).toBe(99);
});

test("only what was spent makes it over, and what was cleared counts no more", () => {
  expect(standingOf([])).toBe("fine");
  expect(standingOf([crossing("forecast", 100)])).toBe("near");
  expect(standingOf([crossing("spent", 100, "2026-11-21T13:00:00Z")])).toBe("fine");
  expect(standingOf([crossing("spent", 50), crossing("spent", 100)])).toBe("over");
  const found = furthest([crossing("forecast", 100), crossing("spent", 50), crossing("spent", 80)]);
  expect(found.map(({ measure, percent }) => [measure, percent])).toEqual([
    ["spent", 80],
    ["forecast", 100],
  ]);
});
