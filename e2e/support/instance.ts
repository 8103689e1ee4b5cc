/** A private installation of the whole product, in a folder of its own, started and removed through the launcher. */

import { spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
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

/** Starts one and publishes it to the workers. On failure nothing is left running. */
export async function startInstance(): Promise<Instance> {
  // Short: unix sockets go into it.
  const runDir = mkdtempSync(join(tmpdir(), "rm-e2e-"));
  try {
    await launcher(runDir, "up", "--no-demo");
  } catch (error) {
    await launcher(runDir, "clean");
    throw error;
  }
  const credentials = JSON.parse(readFileSync(join(runDir, "secrets/credentials.json"), "utf8"));
  const ports = JSON.parse(readFileSync(join(runDir, "ports.json"), "utf8"));
  const started = {
    runDir,
    url: `http://127.0.0.1:${ports.console}`,
    email: credentials.email,
    password: credentials.password,
    token: credentials.api_token,
  };
  process.env[VARIABLE] = JSON.stringify(started);
  return started;
}

/** Stops it and removes its folder. */
export async function removeInstance(runDir: string): Promise<void> {
  await launcher(runDir, "clean");
}

async function launcher(runDir: string, ...verb: string[]): Promise<void> {
  const log = join(tmpdir(), `${runDir.split("/").at(-1)}.launcher.log`);
  const output = openSync(log, "a");
  const environment: NodeJS.ProcessEnv = { ...process.env, RINGMASTER_RUN_DIR: runDir };
  // Its own stores and a port of its own, whatever the surroundings use.
  delete environment.DATABASE_URL;
  delete environment.REDIS_URL;
  environment.RINGMASTER_PORT = verb[0] === "up" ? String(await freePort()) : "";
  const child = spawn(PYTHON, ["-m", "infra.local.launcher", ...verb], {
    cwd: CHECKOUT,
    env: environment,
    stdio: ["ignore", output, output],
  });
  const code = await new Promise<number | null>((done, failed) => {
    child.once("error", failed);
    child.once("exit", done);
  });
  if (code !== 0) throw new Error(`launcher ${verb.join(" ")} ended with ${code}:\n${readFileSync(log, "utf8")}`);
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address ? done(address.port) : failed(new Error("no port"))));
    });
  });
}
