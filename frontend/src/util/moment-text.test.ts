import { expect, test } from "vitest";
import { momentIn, utcText } from "./moment-text";

test.each([
  ["2026-01-31 14:05:09", "2026-01-31T14:05:09Z"],
  [" 2026-01-31T14:05Z ", "2026-01-31T14:05Z"],
  ["2026-01-31 14:05:09.123456", "2026-01-31T14:05:09.123456Z"],
  ["2026-06-31 14:05:09", null],
  ["2026-01-31 25:05:09", null],
  ["yesterday", null],
  ["", null],
])("%s is the moment %s", (text, moment) => {
  expect(momentIn(text)).toBe(moment);
});

test("what is told is what can be written", () => {
  expect(utcText("2026-01-31T14:05:09.987+00:00")).toBe("2026-01-31 14:05:09");
  expect(momentIn(utcText("2026-01-31T14:05:09.987Z"))).toBe("2026-01-31T14:05:09Z");
});
