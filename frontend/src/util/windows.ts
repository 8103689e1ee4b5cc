import type { Weekday } from "../api";

/** In the order of the week. */
export const WEEKDAYS: Weekday[] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/** All time zones that this browser knows, and the one that is chosen already. */
export function timeZones(chosen: string): string[] {
  return Array.from(new Set([chosen, "UTC", ...Intl.supportedValuesOf("timeZone")]));
}

/** The words between commas; whether they are dates the API decides. */
export function parseDates(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
