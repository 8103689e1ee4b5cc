import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError, PASSWORD_NEEDED } from "./errors";

let onSignedOut: () => void | Promise<void> = () => undefined;
let onFactorNeeded: () => void = () => undefined;

/** The router says here where to go when the session has ended, as a refused request makes one think. */
export function whenSignedOut(go: () => void | Promise<void>): void {
  onSignedOut = go;
}

/** The router says here where to go when the organisation wants a second factor of this session. */
export function whenFactorNeeded(go: () => void): void {
  onFactorNeeded = go;
}

/** Every error of the API passes here once. */
export function watchForEndOfSession(error: unknown): void {
  if (!(error instanceof ApiError)) return;
  if (error.status === 401 && error.code !== PASSWORD_NEEDED) void onSignedOut();
  if (error.code === "second_factor_needed") onFactorNeeded();
}

const TRIES = 3;

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: watchForEndOfSession }),
  mutationCache: new MutationCache({ onError: watchForEndOfSession }),
  defaultOptions: {
    queries: {
      staleTime: 2000,
      // A clear refusal stays one; only silence and crashes are worth asking again.
      retry: (failures, error) =>
        failures < TRIES && error instanceof ApiError && (error.status === 0 || error.status >= 500),
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 4000),
    },
    mutations: { retry: false },
  },
});
