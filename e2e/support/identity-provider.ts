/** A real OpenID Connect provider on loopback (e2e/oidc), and the installation that knows it. */

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "@playwright/test";
import { CHECKOUT, instance, PYTHON } from "./instance";

export type Claims = { email: string; email_verified: boolean; name?: string; groups?: string[] };
export type Provider = { people: (people: Record<string, Claims>) => void; stop: () => void };

const SECRET = "a client secret of the browser's tests";

/** Starts one and lets people of corp.example sign in through it. `stop` takes it away again. */
export async function startProvider(name: string): Promise<Provider> {
  const folder = mkdtempSync(join(tmpdir(), "rm-oidc-"));
  const file = join(folder, "people.json");
  const secret = join(folder, "secret");
  writeFileSync(file, "{}");
  writeFileSync(secret, SECRET);
  const child = spawn(process.execPath, ["provider.mjs", "ringmaster", SECRET, file], {
    cwd: join(CHECKOUT, "e2e/oidc"),
    stdio: ["pipe", "pipe", "ignore"],
  });
  const issuer = await new Promise<string>((found, failed) => {
    createInterface({ input: child.stdout }).once("line", found);
    child.once("exit", (code) => failed(new Error(`the provider ended with ${code}`)));
  });
  manage(
    ...["identity_provider", "add", "--name", name, "--issuer", issuer, "--client-id", "ringmaster"],
    ...["--client-secret-file", secret, "--email-domains", "corp.example"],
  );
  return {
    people: (people) => writeFileSync(file, JSON.stringify(people)),
    stop: () => {
      manage("identity_provider", "remove", name);
      child.kill();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Fills in the form of the provider's page. */
export async function signInThere(page: Page, who: string): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(who);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
}

function manage(...command: string[]): void {
  execFileSync(PYTHON, [join(CHECKOUT, "e2e/support/manage.py"), instance().runDir, ...command], { cwd: CHECKOUT });
}
