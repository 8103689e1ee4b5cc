/** What a form edits in words, by its labels. */
export type Words = Record<string, string>;

/** Where two states of a thing differ, in the order of the labels. Nothing at all is said as such. */
export function differing(before: Words, now: Words): { label: string; before: string; now: string }[] {
  return Object.keys(now)
    .filter((label) => before[label] !== now[label])
    .map((label) => ({ label, before: before[label] || "empty", now: now[label] || "empty" }));
}
