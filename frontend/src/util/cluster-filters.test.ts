import { expect, it } from "vitest";
import { filtersFromTokens, tokensFromFilters } from "./cluster-filters";

it("comes back from tokens as it went in", () => {
  const filters = { q: "orders", state: "active", zone: "local-1a" } as const;
  expect(filtersFromTokens(tokensFromFilters(filters))).toEqual(filters);
});

it("lets the last value of a property win", () => {
  expect(
    filtersFromTokens([
      { propertyKey: "state", operator: "=", value: "active" },
      { propertyKey: "state", operator: "=", value: "creating" },
    ]),
  ).toEqual({ state: "creating" });
});
