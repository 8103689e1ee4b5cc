/** A moment as people write it, in UTC, to the second before it: 2026-01-31 14:05:00. */
export function utcText(moment: string): string {
  return new Date(moment).toISOString().slice(0, 19).replace("T", " ");
}

/** What such a text says, as the API takes it; null: no moment. */
export function momentIn(text: string): string | null {
  const found = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)Z?$/.exec(text.trim());
  if (!found) return null;
  const moment = new Date(`${found[1]}T${found[2]}Z`);
  if (Number.isNaN(moment.getTime())) return null;
  // The 31st of June is no day, though JavaScript makes one of it.
  return moment.toISOString().startsWith(`${found[1]}T`) ? `${found[1]}T${found[2]}Z` : null;
}
