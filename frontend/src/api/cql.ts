import { cancelCql, getCqlStatement, nextCqlPage, readCqlSchema, runCql } from "./__generated__/sdk.gen";
import type { CqlStatement, CqlStatementDetail, RunCqlData } from "./__generated__/types.gen";
import { ApiError } from "./errors";

/** A statement as it is to be run. */
export type CqlWish = RunCqlData["body"];

// Most statements take some tens of milliseconds: they are asked for often at first, and then less so.
const FIRST_MS = 100;
const LATER_MS = 400;
const FIRST_LOOKS = 15;
// Each minute's limit goes on as the minute does.
const PAUSE_MS = 5000;

export type Begin = () => Promise<CqlStatement>;

export const beginCql =
  (id: string, body: CqlWish): Begin =>
  async () =>
    (await runCql({ path: { cluster_id: id }, body, throwOnError: true })).data;

export const beginNextPage =
  (id: string, statementId: string): Begin =>
  async () =>
    (await nextCqlPage({ path: { cluster_id: id, statement_id: statementId }, body: {}, throwOnError: true })).data;

/** As `begin`, and again for as long as the organisation has asked for too much within a minute. */
export const beginPatiently =
  (begin: Begin, signal: AbortSignal): Begin =>
  async () => {
    for (;;) {
      signal.throwIfAborted();
      try {
        return await begin();
      } catch (problem) {
        if (!(problem instanceof ApiError) || problem.code !== "too_many_statements") throw problem;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  };

export const beginSchema =
  (id: string, sessionId: string): Begin =>
  async () =>
    (await readCqlSchema({ path: { cluster_id: id }, body: { session_id: sessionId }, throwOnError: true })).data;

export const cancelStatement = (id: string, statementId: string) =>
  cancelCql({ path: { cluster_id: id, statement_id: statementId }, throwOnError: true });

/** Begins a statement and waits until it has ended, whichever way. `onBegun` hears its id. */
export async function untilEnded(
  id: string,
  begin: Begin,
  { onBegun, signal }: { onBegun?: (statementId: string) => void; signal?: AbortSignal } = {},
): Promise<CqlStatementDetail> {
  const begun = await begin();
  onBegun?.(begun.id);
  for (let look = 0; ; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, look < FIRST_LOOKS ? FIRST_MS : LATER_MS));
    const path = { cluster_id: id, statement_id: begun.id };
    const { data } = await getCqlStatement({ path, signal, throwOnError: true });
    if (data.state !== "waiting" && data.state !== "running") return data;
  }
}
