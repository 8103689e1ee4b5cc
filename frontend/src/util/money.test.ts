import { expect, test } from "vitest";
import { formatDollars, formatMonthlyCost, formatSpent } from "./money";

test("a change of cost has a sign and two decimals", () => {
  expect(formatMonthlyCost(120_500_000)).toBe("+120.50 USD");
  expect(formatMonthlyCost(-1_234_000_000)).toBe("−1,234.00 USD");
});

test("where there are no prices no figure is made up", () => {
  expect(formatMonthlyCost(null)).toBe("Not known: a machine type has no price");
  expect(formatMonthlyCost(0)).toBe("No change");
});

test("an amount has two decimals and no sign", () => {
  expect(formatDollars(14_576_640_000)).toBe("14,576.64 USD");
  expect(formatDollars(0)).toBe("0.00 USD");
});

test("what was spent is told to the micro-dollar below a cent", () => {
  expect(formatSpent(12_345_678)).toBe("12.35 USD");
  expect(formatSpent(9_999)).toBe("0.009999 USD");
  expect(formatSpent(0)).toBe("0.00 USD");
  expect(formatSpent(-2_500_000)).toBe("−2.50 USD");
});
