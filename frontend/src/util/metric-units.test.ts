import { expect, it } from "vitest";
import { formatMetric, formatNumberAge } from "./metric-units";

it.each([
  [0, "seconds", "0 s"],
  [0.000_084_2, "seconds", "84.2 µs"],
  [0.000_999_9, "seconds", "1 ms"],
  [0.012_34, "seconds", "12.3 ms"],
  [1.5, "seconds", "1.5 s"],
  [180, "seconds", "3 min"],
  [1536, "bytes", "1.5 KiB"],
  [3_145_728, "bytes per second", "3 MiB/s"],
  [0.25, "per second", "0.25/s"],
  [1234.5, "per second", "1,235/s"],
  [62_000, "per second", "62 k/s"],
  [4_200_000, "count", "4.2 M"],
  [0.456_7, "ratio", "45.7 %"],
  [0.012_34, "ratio", "1.23 %"],
  [3, "count", "3"],
  [null, "count", "–"],
  [undefined, "seconds", "–"],
] as const)("%s %s reads %s", (value, unit, text) => {
  expect(formatMetric(value, unit)).toBe(text);
});

it("says how old a number is", () => {
  expect(formatNumberAge(11.6)).toBe("12 s old");
  expect(formatNumberAge(-0.4)).toBe("0 s old");
  expect(formatNumberAge(600)).toBe("10 min old");
  expect(formatNumberAge(3 * 3600)).toBe("3 h old");
});
