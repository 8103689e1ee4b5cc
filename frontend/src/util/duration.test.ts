import { describe, expect, it } from "vitest";
import { formatAge, formatDuration, secondsBetween } from "./duration";

describe("formatDuration", () => {
  it.each([
    [0, "0 s"],
    [0.04, "0 s"],
    [0.42, "0.4 s"],
    [9.94, "9.9 s"],
    [9.97, "10 s"],
    [59.4, "59 s"],
    [59.6, "1 min"],
    [65, "1 min 5 s"],
    [3599.9, "1 h"],
    [3660, "1 h 1 min"],
    [90_000, "1 d 1 h"],
  ])("says %s seconds as %s", (seconds, said) => {
    expect(formatDuration(seconds)).toBe(said);
  });
});

describe("formatAge", () => {
  const now = Date.parse("2026-03-02T12:00:00Z");
  it.each([
    ["2026-03-02T12:00:30Z", "just now"],
    ["2026-03-02T11:59:30Z", "just now"],
    ["2026-03-02T11:55:10Z", "4 min"],
    ["2026-03-02T02:00:00Z", "10 h"],
    ["2026-02-02T12:00:00Z", "28 d"],
    ["2026-03-02T12:05:10Z", "in 5 min"],
    ["2026-03-12T13:00:00Z", "in 10 d"],
  ])("calls %s %s", (since, said) => {
    expect(formatAge(since, now)).toBe(said);
  });
});

describe("secondsBetween", () => {
  it("ends now while the end is open, and is never negative", () => {
    const now = Date.parse("2026-03-02T12:00:10Z");
    expect(secondsBetween("2026-03-02T12:00:00Z", null, now)).toBe(10);
    expect(secondsBetween("2026-03-02T12:00:00Z", "2026-03-02T12:00:02.500Z", now)).toBe(2.5);
    expect(secondsBetween("2026-03-02T12:00:20Z", null, now)).toBe(0);
  });
});
