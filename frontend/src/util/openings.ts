import type { Opening } from "../api";

export interface DayOfOpenings {
  label: string;
  /** Hours of the wall clock, 0 to 24. */
  open: { from: number; to: number }[];
  said: string;
}

const DAYS = 14;

/** Openings by day of the reader's own zone, from today on. On days when the clock changes hours are those it shows. */
export function daysOf(openings: Opening[], now: number): DayOfOpenings[] {
  const spans = openings.map(({ starts_at, ends_at }) => ({ begin: Date.parse(starts_at), end: Date.parse(ends_at) }));
  return Array.from({ length: DAYS }, (_, number) => {
    const midnight = dayAfter(now, number);
    const next = dayAfter(now, number + 1);
    const open = spans
      .filter(({ begin, end }) => begin < next && end > midnight)
      .map(({ begin, end }) => ({ from: begin <= midnight ? 0 : hourOf(begin), to: end >= next ? 24 : hourOf(end) }));
    return {
      label: new Date(midnight).toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short" }),
      open,
      said: open.length === 0 ? "closed" : open.map(({ from, to }) => `${clock(from)} to ${clock(to)}`).join(", "),
    };
  });
}

function dayAfter(now: number, days: number): number {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days).getTime();
}

function hourOf(moment: number): number {
  const at = new Date(moment);
  return at.getHours() + at.getMinutes() / 60;
}

function clock(hour: number): string {
  const minutes = Math.round(hour * 60);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
}
