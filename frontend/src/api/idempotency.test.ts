import { expect, it } from "vitest";
import { IdempotencyKeys } from "./idempotency";

it("keeps the key while the body stays the same", () => {
  const keys = new IdempotencyKeys();
  expect(keys.keyFor({ name: "a" })).toBe(keys.keyFor({ name: "a" }));
});

it("makes a new key for another body, and after an answer", () => {
  const keys = new IdempotencyKeys();
  const first = keys.keyFor({ name: "a" });
  const second = keys.keyFor({ name: "b" });
  keys.answered();
  const third = keys.keyFor({ name: "b" });
  expect(new Set([first, second, third]).size).toBe(3);
  expect(first).toMatch(/^[0-9a-f]{32}$/);
});
