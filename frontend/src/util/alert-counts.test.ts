import { expect, test } from "vitest";
import { firingSum, firingWords } from "./alert-counts";

const QUIET = { cluster_id: "c1", critical: 0, warning: 0, info: 0 };

test("the worst severity gives the colour, all of them the number", () => {
  expect(firingSum([])).toBeNull();
  expect(firingSum([QUIET])).toBeNull();
  const two = [
    { ...QUIET, info: 2 },
    { ...QUIET, cluster_id: "c2", warning: 1 },
  ];
  expect(firingSum(two)).toEqual({ total: 3, worst: "warning" });
  expect(firingSum([...two, { ...QUIET, critical: 1 }])).toEqual({ total: 4, worst: "critical" });
  expect(firingWords([{ ...QUIET, critical: 1 }])).toBe("1 alert fires: critical");
  expect(firingWords(two)).toBe("3 alerts fire, the worst is warning");
  expect(firingWords([])).toBe("No alert fires");
});
