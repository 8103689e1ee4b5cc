import { readFileSync } from "node:fs";
import { defineConfig } from "@hey-api/openapi-ts";

type Operation = { parameters?: { $ref?: string }[]; responses: Record<string, unknown> };

/**
 * Without what would make the types of answers untrue: dry runs, which the console has plans for and whose 204 would be
 * in the type of every answer, chosen fields, and what did not change.
 */
const LEFT_OUT = /\/(DryRun|Fields|IfNoneMatch)$/;

function described() {
  const document = JSON.parse(readFileSync("../backend/openapi.json", "utf8"));
  for (const methods of Object.values<Record<string, Operation>>(document.paths)) {
    for (const operation of Object.values(methods)) {
      const rehearsed = operation.parameters?.some((one) => one.$ref?.endsWith("/DryRun"));
      operation.parameters = operation.parameters?.filter((one) => !LEFT_OUT.test(one.$ref ?? ""));
      delete operation.responses["304"];
      if (rehearsed && Object.keys(operation.responses).some((status) => status !== "204" && status < "400")) {
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
