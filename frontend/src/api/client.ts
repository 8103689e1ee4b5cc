import type { CreateClientConfig } from "./__generated__/client.gen";
import { toApiError } from "./errors";

const ORGANISATION = "ringmaster.organisation";

let csrfToken = "";

/** Learnt from get_session; every write of the session must carry it. */
export function rememberCsrfToken(token: string): void {
  csrfToken = token;
}

/** The organisation this browser last chose; null: the server's default. */
export function chosenOrganisation(): string | null {
  return localStorage.getItem(ORGANISATION);
}

export function rememberOrganisation(id: string | null): void {
  if (id === null) localStorage.removeItem(ORGANISATION);
  else localStorage.setItem(ORGANISATION, id);
}

/** The headers every request to the control plane carries, whoever sends it. */
export function sessionHeaders(method: string): Record<string, string> {
  const headers: Record<string, string> = {};
  const organisation = chosenOrganisation();
  if (organisation) headers["Ringmaster-Organisation"] = organisation;
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken;
  return headers;
}

// Who is told to wait longer than this is shown the error instead.
const PATIENCE_SECONDS = 5;
const TRIES = 4;

/** How long to wait before the request is sent again because there were too many; undefined: it is not to be. */
export function pauseMs(response: Response, body: unknown): number | undefined {
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  if (response.status !== 429 || !(seconds <= PATIENCE_SECONDS)) return undefined;
  // Other refusals for being too many (sign-in, statements) are for people to know.
  return toApiError(body, response).code === "rate_limited" ? seconds * 1000 : undefined;
}

/** One request with the session; throws ApiError. Sent again where there were too many and it is told to wait a little. */
export async function send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  for (let tries = 1; ; tries += 1) {
    const response = await sendOnce(request.clone());
    if (response.ok) return response;
    const body = await response.text();
    const pause = tries < TRIES ? pauseMs(response, body) : undefined;
    if (pause === undefined) throw toApiError(body, response);
    await new Promise((resolve) => setTimeout(resolve, pause));
    request.signal.throwIfAborted();
  }
}

async function sendOnce(request: Request): Promise<Response> {
  for (const [name, value] of Object.entries(sessionHeaders(request.method))) request.headers.set(name, value);
  try {
    return await fetch(request);
  } catch (problem) {
    // An aborted request is nobody's error: the query that asked has gone.
    if (request.signal.aborted) throw problem;
    throw toApiError(undefined, undefined);
  }
}

/** Called by the generated client when it is made. */
export const createClientConfig: CreateClientConfig = (config) => ({
  ...config,
  // The description names no server and the console is served by the API itself.
  baseUrl: "",
  fetch: send,
  throwOnError: true,
});

/** One request outside the generated client: sign-in is not part of the API's description. */
export async function sendJson(method: string, path: string, body?: unknown): Promise<Response> {
  return await send(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
}
