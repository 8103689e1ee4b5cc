import { expect, test } from "vitest";
import { treemapCells } from "./treemap";

test("each part has its share of the whole, and they fill it", () => {
  const cells = treemapCells([{ micros: 600 }, { micros: 300 }, { micros: 100 }], 3);
  expect(cells.map(({ width, height }) => Math.round(width * height) / 10)).toEqual([600, 300, 100]);
  for (const { left, top, width, height } of cells) {
    expect(left).toBeGreaterThanOrEqual(0);
    expect(top).toBeGreaterThanOrEqual(0);
    expect(left + width).toBeLessThanOrEqual(100.001);
    expect(top + height).toBeLessThanOrEqual(100.001);
  }
});

test("what costs nothing, or was given back, has no place", () => {
  expect(treemapCells([{ micros: 0 }, { micros: -5 }], 3)).toEqual([]);
  expect(treemapCells([{ micros: 5 }, { micros: -5 }], 3)).toHaveLength(1);
});
