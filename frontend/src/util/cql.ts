import type { CqlAnswer, CqlSchemaTable, CqlSchemaTree, CqlTrace } from "../api";

/** A name as it must be written in a statement. */
export function cqlName(name: string): string {
  return /^[a-z][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** What reads some rows of a table. */
export function selectOf(keyspace: string, table: CqlSchemaTable): string {
  return `SELECT ${table.columns.map(({ name }) => cqlName(name)).join(", ") || "*"}\nFROM ${cqlName(keyspace)}.${cqlName(table.name)}\nLIMIT 100;`;
}

/** What is completed in the editor: tables by keyspace, and columns by table. */
export function completions(tree: CqlSchemaTree | null): Record<string, Record<string, string[]>> {
  const tablesOf = (tables: CqlSchemaTable[]) =>
    Object.fromEntries(tables.map(({ name, columns }) => [name, columns.map((column) => column.name)]));
  return Object.fromEntries((tree?.keyspaces ?? []).map(({ name, tables }) => [name, tablesOf(tables)]));
}

const TEXTS = new Set(["text", "ascii", "varchar"]);

/**
 * RFC 4180, the heading and then rows. Null is an empty cell and an empty text a quoted one. A text that a spreadsheet would take for
 * a formula is made text.
 */
export function csvHeading(columns: CqlAnswer["columns"]): string {
  return `${columns.map(({ name }) => quoted(name)).join(",")}\r\n`;
}

export function csvRows({ columns, rows }: Pick<CqlAnswer, "columns" | "rows">): string {
  const isText = columns.map(({ type }) => TEXTS.has(type));
  return rows.map((row) => `${row.map((cell, at) => csvCell(cell, isText[at] ?? false)).join(",")}\r\n`).join("");
}

function csvCell(cell: string | null, isText: boolean): string {
  if (cell === null) return "";
  if (cell === "") return '""';
  return quoted(isText && /^[=+@\t\r-]/.test(cell) ? `'${cell}` : cell);
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export interface TraceNode {
  source: string;
  events: number;
  /** In microseconds from the first event of all. */
  from: number;
  to: number;
}

/** What each node had to do with it, in the order in which they came in. */
export function traceNodes({ events }: Pick<CqlTrace, "events">): TraceNode[] {
  const nodes = new Map<string, TraceNode>();
  for (const { source, offset_microseconds: at } of events) {
    const known = nodes.get(source);
    if (known === undefined) nodes.set(source, { source, events: 1, from: at, to: at });
    else nodes.set(source, { ...known, events: known.events + 1, to: Math.max(known.to, at) });
  }
  return [...nodes.values()];
}

/** The length of a trace's time line, in microseconds, never 0. */
export function traceLength({ events, microseconds }: Pick<CqlTrace, "events" | "microseconds">): number {
  return Math.max(1, microseconds ?? 0, ...events.map(({ offset_microseconds: at }) => at));
}

export function formatMicroseconds(value: number): string {
  if (value < 1000) return `${value} µs`;
  if (value < 1_000_000) return `${(value / 1000).toLocaleString("en", { maximumFractionDigits: 2 })} ms`;
  return `${(value / 1_000_000).toLocaleString("en", { maximumFractionDigits: 2 })} s`;
}
