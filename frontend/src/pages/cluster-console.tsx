import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Grid from "@cloudscape-design/components/grid";
import Header from "@cloudscape-design/components/header";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Tabs from "@cloudscape-design/components/tabs";
import Toggle from "@cloudscape-design/components/toggle";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import {
  beginSchema,
  type Cluster,
  type CqlConsole,
  type CqlSession,
  type CqlStatementDetail,
  type CqlWish,
  closeCqlSessionMutation,
  cqlConsoleQuery,
  queryClient,
  untilEnded,
} from "../api";
import { ActionButton } from "../components/action-button";
import { CqlEditor, type CqlEditorHandle } from "../components/cql-editor";
import { CqlHistory } from "../components/cql-history";
import { CqlResult } from "../components/cql-result";
import { CqlSchema } from "../components/cql-schema";
import { CqlTraceView } from "../components/cql-trace";
import { ErrorBox } from "../components/error-box";
import { QueryView } from "../components/query-view";
import { CqlSignIn } from "../forms/cql-sign-in";
import { useCqlExport, useCqlRun } from "../hooks/use-cql";

const CONSISTENCIES: NonNullable<CqlWish["consistency"]>[] = [
  "LOCAL_ONE",
  "LOCAL_QUORUM",
  "ONE",
  "TWO",
  "THREE",
  "QUORUM",
  "EACH_QUORUM",
  "ALL",
  "LOCAL_SERIAL",
  "SERIAL",
  "ANY",
];
const PAGE_SIZES = [20, 100, 500, 1000];
const TIMEOUTS = [5, 10, 30, 60];

/** CQL as a role of the database: what there is, an editor, and what a statement gave. */
export function ClusterConsole({ cluster }: { cluster: Cluster }) {
  const data = useQuery(cqlConsoleQuery(cluster.id));
  const [chosen, setChosen] = useState<string | null>(null);
  const [isAdding, setAdding] = useState(false);
  return (
    <QueryView query={data} lines={6}>
      {({ sessions, allowed_actions: allowed }) => {
        const session = sessions.find(({ id }) => id === chosen) ?? sessions[0];
        if (session === undefined || isAdding) {
          return (
            <CqlSignIn
              clusterId={cluster.id}
              allowed={allowed}
              onOpened={(id) => {
                setChosen(id);
                setAdding(false);
              }}
              onCancel={session && (() => setAdding(false))}
            />
          );
        }
        return (
          <Workbench
            key={session.id}
            cluster={cluster}
            allowed={allowed}
            session={session}
            sessions={sessions}
            onChoose={setChosen}
            onAdd={() => setAdding(true)}
          />
        );
      }}
    </QueryView>
  );
}

interface WorkbenchProps {
  cluster: Cluster;
  allowed: CqlConsole["allowed_actions"];
  session: CqlSession;
  sessions: CqlSession[];
  onChoose: (sessionId: string) => void;
  onAdd: () => void;
}

interface Options {
  keyspace: string | null;
  consistency: NonNullable<CqlWish["consistency"]>;
  pageSize: number;
  timeout: number;
  tracing: boolean;
  writes: boolean;
}

const USUAL: Options = {
  keyspace: null,
  consistency: "LOCAL_QUORUM",
  pageSize: 100,
  timeout: 10,
  tracing: false,
  writes: false,
};

