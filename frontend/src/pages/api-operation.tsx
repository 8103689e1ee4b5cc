import Badge from "@cloudscape-design/components/badge";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import Tabs from "@cloudscape-design/components/tabs";
import Textarea from "@cloudscape-design/components/textarea";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { commandOf, descriptionQuery, type Tried, tryOperation } from "../api";
import { ErrorBox } from "../components/error-box";
import { RouteLink } from "../components/route-link";
import { useTitle } from "../hooks/use-title";
import { Code } from "../ui/code";
import {
  addressOf,
  commandLine,
  curlLine,
  exampleOf,
  type Filled,
  type Operation,
  operationsOf,
  pythonLines,
  type Row,
  rowOf,
  rowsOf,
  type Schema,
} from "../util/reference";

const route = getRouteApi("/console/api-reference/$operation");

type Schemas = Record<string, Schema>;

export function ApiOperationPage() {
  const { operation: id } = route.useParams();
  useTitle(id, "API reference");
  const description = useQuery(descriptionQuery);
  if (description.isError) return <ErrorBox error={description.error} onRetry={() => void description.refetch()} />;
  if (!description.data) return <Spinner size="large" />;
  const operation = operationsOf(description.data).find((one) => one.id === id);
  if (!operation) {
    return (
      <SpaceBetween size="m">
        <Header variant="h1">There is no operation {id}</Header>
        <RouteLink to="/api-reference">All operations</RouteLink>
      </SpaceBetween>
    );
  }
  const { schemas } = description.data.components;
  return (
    <SpaceBetween size="m">
      <RouteLink to="/api-reference">All operations</RouteLink>
      <Header
        variant="h1"
        description={
          <Box variant="code">
            {operation.method} {operation.path}
          </Box>
        }
      >
        {operation.id} {operation.deprecated && <Badge color="severity-medium">deprecated</Badge>}
      </Header>
      {operation.description.split("\n\n").map((text) => (
        <Box key={text} variant="p">
          {text}
        </Box>
      ))}
      <Trial key={operation.id} operation={operation} schemas={schemas} />
      <Fields
        title="Parameters"
        rows={operation.parameters.map((one) => ({
          ...rowOf(one.name, one.schema, one.required ?? false, schemas),
          description: [one.description ?? one.schema.description ?? "", one.in === "query" ? "" : `(${one.in})`].join(
            " ",
          ),
        }))}
      />
      {operation.body && <Fields title="Body" rows={rowsOf(operation.body, schemas)} />}
      {operation.answers
        .filter(({ status, schema }) => status < "300" && schema)
        .map(({ status, schema }) => (
          <Fields key={status} title={`Answer ${status}`} rows={rowsOf(schema, schemas)} isAnswer />
        ))}
      <Table
        variant="container"
        header={<Header variant="h2">Statuses</Header>}
        ariaLabels={{ tableLabel: "Statuses" }}
        wrapLines
        items={operation.answers}
        trackBy="status"
        columnDefinitions={[
          { id: "status", header: "Status", isRowHeader: true, width: 110, cell: ({ status }) => status },
          { id: "meaning", header: "Meaning", minWidth: 260, cell: (answer) => answer.description },
          {
            id: "codes",
            header: "Error codes",
            minWidth: 320,
            cell: ({ codes }) => (
              <SpaceBetween direction="horizontal" size="xs">
                {codes.map((code) => (
                  <RouteLink key={code} to="/api-reference/errors" search={{ q: code }}>
                    {code}
                  </RouteLink>
                ))}
              </SpaceBetween>
            ),
          },
        ]}
      />
    </SpaceBetween>
  );
}

const COLUMNS: (TableProps.ColumnDefinition<Row> & { ofRequests?: boolean })[] = [
  {
    id: "name",
    header: "Name",
    isRowHeader: true,
    minWidth: 210,
    cell: ({ name }) => <Box variant="code">{name}</Box>,
  },
  { id: "type", header: "Type", minWidth: 110, cell: ({ type }) => type },
  {
    id: "required",
    header: "Required",
    minWidth: 110,
    cell: ({ required }) => (required ? "yes" : "no"),
    ofRequests: true,
  },
  { id: "description", header: "Description", minWidth: 260, cell: ({ description }) => description },
  { id: "limits", header: "Limits", minWidth: 150, cell: ({ limits }) => limits },
  { id: "default", header: "Default", minWidth: 100, cell: (row) => row.default, ofRequests: true },
  { id: "example", header: "Example", minWidth: 140, cell: ({ example }) => example },
];

