import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Grid from "@cloudscape-design/components/grid";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import {
  askNodeMutation,
  type Cluster,
  clusterNodesQuery,
  type Diagnosis,
  type Diagnostics,
  diagnosisQuery,
  diagnosticsQuery,
  type Node,
  type QuestionFacts,
  type QuestionOrder,
  queryClient,
  toApiError,
  useLiveQuery,
} from "../api";
import { ActionButton } from "../components/action-button";
import { AnswerView } from "../components/answer-view";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { RouteLink } from "../components/route-link";
import { TableCommands } from "../components/table-commands";
import { useNow } from "../hooks/use-now";

const route = getRouteApi("/console/clusters/$clusterId");

const STATE: Record<Diagnosis["state"], [StatusIndicatorProps.Type, string]> = {
  asked: ["in-progress", "Asking"],
  answered: ["success", "Answered"],
  failed: ["error", "Not answered"],
  cancelled: ["stopped", "Cancelled"],
};

const LEVELS = [
  { value: "", label: "All" },
  { value: "INFO", label: "INFO and worse" },
  { value: "WARN", label: "WARN and worse" },
  { value: "ERROR", label: "ERROR" },
];

/** Nodes are asked about themselves: which, and what; the answer; and what was asked lately. */
export function ClusterDiagnostics({ cluster }: { cluster: Cluster }) {
  const diagnostics = useLiveQuery(diagnosticsQuery(cluster.id), ({ asked }) =>
    asked.some(({ state }) => state === "asked"),
  );
  const nodes = useQuery(clusterNodesQuery(cluster.id));
  const { asked, node } = route.useSearch();
  return (
    <QueryView query={diagnostics} lines={6}>
      {(data) => (
        <QueryView query={nodes} lines={4}>
          {({ items }) => (
            <SpaceBetween size="l">
              <Ask cluster={cluster} diagnostics={data} nodes={items.filter(({ state }) => state !== "deleted")} />
              {asked && <Shown key={asked} cluster={cluster} diagnosisId={asked} />}
              <Earlier diagnostics={data} />
              <TableCommands
                cluster={cluster}
                nodes={items.filter(({ state }) => state !== "deleted")}
                node={items.find(({ id }) => id === node)?.id}
              />
            </SpaceBetween>
          )}
        </QueryView>
      )}
    </QueryView>
  );
}

interface Fields {
  keyspace: string;
  table: string;
  seconds: string;
  minutes: string;
  level: string;
  search: string;
}

const EMPTY: Fields = { keyspace: "", table: "", seconds: "10", minutes: "10", level: "", search: "" };

/** What is sent: what the question takes of what was filled in. */
function orderOf(question: QuestionFacts, fields: Fields): QuestionOrder {
  const given = {
    keyspace: fields.keyspace || undefined,
    table: fields.table || undefined,
    seconds: Number(fields.seconds) || undefined,
    minutes: Number(fields.minutes) || undefined,
    level: (fields.level || undefined) as QuestionOrder["level"],
    search: fields.search || undefined,
  };
  const taken = Object.entries(given).filter(([name]) => question.takes.some((taken) => taken === name));
  return { question: question.question, ...Object.fromEntries(taken) };
}

