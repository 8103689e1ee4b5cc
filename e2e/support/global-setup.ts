import { existsSync } from "node:fs";
import { publish, removeInstance, startInstance } from "./instance";
import { NOTHING, processesAbout, type Remains } from "./remains";
import { watchSecrets } from "./secrets";

/** Starts the product before the first test. What it returns runs after the last one, whatever happened between. */
export default async function globalSetup(): Promise<() => Promise<void>> {
  const began = Date.now();
  const started = await startInstance();
  publish(started);
  process.stdout.write(`Ringmaster runs at ${started.url} after ${((Date.now() - began) / 1000).toFixed(1)} s\n`);
  const secrets = watchSecrets(started.runDir);
  return async () => {
    const written = await secrets.written();
    await removeInstance(started.runDir);
    const left: Remains = {
      ...NOTHING,
      processes: processesAbout(started.runDir),
      folders: existsSync(started.runDir) ? [started.runDir] : [],
    };
    if (left.processes.length + left.folders.length > 0) {
      throw new Error(`left behind after the launcher cleaned up: ${JSON.stringify(left, null, 2)}`);
    }
    process.stdout.write(written.said);
    if (written.found) throw new Error("the product wrote secrets where they do not belong: see above");
  };
}
