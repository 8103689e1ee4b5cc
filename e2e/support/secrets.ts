/** Searches all that an installation wrote for every secret it ever had: e2e/secrets_written.py. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { CHECKOUT, PYTHON } from "./instance";

type Written = { found: boolean; said: string };

/** Notes the secrets from now on; `written` ends that and says where they were found. */
export function watchSecrets(runDir: string): { written: () => Promise<Written> } {
  const file = `${runDir}.secrets.json`;
  const command = (verb: string) => ["-m", "e2e.secrets_written", verb, runDir, file];
  const watcher = spawn(PYTHON, command("watch"), { cwd: CHECKOUT, stdio: ["ignore", "inherit", "inherit"] });
  return {
    written: async () => {
      if (watcher.exitCode === null) {
        watcher.kill("SIGTERM");
        await once(watcher, "exit");
      }
      const ended = watcher.exitCode;
      const check = spawnSync(PYTHON, command("check"), { cwd: CHECKOUT, encoding: "utf8" });
      rmSync(file, { force: true });
      const said = `${check.stdout}${check.stderr}`;
      return { found: check.status !== 0 || ended !== 0, said };
    },
  };
}
