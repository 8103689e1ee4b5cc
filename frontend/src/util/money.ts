/** A change of the monthly cost, from millionths of the currency unit: "+120.00 USD", "no change". */
export function formatMonthlyCost(micros: number): string {
  if (micros === 0) return "No change known";
  const amount = (Math.abs(micros) / 1_000_000).toLocaleString("en", {
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  });
  return `${micros > 0 ? "+" : "−"}${amount} USD`;
}
