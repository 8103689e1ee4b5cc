import { expect, test } from "vitest";
import { parseDates, timeZones } from "./windows";

test("dates are the words between commas", () => {
  expect(parseDates(" 2026-12-24,2026-12-31 , ")).toEqual(["2026-12-24", "2026-12-31"]);
  expect(parseDates("")).toEqual([]);
});

test("the chosen time zone is offered even when the browser does not list it", () => {
  expect(timeZones("Mars/Olympus")[0]).toBe("Mars/Olympus");
  expect(timeZones("UTC").filter((zone) => zone === "UTC")).toHaveLength(1);
});
