/** Ringmaster with an emulated Google Cloud behind it. */

import { type ChildProcess, spawn } from "node:child_process";
import { CHECKOUT, type Instance, PYTHON, removeInstance, startInstance } from "./instance";

export const PROJECT = "test-project";

export interface Google {
  ringmaster: Instance;
  /** Who may be acted as, and which permissions are lacking. */
  setAccess: (access: { impersonable: string[]; denied: string[] }) => Promise<void>;
  end: () => Promise<void>;
}

export async function startWithGoogle(): Promise<Google> {
  const emulator = spawn(PYTHON, ["-m", "provisioner.providers.gcp_emulator", "--project", PROJECT], {
    cwd: CHECKOUT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = await firstLine(emulator);
    const ringmaster = await startInstance({ RINGMASTER_GCP_PROJECT: PROJECT, RINGMASTER_GCP_ENDPOINT: url });
    return {
      ringmaster,
      setAccess: async (access) => {
        const answer = await fetch(`${url}/emulator/access`, { method: "PUT", body: JSON.stringify(access) });
        if (!answer.ok) throw new Error(`the emulator answers ${answer.status}: ${await answer.text()}`);
      },
      end: async () => {
        await removeInstance(ringmaster.runDir);
        emulator.kill();
      },
    };
  } catch (error) {
    emulator.kill();
    throw error;
  }
}

async function firstLine(program: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    program.once("exit", (code) => reject(new Error(`the emulator ended with ${code}`)));
    program.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("\n")) resolve(text.split("\n")[0] ?? "");
    });
  });
}