function Workbench({ cluster, allowed, session, sessions, onChoose, onAdd }: WorkbenchProps) {
  const [options, setOptions] = useState(USUAL);
  const [tab, setTab] = useState("result");
  const [isBlank, setBlank] = useState(true);
  const [ran, setRan] = useState<CqlWish | null>(null);
  const editor = useRef<CqlEditorHandle>(null);
  const cql = useCqlRun(cluster.id);
  const csv = useCqlExport(cluster.id);
  const schema = useQuery({
    queryKey: ["cql schema", cluster.id, session.id],
    queryFn: ({ signal }) => untilEnded(cluster.id, beginSchema(cluster.id, session.id), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const tree = schema.data?.tree ?? null;
  const set = (changed: Partial<Options>) => setOptions((before) => ({ ...before, ...changed }));
  const run = (statement: string) => {
    if (cql.isPending || statement.trim() === "") return;
    const wish: CqlWish = {
      session_id: session.id,
      statement,
      keyspace: options.keyspace,
      consistency: options.consistency,
      page_size: options.pageSize,
      timeout_seconds: options.timeout,
      tracing: options.tracing,
      allow_writes: options.writes,
    };
    setRan(wish);
    cql.run(wish, (ended) => {
      setTab(ended.answer?.trace ? "trace" : "result");
      if (ended.problem?.line != null) editor.current?.show(ended.problem.line, ended.problem.column ?? 0);
      // What there is may be another thing now.
      if (ended.answer?.outcome) void schema.refetch();
    });
  };
  return (
    <Grid gridDefinition={[{ colspan: { default: 12, s: 4 } }, { colspan: { default: 12, s: 8 } }]}>
      <Container
        header={
          <Header
            variant="h2"
            actions={
              <Button
                iconName="refresh"
                variant="icon"
                ariaLabel="Read the schema again"
                loading={schema.isFetching}
                onClick={() => void schema.refetch()}
              />
            }
          >
            Schema
          </Header>
        }
      >
        {schema.data?.problem ? (
          <Problem statement={schema.data} onSignIn={onAdd} />
        ) : (
          <QueryView query={schema} lines={5}>
            {() =>
              tree && (
                <CqlSchema
                  tree={tree}
                  onInsert={(text) => editor.current?.write(text)}
                  onDescribe={(statement) => {
                    editor.current?.write(`${statement};`);
                    run(statement);
                  }}
                />
              )
            }
          </QueryView>
        )}
      </Container>
      <SpaceBetween size="l">
        <Container
          header={
            <Header
              variant="h2"
              description="Ctrl or Cmd and Enter runs it, or the selected part of it."
              actions={
                <Who session={session} sessions={sessions} cluster={cluster} onChoose={onChoose} onAdd={onAdd} />
              }
            >
              Statement
            </Header>
          }
        >
          <SpaceBetween size="m">
            <CqlEditor
              ref={editor}
              initial=""
              tree={tree}
              keyspace={options.keyspace}
              onRun={() => run(editor.current?.chosen() ?? "")}
              onChange={(text) => setBlank(text.trim() === "")}
            />
            <Choices options={options} set={set} tree={tree} allowed={allowed} />
            {options.writes && (
              <Alert type="warning">
                Statements that change something are run at once, and there is no way back but a backup.
              </Alert>
            )}
            <SpaceBetween direction="horizontal" size="xs" alignItems="center">
              <ActionButton
                action={options.writes ? "write_cql" : "run_cql"}
                allowed={isBlank ? allowed.map((rule) => blank(rule)) : allowed}
                variant="primary"
                loading={cql.isPending}
                onClick={() => run(editor.current?.chosen() ?? "")}
              >
                Run
              </ActionButton>
              {cql.isPending && <Button onClick={cql.cancel}>Cancel</Button>}
            </SpaceBetween>
          </SpaceBetween>
        </Container>
        <Tabs
          variant="container"
          activeTabId={tab}
          onChange={({ detail }) => setTab(detail.activeTabId)}
          ariaLabel="What it gave"
          tabs={[
            {
              id: "result",
              label: "Result",
              content: (
                <SpaceBetween size="s">
                  {cql.error != null && <ErrorBox error={cql.error} />}
                  {cql.shown?.problem && <Problem statement={cql.shown} onSignIn={onAdd} />}
                  {cql.shown?.state === "cancelled" && <StatusIndicator type="stopped">Cancelled</StatusIndicator>}
                  {cql.shown?.state === "answered" && (
                    <CqlResult
                      statement={cql.shown}
                      isPending={cql.isPending}
                      onNextPage={cql.nextPage}
                      exporting={csv.rows}
                      onExport={() => cql.shown && csv.begin(cql.shown, cql.shown.reads ? ran : null)}
                      onStopExport={csv.stop}
                    />
                  )}
                  {cql.shown === null && cql.error == null && (
                    <Box color="text-body-secondary">
                      {cql.isPending
                        ? "It runs."
                        : "Nothing was run yet. Choose a table at the left, or write a statement."}
                    </Box>
                  )}
                </SpaceBetween>
              ),
            },
            {
              id: "trace",
              label: "Trace",
              content: cql.shown?.answer?.trace ? (
                <CqlTraceView trace={cql.shown.answer.trace} />
              ) : (
                <Box color="text-body-secondary">Run a statement with tracing to see what each node did for it.</Box>
              ),
            },
            {
              id: "history",
              label: "History",
              content: (
                <CqlHistory
                  clusterId={cluster.id}
                  onUse={({ statement, keyspace, consistency }) => {
                    editor.current?.write(statement);
                    set({ keyspace, consistency });
                  }}
                />
              ),
            },
          ]}
        />
      </SpaceBetween>
    </Grid>
  );
}

function blank(rule: CqlConsole["allowed_actions"][number]): CqlConsole["allowed_actions"][number] {
  return rule.allowed ? { ...rule, allowed: false, reason: "There is no statement yet." } : rule;
}

function Choices({
  options,
  set,
  tree,
  allowed,
}: {
  options: Options;
  set: (changed: Partial<Options>) => void;
  tree: CqlStatementDetail["tree"];
  allowed: CqlConsole["allowed_actions"];
}) {
  const none = { value: "", label: "None" };
  const keyspaces = [none, ...(tree?.keyspaces ?? []).map(({ name }) => ({ value: name, label: name }))];
  const number = (value: number, label: string) => ({ value: String(value), label });
  const pages = PAGE_SIZES.map((size) => number(size, `${size} rows`));
  const timeouts = TIMEOUTS.map((seconds) => number(seconds, `${seconds} s`));
  const writing = allowed.find(({ action }) => action === "write_cql");
  return (
    <SpaceBetween direction="horizontal" size="m" alignItems="end">
      <FormField label="Keyspace">
        <Select
          filteringType="auto"
          filteringAriaLabel="Find a keyspace"
          selectedOption={keyspaces.find(({ value }) => value === (options.keyspace ?? "")) ?? none}
          options={keyspaces}
          onChange={({ detail }) => set({ keyspace: detail.selectedOption.value || null })}
        />
      </FormField>
      <FormField label="Consistency">
        <Select
          selectedOption={{ value: options.consistency, label: options.consistency }}
          options={CONSISTENCIES.map((value) => ({ value, label: value }))}
          onChange={({ detail }) => set({ consistency: detail.selectedOption.value as Options["consistency"] })}
        />
      </FormField>
      <FormField label="Page">
        <Select
          selectedOption={pages.find(({ value }) => value === String(options.pageSize)) ?? null}
          options={pages}
          onChange={({ detail }) => set({ pageSize: Number(detail.selectedOption.value) })}
        />
      </FormField>
      <FormField label="Time-out">
        <Select
          selectedOption={timeouts.find(({ value }) => value === String(options.timeout)) ?? null}
          options={timeouts}
          onChange={({ detail }) => set({ timeout: Number(detail.selectedOption.value) })}
        />
      </FormField>
      <Toggle checked={options.tracing} onChange={({ detail }) => set({ tracing: detail.checked })}>
        Tracing
      </Toggle>
      <Toggle
        checked={options.writes}
        disabled={!writing?.allowed}
        description={writing?.allowed ? undefined : (writing?.reason ?? undefined)}
        onChange={({ detail }) => set({ writes: detail.checked })}
      >
        Allow writes
      </Toggle>
    </SpaceBetween>
  );
}

/** As whom it is run: another session, one more, or the end of this one. */
function Who({ cluster, session, sessions, onChoose, onAdd }: Omit<WorkbenchProps, "allowed">) {
  const close = useMutation({
    ...closeCqlSessionMutation(),
    onSuccess: () => queryClient.invalidateQueries(cqlConsoleQuery(cluster.id)),
  });
  const option = ({ id, role }: CqlSession) => ({ value: id, label: role });
  return (
    <SpaceBetween direction="horizontal" size="xs" alignItems="center">
      <Select
        ariaLabel="Run as"
        triggerVariant="option"
        selectedOption={option(session)}
        options={sessions.map(option)}
        onChange={({ detail }) => onChoose(detail.selectedOption.value ?? session.id)}
      />
      <Button onClick={onAdd}>Another role</Button>
      <Button
        loading={close.isPending}
        onClick={() => close.mutate({ path: { cluster_id: cluster.id, session_id: session.id } })}
      >
        Sign out
      </Button>
    </SpaceBetween>
  );
}

/** Why a statement failed, in the engine's words. */
function Problem({ statement, onSignIn }: { statement: CqlStatementDetail; onSignIn: () => void }) {
  const { problem } = statement;
  if (problem === null) return null;
  const isAboutSignIn = ["bad-credentials", "session-ended"].includes(problem.code);
  return (
    <Alert
      type="error"
      header={
        problem.line === null
          ? problem.code
          : `${problem.code}, line ${problem.line}, column ${(problem.column ?? 0) + 1}`
      }
      action={isAboutSignIn ? <Button onClick={onSignIn}>Sign in again</Button> : undefined}
    >
      <span className="cql-text">{problem.message}</span>
    </Alert>
  );
}
