import { expect, test } from "vitest";
import { formatMonthlyCost } from "./money";

test("a change of cost has a sign and two decimals", () => {
  expect(formatMonthlyCost(120_500_000)).toBe("+120.50 USD");
  expect(formatMonthlyCost(-1_234_000_000)).toBe("−1,234.00 USD");
});

test("where there are no prices no figure is made up", () => {
  expect(formatMonthlyCost(0)).toBe("No change known");
});
