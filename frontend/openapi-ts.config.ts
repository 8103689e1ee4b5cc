import { readFileSync } from "node:fs";
import { defineConfig } from "@hey-api/openapi-ts";

type Operation = { parameters?: { $ref?: string }[]; responses: Record<string, unknown> };

/** Without dry runs, which the console has plans for: their 204 would be in the type of every answer. */
function described() {
  const document = JSON.parse(readFileSync("../backend/openapi.json", "utf8"));
  for (const methods of Object.values<Record<string, Operation>>(document.paths)) {
    for (const operation of Object.values(methods)) {
      const dryRun = operation.parameters?.findIndex((one) => one.$ref?.endsWith("/DryRun")) ?? -1;
      if (dryRun < 0) continue;
      operation.parameters?.splice(dryRun, 1);
      if (Object.keys(operation.responses).some((status) => status !== "204" && status < "400")) {
        delete operation.responses["204"];
      }
    }
  }
  return document;
}

export default defineConfig({
  input: described(),
  output: { path: "src/api/__generated__" },
  plugins: [
    "@hey-api/typescript",
    "@hey-api/sdk",
    { name: "@hey-api/client-fetch", runtimeConfigPath: "./src/api/client" },
    { name: "@tanstack/react-query", infiniteQueryOptions: false },
  ],
});
