import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { getSessionOptions } from "./__generated__/@tanstack/react-query.gen";
import { getSession } from "./__generated__/sdk.gen";
import type { Permission, Session } from "./__generated__/types.gen";
import { rememberCsrfToken, rememberOrganisation, sendJson } from "./client";
import { ApiError, SECOND_STEP_NEEDED } from "./errors";
import { queryClient } from "./query-client";

async function fetchSession(signal?: AbortSignal): Promise<Session> {
  try {
    const { data } = await getSession({ signal, throwOnError: true });
    rememberCsrfToken(data.csrf_token);
    return data;
  } catch (problem) {
    if (problem instanceof ApiError && problem.code === "organisation_not_found") {
      // The organisation this browser remembers is gone or was somebody else's: fall back to the default.
      rememberOrganisation(null);
      return fetchSession(signal);
    }
    throw problem;
  }
}

export const sessionQuery = queryOptions({
  queryKey: getSessionOptions().queryKey,
  queryFn: ({ signal }) => fetchSession(signal),
  staleTime: 5 * 60 * 1000,
});

const ONE_ANSWER_MS = 5000;
let answer: Promise<boolean> | undefined;

/**
 * Whether a refused request was only late: one that was on its way while the session got another key, as it does when a
 * second factor is set up or removed. All that are refused within some seconds have one answer; is it yes, everything is
 * asked for anew.
 */
export function isStillSignedIn(): Promise<boolean> {
  if (answer === undefined) {
    answer = askAgain();
    setTimeout(() => {
      answer = undefined;
    }, ONE_ANSWER_MS);
  }
  return answer;
}

async function askAgain(): Promise<boolean> {
  const session = await fetchSession().catch(() => null);
  if (!session?.authenticated) return false;
  queryClient.setQueryData(sessionQuery.queryKey, session);
  void queryClient.invalidateQueries();
  return true;
}

/** Who is signed in. Only used below the console layout, whose loader has fetched it. */
export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data;
}

export function useMay(permission: Permission): boolean {
  return useSession().permissions.includes(permission);
}

/** Whether that was all; false: `sendSecondStep` comes next. */
export async function signIn(credentials: { email: string; password: string }): Promise<boolean> {
  // The CSRF token belongs to the page's visit, not to the sign-in: it may not have been asked for yet.
  await queryClient.ensureQueryData(sessionQuery);
  try {
    await sendJson("POST", "/_allauth/browser/v1/auth/login", credentials);
  } catch (problem) {
    if (problem instanceof ApiError && problem.code === SECOND_STEP_NEEDED) return false;
    // 409: this browser is signed in already, in another tab perhaps.
    if (!(problem instanceof ApiError && problem.status === 409)) throw problem;
  }
  await begin();
  return true;
}

/** A code of the person's app, or a recovery code. */
export async function sendSecondStep(code: string): Promise<void> {
  await sendJson("POST", "/_allauth/browser/v1/auth/2fa/authenticate", { code });
  await begin();
}

/** For what is asked of people who signed in a while ago. */
export async function sendPasswordAgain(password: string): Promise<void> {
  await sendJson("POST", "/_allauth/browser/v1/auth/reauthenticate", { password });
}

async function begin(): Promise<void> {
  queryClient.clear();
  await queryClient.fetchQuery(sessionQuery);
}

/** Goes to the page of an identity provider, which sends the browser back to a page of the console. */
export async function signInThrough(provider: { id: string }, returnTo: string): Promise<void> {
  await queryClient.ensureQueryData(sessionQuery);
  const answer = await sendJson("POST", `/_oidc/${encodeURIComponent(provider.id)}/start`, { return_to: returnTo });
  const { url } = (await answer.json()) as { url: string };
  window.location.assign(url);
}

export async function signOut(): Promise<void> {
  try {
    await sendJson("DELETE", "/_allauth/browser/v1/auth/session");
  } catch (problem) {
    // allauth answers 401 to say that nobody is signed in any more, which is what was asked for.
    if (!(problem instanceof ApiError && problem.status === 401)) throw problem;
  }
  rememberOrganisation(null);
  queryClient.clear();
}

/** Everything cached belongs to the organisation before. */
export async function switchOrganisation(id: string): Promise<void> {
  rememberOrganisation(id);
  queryClient.clear();
  await queryClient.fetchQuery(sessionQuery);
}
