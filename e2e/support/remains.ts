/** What is left on this machine: processes, listening ports and folders, as the kernel knows them. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type Remains = { processes: string[]; ports: string[]; folders: string[] };

export const NOTHING: Remains = { processes: [], ports: [], folders: [] };

/** Processes that name `word` in their command line, environment or working folder, as "pid command". */
export function processesAbout(word: string): string[] {
  const found: string[] = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    if (Number(pid) === process.pid || Number(pid) === process.ppid) continue;
    const command = read(pid, "cmdline");
    // Our own browser and test runner carry the installation's description in their environment.
    const environment = read(pid, "environ")
      .split("\0")
      .filter((entry) => !entry.startsWith("RINGMASTER_E2E_INSTANCE="));
    if (command.includes(word) || environment.some((entry) => entry.includes(word))) {
      found.push(`${pid} ${command.replaceAll("\0", " ").slice(0, 200)}`);
    }
  }
  return found;
}

/** Listening TCP sockets on any of these IPv4 addresses, as "address:port". */
export function portsOpenOn(addresses: string[]): string[] {
  const listening = "0A";
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .filter(existsSync)
    .flatMap((table) => readFileSync(table, "utf8").trim().split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === listening)
    .map((columns) => endpoint(columns[1] ?? ""))
    .filter((open) => addresses.some((address) => open.startsWith(`${address}:`)));
}

/** Folders of machines in an installation. */
export function machineFolders(runDir: string): string[] {
  const machines = join(runDir, "machines");
  return existsSync(machines)
    ? readdirSync(machines, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name)
    : [];
}

/** The kernel writes an IPv4 address as hexadecimal, lowest byte first, also at the end of a mapped IPv6 address. */
function endpoint(text: string): string {
  const [address = "", port = ""] = text.split(":");
  const bytes = address.slice(-8).match(/../g) ?? [];
  return `${bytes
    .reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join(".")}:${Number.parseInt(port, 16)}`;
}

/** A file of a process; empty when the process has ended meanwhile. */
function read(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}
