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

async function send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  for (const [name, value] of Object.entries(sessionHeaders(request.method))) request.headers.set(name, value);
  let response: Response;
  try {
    response = await fetch(request);
  } catch (problem) {
    // An aborted request is nobody's error: the query that asked has gone.
    if (request.signal.aborted) throw problem;
    throw toApiError(undefined, undefined);
  }
  if (!response.ok) throw toApiError(await response.text(), response);
  return response;
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
export async function sendJson(method: string, path: string, body?: unknown): Promise<void> {
  await send(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
}
