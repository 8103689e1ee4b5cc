import { describe, expect, it } from "vitest";
import { lastCursor, readCursors, readText, returnPath } from "./search";

describe("returnPath", () => {
  it.each([
    [undefined, "/clusters"],
    ["/clusters/cl_1?tab=connect", "/clusters/cl_1?tab=connect"],
    ["https://elsewhere.example", "/clusters"],
    ["//elsewhere.example", "/clusters"],
    ["/\\elsewhere.example", "/clusters"],
    ["/sign-in", "/clusters"],
  ])("sends %s to %s", (wanted, path) => {
    expect(returnPath(wanted)).toBe(path);
  });
});

describe("cursors in an address", () => {
  it("keeps the texts and drops the rest", () => {
    expect(readCursors(["a", 3, "", null, "b"])).toEqual(["a", "b"]);
    expect(readCursors("a")).toBeUndefined();
    expect(readCursors([])).toBeUndefined();
  });

  it("shows the page after the last one", () => {
    expect(lastCursor(["a", "b"])).toBe("b");
    expect(lastCursor(undefined)).toBeUndefined();
  });
});

it("reads a name that looks like a number as text", () => {
  expect(readText(42)).toBe("42");
  expect(readText("")).toBeUndefined();
  expect(readText({})).toBeUndefined();
});
