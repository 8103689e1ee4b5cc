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
