import {
  type Query,
  type QueryClient,
  type UseQueryOptions,
  type UseQueryResult,
  useQuery,
} from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { streamEvents } from "./__generated__/sdk.gen";
import { queryClient, watchForEndOfSession } from "./query-client";

// The stream says only what changed, by id; what it is now is asked for with the queries that are on the screen.

const RECONNECT_MS = 2000;
const POLL_MS = 2000;
const SLOW_POLL_MS = 15_000;
// A step per node and second is common; one round of questions per this many ms is enough for the eye.
const GATHER_MS = 200;

export interface Change {
  /** Ids of changed operations and clusters. */
  ids: ReadonlySet<string>;
}

const CLUSTER_QUERIES = new Set([
  "getCluster",
  "listClusterNodes",
  "getClusterNode",
  "getNodeTuning",
  "getClusterNetwork",
  "listNetworkConnections",
  "getConnection",
  "listClusterFindings",
  "getAllowlist",
  "listRoles",
  "getClusterBackups",
  "listBackupSchedules",
  "getRepairs",
  "listRepairTables",
  "listRepairRuns",
  "getRepairMap",
  "getDiagnostics",
  "getDiagnosis",
  "listClusterFiringAlerts",
  "listClusterAlerts",
  "listAlertSilences",
  "listAdvice",
  "listTableChanges",
  "getTableSchema",
]);
const LISTS = new Set([
  "listClusters",
  "listOperations",
  "getCatalog",
  "listCloudAccounts",
  "getCloudAccount",
  "listBackups",
  "listClusterBackups",
  "listBackupLocations",
  "listDeletionRequests",
]);

/** Whether what a query shows may have changed. Exported for its test. */
export function isTouched(queryKey: readonly unknown[], change: Change): boolean {
  const key = queryKey[0] as { _id?: string; path?: Record<string, string> } | undefined;
  if (!key?._id) return false;
  if (LISTS.has(key._id)) return true;
  if (CLUSTER_QUERIES.has(key._id)) return change.ids.has(key.path?.cluster_id ?? "");
  if (key._id === "getOperation") return change.ids.has(key.path?.operation_id ?? "");
  return false;
}

let isLive = true;
const listeners = new Set<() => void>();

function setLive(live: boolean): void {
  if (live === isLive) return;
  isLive = live;
  for (const listener of listeners) listener();
}

/** False while the event stream is down and the console has to ask by itself. */
export function useIsLive(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isLive,
  );
}

/** Keeps one event stream open while the calling component is mounted and may listen. */
export function useEvents(mayListen: boolean): void {
  useEffect(() => {
    if (!mayListen) return;
    const stop = new AbortController();
    void follow(stop.signal);
    return () => stop.abort();
  }, [mayListen]);
}

// Read with fetch, not with the browser's EventSource, which cannot send the header that names the organisation.
async function follow(signal: AbortSignal): Promise<void> {
  const gathered = new Gathered();
  let wasDown = false;
  while (!signal.aborted) {
    try {
      const { stream } = await streamEvents({
        signal,
        sseMaxRetryAttempts: 1,
        onSseError: (error) => watchForEndOfSession(error),
        onSseEvent: ({ event, data }) => {
          setLive(true);
          // Also the stream's first frame, which is no event: whatever happened while nobody listened.
          if (event === "reset" || wasDown) gathered.everything();
          else if (event) gathered.add(data as unknown as { id: string; cluster_id?: string | null });
          wasDown = false;
        },
      });
      // Events are handled above as they come; this waits for the end.
      for await (const _ of stream);
    } catch (error) {
      watchForEndOfSession(error);
    }
    if (signal.aborted) break;
    wasDown = true;
    setLive(false);
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
  setLive(true);
}

/** What changed since the last round of questions. */
class Gathered {
  #ids = new Set<string>();
  #everything = false;
  #isAsking = false;

  add({ id, cluster_id }: { id: string; cluster_id?: string | null }): void {
    this.#ids.add(id);
    if (cluster_id) this.#ids.add(cluster_id);
    void this.#ask();
  }

  everything(): void {
    this.#everything = true;
    void this.#ask();
  }

  // One round at a time: a round that cancelled the one before would, in a storm of events, never let any finish.
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#everything || this.#ids.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const change: Change = { ids: this.#ids };
      const all = this.#everything;
      this.#ids = new Set();
      this.#everything = false;
      await askAgain(queryClient, ({ queryKey }) => all || isTouched(queryKey, change));
    }
    this.#isAsking = false;
  }
}

/** Has the queries on the screen asked again, and the others when they come there. Exported for its test. */
export async function askAgain(client: QueryClient, isMeant: (query: Query) => boolean): Promise<void> {
  // A first answer that is on its way may be older than the change, is not broken off, and would count as fresh.
  const first = client
    .getQueryCache()
    .findAll({ fetchStatus: "fetching", predicate: isMeant })
    .filter(({ state }) => state.data === undefined);
  await client.invalidateQueries({ predicate: isMeant });
  if (first.length === 0) return;
  await Promise.allSettled(first.map(({ promise }) => promise));
  await client.invalidateQueries({ predicate: (query) => first.includes(query) });
}

/** A query that asks by itself while the stream is down: often when something is going on, else now and then. */
export function useLiveQuery<Data, Failure, Key extends readonly unknown[]>(
  options: UseQueryOptions<Data, Failure, Data, Key>,
  isGoingOn: (data: Data) => boolean,
): UseQueryResult<Data, Failure> {
  const live = useIsLive();
  return useQuery({
    ...options,
    refetchInterval: (query) => {
      const data = query.state.data as Data | undefined;
      if (live) return false;
      return data !== undefined && isGoingOn(data) ? POLL_MS : SLOW_POLL_MS;
    },
  });
}
