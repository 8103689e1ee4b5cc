/** Runs the connection snippets of the console exactly as shown, as a person would after unpacking the bundle. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { CHECKOUT, PYTHON } from "./instance";

export type Snippet = { id: string; install: string; code: string };

const E2E = join(CHECKOUT, "e2e");

type Runner = {
  file: string;
  command: (folder: string) => [string, ...string[]];
  /** Puts the driver where the snippet's "install" line would. Versions are pinned here, not fetched as "latest". */
  prepare?: (folder: string, snippet: Snippet) => Promise<void>;
  stdin?: (password: string) => string;
};

const RUNNERS: Record<string, Runner> = {
  python: { file: "connect.py", command: () => [PYTHON, "connect.py"] },
  cqlsh: {
    file: "connect.sh",
    command: () => ["bash", "connect.sh"],
    // It asks for the password, then reads statements.
    stdin: (password) => `${password}\nSELECT data_center, rack, release_version FROM system.local;\n`,
  },
  node: {
    file: "connect.mjs",
    command: () => [process.execPath, "connect.mjs"],
    prepare: async (folder) => symlinkSync(join(E2E, "node_modules"), join(folder, "node_modules")),
  },
  go: {
    file: "main.go",
    command: () => ["go", "run", "."],
    prepare: async (folder) => cpSync(join(E2E, "snippets/go"), folder, { recursive: true }),
  },
  java: {
    file: "Connect.java",
    command: (folder) => ["java", "-cp", join(folder, "driver", "*"), "Connect.java"],
    prepare: async (folder, { install }) => symlinkSync(await javaDriver(install), join(folder, "driver")),
  },
  // Spark itself is not here (400 MB): the script is parsed, and so is the Python it feeds to pyspark.
  spark: {
    file: "spark.sh",
    command: () => ["bash", "-c", `bash -n spark.sh && ${SPARK_PROGRAM} | '${PYTHON}' -c '${COMPILE}'`],
  },
};
const SPARK_PROGRAM = "sed -n \"/<<'PYTHON'$/,/^PYTHON$/p\" spark.sh | sed '1d;$d'";
const COMPILE = 'import sys; compile(sys.stdin.read(), "spark.sh", "exec"); print("parsed only")';

/** Runs one snippet in a folder with the unpacked bundle and returns what it printed. Throws when it fails. */
export async function runSnippet(snippet: Snippet, bundle: string, password: string): Promise<string> {
  const runner = RUNNERS[snippet.id];
  if (!runner) throw new Error(`the snippet ${snippet.id} is new: say here how to run it`);
  const folder = mkdtempSync(join(tmpdir(), `rm-snippet-${snippet.id}-`));
  try {
    await run([PYTHON, "-m", "zipfile", "-e", bundle, folder], folder);
    writeFileSync(join(folder, runner.file), snippet.code);
    await runner.prepare?.(folder, snippet);
    return await run(runner.command(folder), folder, {
      stdin: runner.stdin?.(password) ?? "",
      variables: { CQL_PASSWORD: password },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder with the Java driver that the snippet names and all it needs, fetched once. */
async function javaDriver(dependency: string): Promise<string> {
  const digest = createHash("sha256").update(dependency).digest("hex").slice(0, 12);
  const kept = join(CHECKOUT, ".cache/e2e", `java-${digest}`);
  if (existsSync(kept)) return kept;
  const folder = `${kept}.new`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "pom.xml"),
    `<project xmlns="http://maven.apache.org/POM/4.0.0">
       <modelVersion>4.0.0</modelVersion>
       <groupId>dev.ringmaster</groupId><artifactId>snippet</artifactId><version>1</version>
       <dependencies>${dependency}</dependencies>
     </project>`,
  );
  const goal = ["dependency:copy-dependencies", "-DoutputDirectory=.", "-DincludeScope=runtime"];
  await run(["mvn", "--quiet", "--batch-mode", ...goal], folder);
  renameSync(folder, kept);
  return kept;
}

function run(
  [program, ...args]: [string, ...string[]],
  cwd: string,
  { stdin = "", variables = {} }: { stdin?: string; variables?: Record<string, string> } = {},
): Promise<string> {
  const path = `${join(CHECKOUT, ".venv/bin")}${delimiter}${process.env.PATH}`;
  return new Promise((done, failed) => {
    const child = execFile(
      program,
      args,
      { cwd, env: { ...process.env, PATH: path, ...variables }, timeout: 90_000 },
      (error, stdout, stderr) => (error ? failed(new Error(`${program}: ${error.message}\n${stderr}`)) : done(stdout)),
    );
    child.stdin?.end(stdin);
  });
}
