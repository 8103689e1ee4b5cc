import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { type KeyboardEvent, useRef, useState } from "react";
import type { CqlAnswer, CqlStatementDetail } from "../api";
import { toast } from "../hooks/use-toasts";
import { formatMicroseconds } from "../util/cql";
import { count } from "../util/size";

interface Props {
  statement: CqlStatementDetail;
  isPending: boolean;
  onNextPage: () => void;
  /** Rows so far while a file is being made; null: none is. */
  exporting: number | null;
  onExport: () => void;
  onStopExport: () => void;
}

/** One page of what a statement gave. */
export function CqlResult({ statement, isPending, onNextPage, exporting, onExport, onStopExport }: Props) {
  const { answer } = statement;
  if (answer === null)
    return <Box color="text-body-secondary">What it gave is kept for 15 minutes only. Run it again.</Box>;
  const took = `${formatMicroseconds(answer.microseconds)} on the node`;
  return (
    <SpaceBetween size="s">
      {answer.warnings.map((warning) => (
        <Alert key={warning} type="warning">
          {warning}
        </Alert>
      ))}
      <SpaceBetween direction="horizontal" size="m" alignItems="center">
        <StatusIndicator type="success">
          {answer.has_rows
            ? `${count(answer.rows.length, "row")}${statement.page > 1 || statement.more ? `, page ${statement.page}` : ""}, ${took}`
            : `${answer.outcome || "Done"}, ${took}`}
        </StatusIndicator>
        {statement.more && (
          <Button loading={isPending} onClick={onNextPage} iconName="angle-right" iconAlign="right">
            Next page
          </Button>
        )}
        {answer.has_rows &&
          (exporting === null ? (
            <Button iconName="download" disabled={isPending} onClick={onExport}>
              CSV
            </Button>
          ) : (
            <SpaceBetween direction="horizontal" size="xs" alignItems="center">
              <StatusIndicator type="in-progress">{count(exporting, "row")} fetched</StatusIndicator>
              <Button onClick={onStopExport}>Stop</Button>
            </SpaceBetween>
          ))}
      </SpaceBetween>
      {answer.has_rows && <Grid key={`${statement.id}-${statement.page}`} answer={answer} />}
      {answer.cut.length > 0 && (
        <Box variant="small">{count(answer.cut.length, "cell")} (marked …) are too long and only begun here.</Box>
      )}
    </SpaceBetween>
  );
}

/** Cells are walked with the arrow keys; Ctrl or Cmd and C, or a double click, copies one. */
function Grid({ answer }: { answer: CqlAnswer }) {
  const [place, setPlace] = useState<[number, number]>([0, 0]);
  const table = useRef<HTMLTableElement>(null);
  const cut = new Set(answer.cut.map(({ row, column }) => `${row} ${column}`));
  const go = (row: number, column: number) => {
    const [r, c] = [
      Math.max(0, Math.min(answer.rows.length - 1, row)),
      Math.max(0, Math.min(answer.columns.length - 1, column)),
    ];
    setPlace([r, c]);
    table.current?.querySelector<HTMLElement>(`[data-place="${r} ${c}"]`)?.focus();
  };
  const copy = (row: number, column: number) => {
    const cell = answer.rows[row]?.[column] ?? null;
    void navigator.clipboard.writeText(cell ?? "null").then(
      () => toast({ type: "success", content: "The cell was copied." }),
      () => toast({ type: "error", content: "The browser does not let the console copy." }),
    );
  };
  const pressed = (event: KeyboardEvent) => {
    const [row, column] = place;
    const steps: Record<string, [number, number]> = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, answer.columns.length - 1],
    };
    const step = steps[event.key];
    if (step) {
      event.preventDefault();
      go(...step);
    } else if (event.key.toLowerCase() === "c" && (event.ctrlKey || event.metaKey) && `${getSelection()}` === "") {
      event.preventDefault();
      copy(row, column);
    }
  };
  if (answer.rows.length === 0) return <Box color="text-body-secondary">There are no rows.</Box>;
  return (
    <div className="cql-scroll">
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its cells are walked with the arrow keys */}
      <table ref={table} role="grid" aria-label="Rows" className="cql-grid" onKeyDown={pressed}>
        <thead>
          <tr>
            {answer.columns.map(({ name, type }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name
              <th key={at} scope="col">
                {name} <span className="cql-type-name">{type}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {answer.rows.map((row, r) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of an answer never move
            <tr key={r}>
              {row.map((cell, c) => (
                <td
                  // biome-ignore lint/suspicious/noArrayIndexKey: cells never move
                  key={c}
                  data-place={`${r} ${c}`}
                  tabIndex={place[0] === r && place[1] === c ? 0 : -1}
                  onFocus={() => setPlace([r, c])}
                  onDoubleClick={() => copy(r, c)}
                  className={cell === null ? "cql-null" : cell === "" ? "cql-empty" : undefined}
                >
                  {cell === null ? "null" : cell === "" ? "empty" : cell}
                  {cut.has(`${r} ${c}`) && "…"}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
