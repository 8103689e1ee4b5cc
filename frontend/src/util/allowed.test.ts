import { describe, expect, it } from "vitest";
import { reasonAgainst } from "./allowed";

const allowed = [
  { action: "start", allowed: true, reason: null },
  { action: "stop", allowed: false, reason: "It is stopped." },
];

describe("what is possible now", () => {
  it("has nothing against it, or a reason, and what nobody speaks of is not possible", () => {
    expect(reasonAgainst("start", allowed)).toBeUndefined();
    expect(reasonAgainst("stop", allowed)).toBe("It is stopped.");
    expect(reasonAgainst("fly", allowed)).toBe("This is not possible now.");
  });
});
