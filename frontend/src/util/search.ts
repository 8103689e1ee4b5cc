// Reading what stands in an address: whatever a person may have typed there, nothing of it may break a page.

export function readText(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** One of the words that are known, or nothing. */
export function readWord<Word extends string>(value: unknown, words: readonly Word[]): Word | undefined {
  return words.find((word) => word === value);
}

/** Cursors of the pages before the shown one's end, oldest first: cursors only lead forwards, so the way back is kept. */
export function readCursors(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const cursors = value.filter((each): each is string => typeof each === "string" && each !== "");
  return cursors.length > 0 ? cursors : undefined;
}

export function lastCursor(cursors: string[] | undefined): string | undefined {
  return cursors?.at(-1);
}

/** Where to go after sign-in: a path of the console, never another site. */
export function returnPath(wanted: string | undefined): string {
  if (!wanted?.startsWith("/") || wanted.startsWith("//") || wanted.includes("\\")) return "/clusters";
  return wanted.startsWith("/sign-in") ? "/clusters" : wanted;
}
