import { expect, test } from "vitest";
import {
  type AlertUnit,
  againstDuration,
  againstThreshold,
  amountText,
  durationText,
  readAmount,
} from "./alert-amounts";

const SAID: [number, AlertUnit, string][] = [
  [0.01, "seconds", "10 ms"],
  [0.0001, "seconds", "100 µs"],
  [90, "seconds", "1.5 min"],
  [95, "seconds", "95 s"],
  [1800, "seconds", "30 min"],
  [604_800, "seconds", "7 d"],
  [134_217_728, "bytes", "128 MiB"],
  [1_099_511_627_776, "bytes", "1 TiB"],
  [0.07, "ratio", "7 %"],
  [0.905, "ratio", "90.5 %"],
  [0.1, "per second", "0.1/s"],
  [100, "count", "100"],
  [0, "seconds", "0 s"],
];

test("a threshold is said in the unit that suits it, and what is said is read as the same number", () => {
  for (const [value, unit, text] of SAID) {
    expect(amountText(value, unit)).toBe(text);
    expect(readAmount(text, unit)).toBe(value);
  }
});

test("people leave out spaces and write units otherwise; a time or a size without a unit is not guessed", () => {
  expect(readAmount("15ms", "seconds")).toBe(0.015);
  expect(readAmount("2 days", "seconds")).toBe(172_800);
  expect(readAmount("64 mib", "bytes")).toBe(67_108_864);
  expect(readAmount("85", "ratio")).toBe(0.85);
  expect(readAmount("2", "per second")).toBe(2);
  for (const text of ["10", "", "ms", "-1 s", "1,5 s", "1e3 s", "10 kg"])
    expect(readAmount(text, "seconds")).toBeNull();
});

test("what cannot be a threshold is told with what can", () => {
  const rule = { unit: "ratio", threshold_facts: { default: 0.8, least: 0.05, most: 0.99 } } as const;
  expect(againstThreshold("5 %", rule)).toBeUndefined();
  expect(againstThreshold("99 %", rule)).toBeUndefined();
  expect(againstThreshold("4.9 %", rule)).toBe("From 5 % to 99 %.");
  expect(againstThreshold("100 %", rule)).toBe("From 5 % to 99 %.");
  expect(againstThreshold("much", rule)).toBe("Write it like 80 %.");
});

test("a rule waits for a day at most, in whole seconds", () => {
  expect(againstDuration("1 d")).toBeUndefined();
  expect(againstDuration("0 s")).toBeUndefined();
  expect(againstDuration("25 h")).toBe("A day at most.");
  expect(againstDuration("1.5 s")).toBe("Whole seconds.");
  expect(againstDuration("soon")).toBe("Write it like 5 min.");
  expect(durationText(0)).toBe("at once");
  expect(durationText(300)).toBe("5 min");
});
