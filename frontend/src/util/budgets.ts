import type { Budget, BudgetCrossing } from "../api";

export type BudgetScope = Budget["scope"];

export const SCOPES: { value: BudgetScope; label: string; description: string }[] = [
  { value: "organisation", label: "The organisation", description: "Everything that it spends." },
  { value: "tag", label: "A tag", description: "Clusters that have the tag now." },
  { value: "cluster", label: "A cluster", description: "With its backups." },
];

/** What is typed into the form of a budget. */
export interface BudgetFields {
  name: string;
  scope: BudgetScope;
  clusterId: string | null;
  tagKey: string;
  tagValue: string;
  dollars: string;
  spentPercents: string;
  forecastPercents: string;
}

/** Whole dollars and cents as micro-dollars; undefined: this is no such amount. */
export function readDollars(text: string): number | undefined {
  const digits = text.trim().replaceAll(",", "");
  return /^\d{1,9}(\.\d{1,6})?$/.test(digits) ? Math.round(Number(digits) * 1_000_000) : undefined;
}

/** "50, 80 100 %" as numbers from 1 to 1000, rising, each once; undefined: something else is in it. */
export function readPercents(text: string): number[] | undefined {
  const words = text.split(/[\s,;%]+/).filter((word) => word !== "");
  const numbers = words.map(Number);
  if (numbers.some((number) => !Number.isInteger(number) || number < 1 || number > 1000)) return undefined;
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** What is still to be filled in or put right; undefined: nothing. */
export function missingInBudget(fields: BudgetFields): string | undefined {
  if (fields.name.trim() === "") return "Enter a name.";
  if (fields.scope === "cluster" && fields.clusterId === null) return "Choose a cluster.";
  if (fields.scope === "tag" && fields.tagKey.trim() === "") return "Enter the key of the tag.";
  if (!readDollars(fields.dollars)) return "Enter an amount above zero.";
  for (const text of [fields.spentPercents, fields.forecastPercents]) {
    const percents = readPercents(text);
    if (percents === undefined) return "Enter percents from 1 to 1000 with commas between them.";
    if (percents.length > 10) return "Enter ten percents at most.";
  }
  return undefined;
}

/** What a budget is of, for its row. */
export function scopeOf({ cluster, tag }: Pick<Budget, "cluster" | "tag">): string {
  if (cluster) return `Cluster ${cluster.name}${cluster.deleted ? " (deleted)" : ""}`;
  return tag ? `Tag ${tag.key}=${tag.value}` : "The organisation";
}

/** Whole percents of the budget; of what is not quite there one less. */
export function percentOf(micros: number, budget: number): number {
  return Math.floor((100 * micros) / budget);
}

/** How far the parts of a budget's bar reach, in percent of its width: what is largest fills it. */
export function barOf({ micros, spent, forecast }: Pick<Budget, "micros" | "spent" | "forecast">) {
  const whole = Math.max(micros, spent, forecast);
  const share = (part: number) => (100 * Math.max(0, part)) / whole;
  return { spent: share(spent), forecast: share(forecast), budget: share(micros) };
}

export type Standing = "fine" | "near" | "over";

/** How a budget stands by what was crossed and stands; a forecast alone never says that it is over. */
export function standingOf(crossings: readonly BudgetCrossing[]): Standing {
  const open = crossings.filter(({ cleared_at }) => cleared_at === null);
  if (open.some(({ measure, percent }) => measure === "spent" && percent >= 100)) return "over";
  return open.length > 0 ? "near" : "fine";
}

/** Of each measure the furthest threshold that was crossed and stands. */
export function furthest(crossings: readonly BudgetCrossing[]): BudgetCrossing[] {
  const open = crossings.filter(({ cleared_at }) => cleared_at === null);
  return (["spent", "forecast"] as const).flatMap((measure) => {
    const [first] = open.filter((each) => each.measure === measure).sort((a, b) => b.percent - a.percent);
    return first ? [first] : [];
  });
}
