/** A length of time as people say it. Below ten seconds one decimal matters (steps are that short), above it does not. */
export function formatDuration(seconds: number): string {
  if (seconds < 0.05) return "0 s";
  if (seconds < 9.95) return `${(Math.round(seconds * 10) / 10).toLocaleString("en", { maximumFractionDigits: 1 })} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return joined(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86_400) return joined(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return joined(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3600), "h");
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** How long ago, or in how long, in the largest unit only: "just now", "4 min", "3 h", "in 12 d". */
export function formatAge(moment: string, now: number): string {
  const seconds = (now - Date.parse(moment)) / 1000;
  // Clocks differ a little: what has just happened may seem to be ahead.
  if (Math.abs(seconds) < 60) return "just now";
  const length = inLargestUnit(Math.abs(seconds));
  return seconds < 0 ? `in ${length}` : length;
}

function inLargestUnit(seconds: number): string {
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Seconds between two moments; an open end is now. */
export function secondsBetween(start: string, end: string | null | undefined, now: number): number {
  return Math.max(0, ((end ? Date.parse(end) : now) - Date.parse(start)) / 1000);
}

/** A moment in the reader's own zone, to the second. */
export function formatMoment(moment: string): string {
  return new Date(moment).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}
