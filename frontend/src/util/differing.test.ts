import { expect, it } from "vitest";
import { differing } from "./differing";

it("tells what differs, and what is empty as such", () => {
  const before = { Name: "shop", Description: "", Role: "viewer" };
  expect(differing(before, { ...before, Description: "Orders", Role: "" })).toEqual([
    { label: "Description", before: "empty", now: "Orders" },
    { label: "Role", before: "viewer", now: "empty" },
  ]);
  expect(differing(before, before)).toEqual([]);
});
