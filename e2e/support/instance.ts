/** A private installation of the whole product, in a folder of its own, started and removed through the launcher. */

import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const CHECKOUT = resolve(import.meta.dirname, "../..");
export const PYTHON = join(CHECKOUT, ".venv/bin/python");
const VARIABLE = "RINGMASTER_E2E_INSTANCE";

export type Instance = {
  runDir: string;
  url: string;
  email: string;
  password: string;
  token: string;
};

/** The installation that global-setup.ts started. */
export function instance(): Instance {
  const text = process.env[VARIABLE];
  if (!text) throw new Error("no installation: tests run through `npx playwright test` only");
  return JSON.parse(text) as Instance;
}

/** Tells the workers which installation they are to test. */
export function publish(started: Instance): void {
  process.env[VARIABLE] = JSON.stringify(started);
}

/** Starts one, with these variables besides its own. On failure nothing is left running. */
export async function startInstance(variables: Record<string, string> = {}): Promise<Instance> {
  // Short: unix sockets go into it.
  const runDir = mkdtempSync(join(tmpdir(), "rm-e2e-"));
  try {
    await launcher(runDir, "start", variables);
  } catch (error) {
    await launcher(runDir, "clean");
    throw error;
  }
  const credentials = JSON.parse(readFileSync(join(runDir, "secrets/credentials.json"), "utf8"));
  const ports = JSON.parse(readFileSync(join(runDir, "ports.json"), "utf8"));
  return {
    runDir,
    url: `http://127.0.0.1:${ports.console}`,
    email: credentials.email,
    password: credentials.password,
    token: credentials.api_token,
  };
}

/** Stops it and removes its folder. */
export async function removeInstance(runDir: string): Promise<void> {
  await launcher(runDir, "clean");
}

async function launcher(
  runDir: string,
  verb: "start" | "clean",
  variables: Record<string, string> = {},
): Promise<void> {
  const log = `${runDir}.launcher.log`;
  const output = openSync(log, "a");
  // Its own stores and ports, whatever the surroundings use.
  const { DATABASE_URL: _, REDIS_URL: __, ...surroundings } = process.env;
  const child = spawn(PYTHON, ["-m", "infra.local", verb], {
    cwd: CHECKOUT,
    env: {
      // Several browsers are one person here.
      RINGMASTER_RATE_LIMIT_CALLER: "100000:100000",
      RINGMASTER_RATE_LIMIT_ORGANISATION: "100000:100000",
      ...surroundings,
      ...variables,
      RINGMASTER_RUN_DIR: runDir,
      RINGMASTER_CONSOLE_PORT: "0",
    },
    stdio: ["ignore", output, output],
  });
  const code = await new Promise<number | null>((done, failed) => {
    child.once("error", failed);
    child.once("exit", done);
  });
  closeSync(output);
  const said = readFileSync(log, "utf8");
  if (code !== 0) throw new Error(`launcher ${verb} ended with ${code}:\n${said}`);
  if (verb === "clean") rmSync(log);
}
