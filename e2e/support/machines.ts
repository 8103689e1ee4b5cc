/** The machines under the nodes, as somebody with the hands on them sees them. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { instance } from "./instance";
import { processesAbout } from "./remains";

/** The local provider names a machine after its node. */
export function machineOf(nodeId: string): string {
  return `rm-${nodeId.replaceAll("_", "-")}`;
}

/** The process of a node's engine; another number means that it was started anew. */
export function engineProcess(nodeId: string): number {
  const engines = processesAbout(machineOf(nodeId)).filter((line) => /^\d+ \S*\bjava /.test(line));
  if (engines.length !== 1) throw new Error(`${nodeId} has ${engines.length} engines:\n${engines.join("\n")}`);
  return Number(engines[0]?.split(" ")[0]);
}

/** A machine that burns down: every process ends at once, and its disks are gone with it. */
export function destroyMachine(nodeId: string): void {
  const folder = join(instance().runDir, "machines", machineOf(nodeId));
  // Once more for what was being started meanwhile.
  for (let found = processesAbout(folder); found.length > 0; found = processesAbout(folder)) {
    for (const line of found) kill(Number(line.split(" ")[0]));
  }
  rmSync(folder, { recursive: true, force: true });
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
