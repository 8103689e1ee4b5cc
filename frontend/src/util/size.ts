/** MiB as people say it: "512 MiB", "1.5 GiB". */
export function formatMib(mib: number): string {
  if (mib < 1024) return `${mib} MiB`;
  return `${(mib / 1024).toLocaleString("en", { maximumFractionDigits: 1 })} GiB`;
}

/** A number with its noun: "1 node", "3 nodes". */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