function Fields({ title, rows, isAnswer = false }: { title: string; rows: Row[]; isAnswer?: boolean }) {
  if (rows.length === 0) return null;
  // Columns that would be empty in every row say nothing.
  const columns = COLUMNS.filter(
    ({ id, ofRequests }) =>
      !(isAnswer && ofRequests) && (id === "required" || rows.some((row) => row[id as keyof Row] !== "")),
  );
  return (
    <ExpandableSection
      headerText={title}
      headerCounter={`(${rows.length})`}
      variant="container"
      defaultExpanded={!isAnswer}
    >
      <Table
        variant="embedded"
        ariaLabels={{ tableLabel: title }}
        columnDefinitions={columns}
        items={rows}
        trackBy="name"
        wrapLines
      />
    </ExpandableSection>
  );
}

function Trial({ operation, schemas }: { operation: Operation; schemas: Schemas }) {
  const [filled, setFilled] = useState<Filled>(
    // What changes something is rehearsed unless somebody says otherwise.
    operation.parameters.some(({ name }) => name === "dry_run") ? { dry_run: "true" } : {},
  );
  const [body, setBody] = useState(
    operation.body ? JSON.stringify(exampleOf(operation.body, schemas), null, 2) : undefined,
  );
  const [token, setToken] = useState("");
  const trial = useMutation({
    mutationFn: () =>
      tryOperation(operation.method, addressOf(operation, filled), {
        headers: Object.fromEntries(
          operation.parameters
            .filter(({ in: where, name }) => where === "header" && filled[name])
            .map(({ name }) => [name, filled[name] ?? ""]),
        ),
        body,
        token,
      }),
  });
  const missing = operation.parameters.filter((one) => one.required && !filled[one.name]).map(({ name }) => name);
  const reason =
    operation.id === "stream_events"
      ? "This answer does not end; follow it with curl."
      : missing.length > 0
        ? `Fill in ${missing.join(", ")}.`
        : undefined;
  const isReal = operation.method !== "GET" && filled.dry_run !== "true";

  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Sent with your session, or with a token if you give one."
          actions={
            <Button
              variant="primary"
              loading={trial.isPending}
              loadingText="Sending"
              disabled={reason !== undefined}
              disabledReason={reason}
              onClick={() => trial.mutate()}
            >
              {isReal ? "Send and change" : "Send"}
            </Button>
          }
        >
          Try it
        </Header>
      }
    >
      <SpaceBetween size="m">
        <ColumnLayout columns={3}>
          {operation.parameters.map(({ name, required, schema }) => (
            <FormField key={name} label={required ? name : `${name} – optional`}>
              <Input
                value={filled[name] ?? ""}
                placeholder={schema.example === undefined ? undefined : String(schema.example)}
                onChange={({ detail }) => setFilled({ ...filled, [name]: detail.value })}
              />
            </FormField>
          ))}
        </ColumnLayout>
        {body !== undefined && (
          <FormField label="Body">
            <Textarea
              rows={Math.min(16, body.split("\n").length + 1)}
              value={body}
              onChange={({ detail }) => setBody(detail.value)}
            />
          </FormField>
        )}
        <FormField
          label="API token – optional"
          description="Kept on this page only. Lines to copy read it from RINGMASTER_TOKEN."
        >
          <Input type="password" autoComplete={false} value={token} onChange={({ detail }) => setToken(detail.value)} />
        </FormField>
        <Tabs
          ariaLabel="Lines to copy"
          tabs={[
            {
              id: "curl",
              label: "curl",
              content: (
                <Code label="curl" language="bash" content={curlLine(operation, filled, body, location.origin)} />
              ),
            },
            {
              id: "python",
              label: "Python",
              content: <Code label="Python" language="python" content={pythonLines(operation, filled, body)} />,
            },
            {
              id: "cli",
              label: "Command line",
              content: (
                <Code
                  label="command line"
                  language="bash"
                  content={commandLine(operation, filled, body, commandOf(operation.id))}
                />
              ),
            },
          ]}
        />
        <div aria-live="polite">
          {trial.isError && <ErrorBox error={trial.error} />}
          {trial.data && <Outcome tried={trial.data} />}
        </div>
      </SpaceBetween>
    </Container>
  );
}

function Outcome({ tried: { status, seconds, headers, body } }: { tried: Tried }) {
  return (
    <SpaceBetween size="xs">
      <StatusIndicator type={status < 400 ? "success" : "error"}>
        {status} after {Math.round(seconds * 1000)} ms
      </StatusIndicator>
      <Code
        label="headers of the answer"
        content={headers.map(([name, value]) => `${name}: ${value}`).join("\n")}
        wrapLines
      />
      {body && <Code label="answer" language="javascript" content={body} />}
    </SpaceBetween>
  );
}
