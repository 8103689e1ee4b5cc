import { expect, test } from "vitest";
import { formatBytes } from "./size";

test("bytes are said in the largest unit that leaves a number from one", () => {
  expect([0, 1023, 1024, 1_610_612_736, 3 * 1024 ** 4].map(formatBytes)).toEqual([
    "0 B",
    "1,023 B",
    "1 KiB",
    "1.5 GiB",
    "3 TiB",
  ]);
});
