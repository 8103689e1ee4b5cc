import { expect, test } from "vitest";
import { againstTime, alertTime } from "./alert-time";

const NOW = Date.parse("2026-01-31T12:00:00Z");

test("what ends now is asked for without an end, a piece of time with both", () => {
  expect(alertTime(null, NOW)).toEqual({});
  expect(alertTime({ type: "relative", amount: 1, unit: "week" }, NOW)).toEqual({ from: "2026-01-24T12:00:00.000Z" });
  expect(alertTime({ type: "relative", amount: 90, unit: "minute" }, NOW)).toEqual({
    from: "2026-01-31T10:30:00.000Z",
  });
  const piece = { type: "absolute", startDate: "2026-01-01T00:00:00+01:00", endDate: "2026-01-02T00:00:00Z" } as const;
  expect(alertTime(piece, NOW)).toEqual({ from: "2025-12-31T23:00:00.000Z", to: "2026-01-02T00:00:00.000Z" });
});

test("a range that is none is refused before it is asked for", () => {
  const piece = (startDate: string, endDate: string) => againstTime({ type: "absolute", startDate, endDate });
  expect(piece("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")).toBeUndefined();
  expect(piece("2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z")).toBe("It ends before it begins.");
  expect(piece("", "2026-01-02T00:00:00Z")).toBe("Choose both a beginning and an end.");
  expect(againstTime(null)).toBeUndefined();
});
