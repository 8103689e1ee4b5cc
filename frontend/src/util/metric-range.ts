import { readWord } from "./search";

const SECONDS = {
  "15m": 900,
  "1h": 3600,
  "3h": 10_800,
  "12h": 43_200,
  "24h": 86_400,
  "3d": 259_200,
  "7d": 604_800,
  "30d": 2_592_000,
} as const;

export type RangeWord = keyof typeof SECONDS;

const LABELS: Record<RangeWord, string> = {
  "15m": "15 min",
  "1h": "1 h",
  "3h": "3 h",
  "12h": "12 h",
  "24h": "24 h",
  "3d": "3 d",
  "7d": "7 d",
  "30d": "30 d",
};

export const RANGE_WORDS = Object.keys(SECONDS) as RangeWord[];
/** Offered: six, which is what a segmented control has in one row. Addresses may say any. */
const OFFERED: RangeWord[] = ["15m", "1h", "3h", "24h", "7d", "30d"];
export const RANGE_OPTIONS = OFFERED.map((id) => ({ id, text: LABELS[id] }));
const DEFAULT_RANGE: RangeWord = "1h";

/** Nodes are asked every 15 s: a shorter piece would show nothing. */
const SHORTEST_SECONDS = 60;

/** What an address says of the time that its charts show. */
export interface RangeSearch {
  range?: RangeWord;
  /** A piece that was zoomed into, in seconds since 1970; both or neither. */
  from?: number;
  to?: number;
}

/** The time that charts show: up to now, or a piece that stands still. */
export type ShownTime = { word: RangeWord; zoom: [from: number, to: number] | null };

export function readRange(search: Record<string, unknown>): RangeSearch {
  const zoom = pieceOf(Number(search.from), Number(search.to));
  return { range: readWord(search.range, RANGE_WORDS), ...(zoom && { from: zoom[0], to: zoom[1] }) };
}

export function shownTime({ range = DEFAULT_RANGE, from, to }: RangeSearch): ShownTime {
  return { word: range, zoom: from !== undefined && to !== undefined ? [from, to] : null };
}

/** Whole seconds, and not shorter than what can be drawn; null: no piece of time. */
export function pieceOf(from: number, to: number): [number, number] | null {
  if (!Number.isFinite(from) || !Number.isFinite(to) || from <= 0 || to <= from) return null;
  const missing = Math.max(0, SHORTEST_SECONDS - (to - from)) / 2;
  return [Math.floor(from - missing), Math.ceil(to + missing)];
}

/** As the API takes it, at this moment. */
export function rangeQuery({ word, zoom }: ShownTime, now: number): { from: string; to?: string } {
  if (zoom === null) return { from: new Date(now - SECONDS[word] * 1000).toISOString() };
  return { from: new Date(zoom[0] * 1000).toISOString(), to: new Date(zoom[1] * 1000).toISOString() };
}
