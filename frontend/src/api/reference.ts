import { queryOptions } from "@tanstack/react-query";
import type { Description } from "../util/reference";
import { send, sessionHeaders } from "./client";
import commands from "./commands.json";
import { ApiError } from "./errors";

/** The API's own description, as this installation serves it. */
export const descriptionQuery = queryOptions({
  queryKey: ["openapi.json"],
  queryFn: async ({ signal }): Promise<Description> => (await send("/api/v1/openapi.json", { signal })).json(),
  // It changes with the version of the control plane only.
  staleTime: Number.POSITIVE_INFINITY,
});

/** The words of the command line, by operation id. */
export const commandOf = (id: string): string => (commands as Record<string, string>)[id] ?? id;

export interface Tried {
  status: number;
  seconds: number;
  headers: [name: string, value: string][];
  body: string;
}

// Of the others none helps anybody who tries.
const SHOWN = ["content-type", "etag", "ratelimit", "ratelimit-policy", "retry-after", "x-request-id"];
const LONGEST = 200_000;

/** Sends it as it is, with the session or, when one is given, with a token, and takes every answer as it comes. */
export async function tryOperation(
  method: string,
  address: string,
  { headers, body, token }: { headers: Record<string, string>; body?: string; token?: string },
): Promise<Tried> {
  const began = performance.now();
  const who: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : sessionHeaders(method);
  const all: Record<string, string> = { ...headers, ...who };
  if (body !== undefined) all["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(address, {
      method,
      headers: all,
      body: body ?? null,
      credentials: token ? "omit" : "same-origin",
    });
  } catch {
    throw ApiError.unreachable();
  }
  const text = await response.text();
  return {
    status: response.status,
    seconds: (performance.now() - began) / 1000,
    headers: [...response.headers].filter(([name]) => SHOWN.includes(name) || name.startsWith("ringmaster-")),
    body: pretty(text).slice(0, LONGEST),
  };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
