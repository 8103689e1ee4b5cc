/** A change of the monthly cost, from millionths of a US dollar: "+120.00 USD", "No change". */
export function formatMonthlyCost(micros: number | null): string {
  if (micros === null) return "Not known: a machine type has no price";
  if (micros === 0) return "No change";
  return `${micros > 0 ? "+" : "−"}${formatDollars(Math.abs(micros))}`;
}

/** An amount of not less than nothing, in millionths of a US dollar. */
export function formatDollars(micros: number): string {
  const amount = (micros / 1_000_000).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return `${amount} USD`;
}

/** What was spent, or given back; less than a cent to the micro-dollar, so that parts can be added up. */
export function formatSpent(micros: number): string {
  const amount = Math.abs(micros);
  const digits = amount > 0 && amount < 10_000 ? 6 : 2;
  const text = (amount / 1_000_000).toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `${micros < 0 ? "−" : ""}${text} USD`;
}
