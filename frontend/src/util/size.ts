/** MiB as people say it: "512 MiB", "1.5 GiB". */
export function formatMib(mib: number): string {
  if (mib < 1024) return `${mib} MiB`;
  return `${(mib / 1024).toLocaleString("en", { maximumFractionDigits: 1 })} GiB`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Bytes in the largest unit that leaves a number from 1: "0 B", "1.5 GiB". */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toLocaleString("en", { maximumFractionDigits: 1 })} ${UNITS[power]}`;
}

/** A number with its noun: "1 node", "3 nodes". */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
