import type { AlertRule } from "../api";

export type AlertUnit = AlertRule["unit"];

type Scale = readonly [suffix: string, size: number][];

const TIMES: Scale = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
  ["ms", 0.001],
  ["µs", 0.000_001],
];
const SIZES: Scale = [
  ["TiB", 1024 ** 4],
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
  ["B", 1],
];
const ALSO: Record<string, string> = { days: "d", day: "d", m: "min", us: "µs", μs: "µs" };

/** A threshold as it is shown and typed: "10 ms", "128 MiB", "70 %". `readAmount` gives the same number back. */
export function amountText(value: number, unit: AlertUnit): string {
  switch (unit) {
    case "seconds":
      return scaled(value, TIMES, "s");
    case "bytes":
      return scaled(value, SIZES, "B");
    case "ratio":
      return `${plain(value * 100)} %`;
    case "per second":
      return `${plain(value)}/s`;
    default:
      return plain(value);
  }
}

/** What was typed, in the unit of the API; null: it is none. Times and sizes need their unit: 10 could be anything. */
export function readAmount(text: string, unit: AlertUnit): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-zµμ%/]*)\s*$/.exec(text);
  if (!found) return null;
  const number = Number(found[1]);
  const word = found[2] ?? "";
  switch (unit) {
    case "seconds":
      return times(number, sizeOf(word, TIMES));
    case "bytes":
      return times(number, sizeOf(word, SIZES));
    case "ratio":
      return word === "" || word === "%" ? tidy(number / 100) : null;
    case "per second":
      return word === "" || word === "/s" ? number : null;
    default:
      return word === "" ? number : null;
  }
}

/** Why this cannot be a rule's threshold; undefined: it can. */
export function againstThreshold(text: string, rule: Pick<AlertRule, "unit" | "threshold_facts">): string | undefined {
  const facts = rule.threshold_facts;
  if (facts === null) return "This rule has no threshold.";
  const value = readAmount(text, rule.unit);
  if (value === null) return `Write it like ${amountText(facts.default, rule.unit)}.`;
  if (value >= facts.least && value <= facts.most) return undefined;
  return `From ${amountText(facts.least, rule.unit)} to ${amountText(facts.most, rule.unit)}.`;
}

const LONGEST_SECONDS = 86_400;

/** Why a rule cannot wait for so long; undefined: it can. */
export function againstDuration(text: string): string | undefined {
  const seconds = readAmount(text, "seconds");
  if (seconds === null) return "Write it like 5 min.";
  if (!Number.isInteger(seconds)) return "Whole seconds.";
  return seconds <= LONGEST_SECONDS ? undefined : "A day at most.";
}

/** How long something must have lasted: "5 min", "at once". */
export function durationText(seconds: number): string {
  return seconds === 0 ? "at once" : amountText(seconds, "seconds");
}

function scaled(value: number, scale: Scale, zero: string): string {
  if (value === 0) return `0 ${zero}`;
  // The largest unit in which it is short to say; 90 s is not 0.0625 days' worth of reading.
  const [suffix, size] =
    scale.find(([, each]) => value >= each && Number.isInteger(tidy((value / each) * 10))) ??
    scale.find(([, each]) => value >= each) ??
    (scale.at(-1) as Scale[number]);
  return `${plain(value / size)} ${suffix}`;
}

function sizeOf(word: string, scale: Scale): number | undefined {
  const name = (ALSO[word] ?? word).toLowerCase();
  return scale.find(([suffix]) => suffix.toLowerCase() === name)?.[1];
}

function times(number: number, size: number | undefined): number | null {
  return size === undefined ? null : tidy(number * size);
}

function plain(value: number): string {
  return String(tidy(value));
}

/** Without what binary fractions leave behind: 0.07 * 100 is 7. */
function tidy(value: number): number {
  return Number(value.toPrecision(15));
}
