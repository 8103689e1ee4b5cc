import type { AnswerColumn, AnswerTable, FlameNode } from "../api";
import { formatBytes } from "./size";

type Value = AnswerTable["rows"][number][number];

/** A value of an answer as people read it; "–" where it is not known. */
export function formatValue(value: Value, unit: AnswerColumn["unit"]): string {
  if (value === null || value === "") return "–";
  if (unit === "flag") return value ? "Yes" : "No";
  if (typeof value !== "number") return String(value);
  switch (unit) {
    case "bytes":
      return formatBytes(value);
    case "ratio":
      return `${round(value * 100)} %`;
    case "seconds":
      return `${round(value)} s`;
    case "milliseconds":
      return `${round(value)} ms`;
    default:
      return round(value);
  }
}

/** Three digits that count, and all of those before the point. */
function round(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 4;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** Numbers by size, texts as people sort them; what is not known comes last, whichever way. */
export function compareValues(a: Value, b: Value): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** The rows in the order of a column; what is not known comes last, whichever way. */
export function sortRows(rows: Value[][], column: number, isDescending: boolean): Value[][] {
  return rows.toSorted((a, b) => {
    const [x, y] = [a[column] ?? null, b[column] ?? null];
    return (isDescending && x !== null && y !== null ? -1 : 1) * compareValues(x, y);
  });
}

/** RFC 4180, with values as the API gives them. A cell that a spreadsheet would take for a formula is made text. */
export function toCsv({ columns, rows }: Pick<AnswerTable, "columns" | "rows">): string {
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map((value) => value ?? ""))];
  return lines
    .map((line) => line.map(csvCell).join(","))
    .join("\r\n")
    .concat("\r\n");
}

function csvCell(value: string | number | boolean): string {
  let text = String(value);
  if (typeof value === "string" && /^[=+@\t\r-]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The function at a path of indices below a flame's root. */
export function flameAt(root: FlameNode, path: number[]): FlameNode {
  return path.reduce((node, index) => node.children?.[index] ?? node, root);
}

export interface FlameBox {
  node: FlameNode;
  /** Indices from the shown root. */
  path: number[];
  depth: number;
  /** Share of the shown root, 0 to 1. */
  from: number;
  share: number;
}

/** Where each function of a flame is drawn. Those that are too narrow to be seen are left out. */
export function flameBoxes(root: FlameNode, deepest: number, narrowest = 0.002): FlameBox[] {
  const boxes: FlameBox[] = [];
  const place = (node: FlameNode, path: number[], depth: number, from: number) => {
    const share = node.samples / root.samples;
    if (share < narrowest || depth > deepest) return;
    boxes.push({ node, path, depth, from, share });
    let at = from;
    for (const [index, child] of (node.children ?? []).entries()) {
      place(child, [...path, index], depth + 1, at);
      at += child.samples / root.samples;
    }
  };
  if (root.samples > 0) place(root, [], 0, 0);
  return boxes;
}
