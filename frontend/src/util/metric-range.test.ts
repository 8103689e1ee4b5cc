import { expect, it } from "vitest";
import { pieceOf, rangeQuery, readRange, shownTime } from "./metric-range";

it("reads a range and a zoom from an address, and nothing else", () => {
  expect(readRange({ range: "7d" })).toEqual({ range: "7d" });
  expect(readRange({ range: "9d", from: "x", to: 5 })).toEqual({ range: undefined });
  expect(readRange({ from: 2000, to: 1000 })).toEqual({ range: undefined });
  expect(shownTime(readRange({ from: 1000, to: 2000 }))).toEqual({ word: "1h", zoom: [1000, 2000] });
});

it("widens a piece of time that is too short to be drawn", () => {
  expect(pieceOf(1000, 1010)).toEqual([975, 1035]);
});

it("asks up to now, or for the piece that was zoomed into", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  expect(rangeQuery({ word: "15m", zoom: null }, now)).toEqual({ from: "2026-01-01T11:45:00.000Z" });
  expect(rangeQuery({ word: "15m", zoom: [0, 60] }, now)).toEqual({
    from: "1970-01-01T00:00:00.000Z",
    to: "1970-01-01T00:01:00.000Z",
  });
});