function Ask({ cluster, diagnostics, nodes }: { cluster: Cluster; diagnostics: Diagnostics; nodes: Node[] }) {
  const search = route.useSearch();
  const ask = useAsk(cluster);
  const navigate = route.useNavigate();
  const [fields, setFields] = useState(EMPTY);
  const node = nodes.find(({ id }) => id === search.node) ?? nodes[0];
  const question =
    diagnostics.questions.find((each) => each.question === search.ask) ?? (diagnostics.questions[0] as QuestionFacts);
  const set = (changed: Partial<Fields>) => setFields((before) => ({ ...before, ...changed }));
  const takes = (name: QuestionFacts["takes"][number]) => question.takes.includes(name);
  const submit = () => node && ask.mutate(node.id, orderOf(question, fields));
  const text = (name: "keyspace" | "table" | "search", label: string) =>
    takes(name) && (
      <FormField label={question.needs.includes(name) ? label : `${label} (optional)`} errorText={ask.errorOf(name)}>
        <Input value={fields[name]} spellcheck={false} onChange={({ detail }) => set({ [name]: detail.value })} />
      </FormField>
    );
  const number = (name: "seconds" | "minutes", label: string) =>
    takes(name) && (
      <FormField label={label} errorText={ask.errorOf(name)}>
        <Input
          type="number"
          inputMode="numeric"
          value={fields[name]}
          onChange={({ detail }) => set({ [name]: detail.value })}
        />
      </FormField>
    );
  return (
    <Container
      header={
        <Header variant="h2" description="Looks that change nothing. Who asked what is in the audit log.">
          Ask a node
        </Header>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <SpaceBetween size="m">
          {ask.error != null && <ErrorBox error={ask.error} />}
          <Grid gridDefinition={[{ colspan: { default: 12, s: 6 } }, { colspan: { default: 12, s: 6 } }]}>
            <FormField label="Node">
              <Select
                selectedOption={node ? { value: node.id, label: node.name, description: node.rack } : null}
                options={nodes.map(({ id, name, rack }) => ({ value: id, label: name, description: rack }))}
                empty="There is no node."
                onChange={({ detail }) =>
                  void navigate({ search: (before) => ({ ...before, node: detail.selectedOption.value }) })
                }
              />
            </FormField>
            <FormField label="Question" description={question.description}>
              <Select
                filteringType="auto"
                filteringAriaLabel="Find a question"
                selectedOption={{ value: question.question, label: question.title }}
                options={diagnostics.questions.map((each) => ({
                  value: each.question,
                  label: each.title,
                  description: each.description,
                }))}
                onChange={({ detail }) =>
                  void navigate({ search: (before) => ({ ...before, ask: detail.selectedOption.value }) })
                }
              />
            </FormField>
          </Grid>
          <SpaceBetween direction="horizontal" size="m">
            {text("keyspace", "Keyspace")}
            {text("table", "Table")}
            {takes("level") && (
              <FormField label="Level">
                <Select
                  selectedOption={LEVELS.find(({ value }) => value === fields.level) ?? null}
                  options={LEVELS}
                  onChange={({ detail }) => set({ level: detail.selectedOption.value ?? "" })}
                />
              </FormField>
            )}
            {text("search", "Lines that hold")}
            {number("seconds", "Seconds to watch")}
            {number("minutes", "Minutes to read at most")}
          </SpaceBetween>
          <ActionButton
            action="ask_node"
            allowed={diagnostics.allowed_actions}
            variant="primary"
            loading={ask.isPending}
          >
            Ask
          </ActionButton>
        </SpaceBetween>
      </form>
    </Container>
  );
}

/** Asks, and goes to the answer. */
function useAsk(cluster: Cluster) {
  const navigate = route.useNavigate();
  const ask = useMutation({
    ...askNodeMutation(),
    onSuccess: async ({ diagnosis }) => {
      await queryClient.invalidateQueries(diagnosticsQuery(cluster.id));
      await navigate({ search: (before) => ({ ...before, asked: diagnosis.id }), resetScroll: false });
    },
  });
  return {
    mutate: (nodeId: string, body: QuestionOrder) =>
      ask.mutate({ path: { cluster_id: cluster.id, node_id: nodeId }, body }),
    isPending: ask.isPending,
    error: ask.error,
    errorOf: (field: string) => (ask.error == null ? undefined : toApiError(ask.error, undefined).fields[field]),
  };
}

function Shown({ cluster, diagnosisId }: { cluster: Cluster; diagnosisId: string }) {
  const ask = useAsk(cluster);
  // The event of its end is about the cluster, so this is asked again then; once answered it stays as it is.
  const diagnosis = useLiveQuery(diagnosisQuery(cluster.id, diagnosisId), ({ state }) => state === "asked");
  return (
    <QueryView query={diagnosis} lines={6}>
      {(data) => (
        <Container
          header={
            <Header
              variant="h2"
              description={
                <>
                  {data.node_name}, <Moment at={data.answered_at ?? data.asked_at} />{" "}
                  <RouteLink to="/operations/$operationId" params={{ operationId: data.operation_id }}>
                    Operation
                  </RouteLink>
                </>
              }
            >
              {data.title}
            </Header>
          }
        >
          <SpaceBetween size="m">
            {data.state !== "answered" && (
              <StatusIndicator type={STATE[data.state][0]}>
                {data.problem ? data.problem.message : STATE[data.state][1]}
              </StatusIndicator>
            )}
            {ask.error != null && <ErrorBox error={ask.error} />}
            {data.answer && (
              <AnswerView
                answer={data.answer}
                name={`${data.node_name}-${data.question}`}
                onOlder={(before) =>
                  ask.mutate(data.node_id, { ...(data.parameters as Partial<QuestionOrder>), question: "log", before })
                }
              />
            )}
          </SpaceBetween>
        </Container>
      )}
    </QueryView>
  );
}

function Earlier({ diagnostics }: { diagnostics: Diagnostics }) {
  const navigate = route.useNavigate();
  const now = useNow(30_000);
  const rule = diagnostics.allowed_actions.find(({ action }) => action === "ask_node");
  return (
    <Table
      variant="container"
      trackBy="id"
      wrapLines
      items={diagnostics.asked}
      ariaLabels={{ tableLabel: "Asked lately" }}
      header={
        <Header variant="h2" description="Answers are kept for a day.">
          Asked lately
        </Header>
      }
      empty={<Box color="inherit">Nobody has asked anything for a day.</Box>}
      columnDefinitions={[
        { id: "title", header: "Question", isRowHeader: true, cell: ({ title }) => title },
        { id: "node", header: "Node", cell: ({ node_name }) => node_name },
        { id: "with", header: "With", cell: ({ parameters }) => Object.values(parameters).join(", ") || "–" },
        {
          id: "state",
          header: "State",
          minWidth: 150,
          cell: ({ state }) => <StatusIndicator type={STATE[state][0]}>{STATE[state][1]}</StatusIndicator>,
        },
        { id: "who", header: "By", cell: ({ asked_by }) => asked_by },
        { id: "at", header: "Asked", cell: ({ asked_at }) => <Moment at={asked_at} now={now} /> },
        {
          id: "show",
          header: "Answer",
          cell: ({ id, title }) => (
            <ActionButton
              action="ask_node"
              allowed={rule ? [rule] : []}
              variant="inline-link"
              ariaLabel={`Show the answer: ${title}`}
              onClick={() => void navigate({ search: (before) => ({ ...before, asked: id }), resetScroll: false })}
            >
              Show
            </ActionButton>
          ),
        },
      ]}
    />
  );
}
