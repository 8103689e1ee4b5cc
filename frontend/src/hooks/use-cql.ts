import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import {
  type Begin,
  beginCql,
  beginNextPage,
  beginPatiently,
  type CqlStatementDetail,
  type CqlWish,
  cancelStatement,
  cqlHistoryQuery,
  queryClient,
  untilEnded,
} from "../api";
import { csvHeading, csvRows } from "../util/cql";
import { saveAs } from "../util/download";
import { toast } from "./use-toasts";

// What a file is made of at most; a browser holds it in memory.
const MOST_ROWS = 100_000;
const MOST_LETTERS = 50_000_000;
const FILE_PAGE = 1000;

/** Runs one statement after the other on a cluster, and keeps what the last one gave. */
export function useCqlRun(clusterId: string) {
  const running = useRef<string>(null);
  const [shown, setShown] = useState<CqlStatementDetail | null>(null);
  const run = useMutation({
    mutationFn: (begin: Begin) =>
      untilEnded(clusterId, begin, {
        onBegun: (id) => {
          running.current = id;
        },
      }),
    onSuccess: setShown,
    onSettled: () => {
      running.current = null;
      void queryClient.invalidateQueries({ queryKey: cqlHistoryQuery(clusterId).queryKey.slice(0, 1), exact: false });
    },
  });
  return {
    shown,
    isPending: run.isPending,
    error: run.error,
    run: (wish: CqlWish, onEnded?: (ended: CqlStatementDetail) => void) =>
      run.mutate(beginCql(clusterId, wish), { onSuccess: onEnded }),
    nextPage: () => shown && run.mutate(beginNextPage(clusterId, shown.id)),
    cancel: () => {
      if (running.current !== null) void cancelStatement(clusterId, running.current);
    },
  };
}

/** Makes a file of all rows of a statement: page by page, so that no more than a page is under way at a time. */
export function useCqlExport(clusterId: string) {
  const stop = useRef<AbortController>(null);
  const [rows, setRows] = useState<number | null>(null);
  const make = useMutation({
    mutationFn: async ({ shown, wish }: { shown: CqlStatementDetail; wish: CqlWish | null }) => {
      const { answer } = shown;
      if (answer === null) return;
      const control = new AbortController();
      stop.current = control;
      if (wish === null || (shown.page === 1 && !shown.more)) {
        save([csvHeading(answer.columns), csvRows(answer)]);
        return;
      }
      // From the first row on, whatever page is shown.
      let begin = beginCql(clusterId, { ...wish, page_size: FILE_PAGE, tracing: false });
      const parts: string[] = [];
      let [found, letters] = [0, 0];
      for (;;) {
        const page = await untilEnded(clusterId, beginPatiently(begin, control.signal), { signal: control.signal });
        if (page.answer === null) throw new Error(page.problem?.message ?? "The rows could not be fetched.");
        if (parts.length === 0) parts.push(csvHeading(page.answer.columns));
        const text = csvRows(page.answer);
        parts.push(text);
        found += page.answer.rows.length;
        letters += text.length;
        setRows(found);
        if (!page.more) break;
        if (found >= MOST_ROWS || letters >= MOST_LETTERS || control.signal.aborted) {
          toast({ type: "info", content: `The file has the first ${found} rows; there are more.` });
          break;
        }
        begin = beginNextPage(clusterId, page.id);
      }
      save(parts);
    },
    onError: (error) => {
      if (!stop.current?.signal.aborted) toast({ type: "error", content: `The file was not made: ${error.message}` });
    },
    onSettled: () => setRows(null),
  });
  return {
    rows,
    begin: (shown: CqlStatementDetail, wish: CqlWish | null) => {
      setRows(0);
      make.mutate({ shown, wish });
    },
    stop: () => stop.current?.abort(),
  };
}

function save(parts: string[]): void {
  saveAs("result.csv", new Blob(parts, { type: "text/csv;charset=utf-8" }));
}
