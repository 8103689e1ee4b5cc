import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import { useState } from "react";
import type { Answer, AnswerFile, AnswerLog, AnswerTable } from "../api";
import { toast } from "../hooks/use-toasts";
import { formatValue, sortRows, toCsv } from "../util/answers";
import { saveAs } from "../util/download";
import { count } from "../util/size";
import { FlameGraph } from "./flame-graph";

interface Props {
  answer: Answer;
  /** What downloads are called, without an ending: "node-1-log". */
  name: string;
  /** Asks for what was written to the log before; left out where nobody may ask. */
  onOlder?: (before: string) => void;
}

/** What a node answered, whatever it was asked. */
export function AnswerView({ answer, name, onOlder }: Props) {
  return (
    <SpaceBetween size="l">
      {(answer.facts ?? []).length > 0 && (
        <KeyValuePairs
          columns={4}
          items={(answer.facts ?? []).map(({ label, value, unit }) => ({ label, value: formatValue(value, unit) }))}
        />
      )}
      {answer.flame && <FlameGraph flame={answer.flame} />}
      {answer.file && <FileDownload file={answer.file} name={name} />}
      {answer.log && <LogView log={answer.log} name={name} onOlder={onOlder} />}
      {(answer.tables ?? []).map((table) => (
        <AnswerTableView key={table.title} table={table} name={name} />
      ))}
      {(answer.notes ?? []).length > 0 && (
        <Box color="text-body-secondary">
          {(answer.notes ?? []).map((note) => (
            <div key={note}>{note}</div>
          ))}
        </Box>
      )}
    </SpaceBetween>
  );
}

function AnswerTableView({ table, name }: { table: AnswerTable; name: string }) {
  const [order, setOrder] = useState<{ column: number; isDescending: boolean } | null>(null);
  const rows = order ? sortRows(table.rows, order.column, order.isDescending) : table.rows;
  const file = `${name}-${table.title.toLowerCase().replace(/\W+/g, "-")}`;
  const columns = table.columns.map(({ title, unit }, column) => ({
    id: String(column),
    header: title,
    sortingField: String(column),
    isRowHeader: column === 0,
    minWidth: unit === "text" ? 120 : 90,
    cell: ({ row }: { row: AnswerTable["rows"][number]; index: number }) => formatValue(row[column] ?? null, unit),
  }));
  return (
    <Table
      variant="borderless"
      wrapLines
      items={rows.map((row, index) => ({ row, index }))}
      trackBy={({ index }) => String(index)}
      ariaLabels={{ tableLabel: table.title }}
      empty={<Box color="inherit">There is nothing.</Box>}
      columnDefinitions={columns}
      sortingColumn={order ? columns[order.column] : undefined}
      sortingDescending={order?.isDescending}
      onSortingChange={({ detail }) =>
        setOrder({ column: Number(detail.sortingColumn.sortingField), isDescending: detail.isDescending ?? false })
      }
      header={
        <Header
          variant="h3"
          counter={`(${rows.length})`}
          description={
            table.left > 0 ? `${count(table.left, "row")} more are left out; ask for more at once.` : undefined
          }
          actions={<Downloads table={{ columns: table.columns, rows }} file={file} title={table.title} />}
        >
          {table.title}
        </Header>
      }
    />
  );
}

function Downloads({
  table,
  file,
  title,
}: {
  table: Pick<AnswerTable, "columns" | "rows">;
  file: string;
  title: string;
}) {
  const asJson = () =>
    JSON.stringify(
      table.rows.map((row) => Object.fromEntries(table.columns.map((column, at) => [column.title, row[at] ?? null]))),
      null,
      2,
    );
  const take = async (id: string) => {
    if (id === "csv") saveAs(`${file}.csv`, new Blob([toCsv(table)], { type: "text/csv" }));
    else if (id === "json") saveAs(`${file}.json`, new Blob([asJson()], { type: "application/json" }));
    else await copy(toCsv(table));
  };
  return (
    <ButtonDropdown
      ariaLabel={`Take ${title}`}
      disabled={table.rows.length === 0}
      items={[
        { id: "copy", text: "Copy" },
        { id: "csv", text: "Download CSV" },
        { id: "json", text: "Download JSON" },
      ]}
      onItemClick={({ detail }) => void take(detail.id)}
    >
      Take
    </ButtonDropdown>
  );
}

/** The name says of which node it is. */
function FileDownload({ file, name }: { file: AnswerFile; name: string }) {
  const size = Math.floor((file.content.length * 3) / 4);
  const save = () => {
    const content = Uint8Array.from(atob(file.content), (letter) => letter.charCodeAt(0));
    saveAs(`${name}.${file.name.split(".").pop()}`, new Blob([content], { type: file.media_type }));
  };
  return (
    <Button iconName="download" onClick={save}>
      Download the packets ({formatValue(size, "bytes")})
    </Button>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast({ type: "success", content: "Copied." });
  } catch {
    toast({ type: "error", content: "The browser does not let pages copy. Download it instead." });
  }
}

function LogView({ log, name, onOlder }: { log: AnswerLog; name: string; onOlder: Props["onOlder"] }) {
  const text = log.lines.map(({ at, level, thread, source, text }) => `${level} [${thread}] ${at} ${source} - ${text}`);
  return (
    <SpaceBetween size="xs">
      <SpaceBetween direction="horizontal" size="xs">
        <Button
          disabled={log.before === "" || onOlder === undefined}
          disabledReason={log.before === "" ? "There is nothing before it." : "You may not ask nodes."}
          onClick={() => onOlder?.(log.before)}
        >
          Older lines
        </Button>
        <Button
          disabled={text.length === 0}
          disabledReason="There is nothing to copy."
          onClick={() => void copy(text.join("\n"))}
        >
          Copy
        </Button>
        <Button
          disabled={text.length === 0}
          disabledReason="There is nothing to download."
          onClick={() => saveAs(`${name}.log`, new Blob([`${text.join("\n")}\n`], { type: "text/plain" }))}
        >
          Download
        </Button>
      </SpaceBetween>
      {text.length === 0 ? (
        <Alert statusIconAriaLabel="Info">No line of the log is like that.</Alert>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className="log-lines" aria-label="Log" tabIndex={0}>
          {text.map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines may be alike, and never move
            <div key={at} className={`log-${log.lines[at]?.level}`}>
              {line}
            </div>
          ))}
        </section>
      )}
    </SpaceBetween>
  );
}
