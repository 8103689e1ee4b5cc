import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";

/** A rectangle of a treemap; place and size in percent of the whole. */
export interface TreemapCell<Part> {
  part: Part;
  left: number;
  top: number;
  width: number;
  height: number;
}

/** One rectangle for each part, as large as its share. What is nothing or less has no place. `aspect`: width by height. */
export function treemapCells<Part extends { micros: number }>(parts: Part[], aspect: number): TreemapCell<Part>[] {
  const shown = parts.filter(({ micros }) => micros > 0);
  if (shown.length === 0) return [];
  type Node = { part?: Part; children?: Node[] };
  const tree = hierarchy<Node>({ children: shown.map((part) => ({ part })) }).sum(({ part }) => part?.micros ?? 0);
  const leaves = treemap<Node>()
    .size([100 * aspect, 100])
    .tile(treemapSquarify)(tree)
    .leaves();
  return leaves.flatMap(({ data: { part }, x0, x1, y0, y1 }) =>
    part === undefined ? [] : [{ part, left: x0 / aspect, top: y0, width: (x1 - x0) / aspect, height: y1 - y0 }],
  );
}
