import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import PropertyFilter from "@cloudscape-design/components/property-filter";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type AuditRecord, auditQuery } from "../api";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { useTitle } from "../hooks/use-title";
import { CursorTable } from "../table/cursor-table";
import { Copy } from "../ui/copy";
import { Fold } from "../ui/fold";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/audit");

interface Filters {
  action?: string;
  actor?: string;
  target_id?: string;
}

const PROPERTIES = [
  { key: "action", propertyLabel: "Action", groupValuesLabel: "Actions", operators: ["="] },
  { key: "actor", propertyLabel: "Who", groupValuesLabel: "People", operators: ["="] },
  { key: "target_id", propertyLabel: "Target id", groupValuesLabel: "Target ids", operators: ["="] },
] as const;

export function AuditPage() {
  useTitle("Audit log");
  const navigate = route.useNavigate();
  const { after, ...filters } = route.useSearch();
  const records = useQuery(auditQuery({ ...filters, cursor: lastCursor(after) }));
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const setFilters = (next: Filters) => void navigate({ search: next, replace: true });

  return (
    <CursorTable
      noun="audit records"
      page={records}
      columns={columns}
      cursors={after}
      onCursors={(cursors) => void navigate({ search: { ...filters, after: cursors } })}
      header={
        <Header variant="h1" description="Every change: who, what, from where, before and after.">
          Audit log
        </Header>
      }
      filter={<Filter filters={filters} records={records.data?.items ?? []} onChange={setFilters} />}
      empty={
        isFiltered ? (
          <SpaceBetween size="m" alignItems="center">
            <Box color="inherit">No record matches.</Box>
            <Button onClick={() => setFilters({})}>Clear filters</Button>
          </SpaceBetween>
        ) : (
          <Box color="inherit">Nothing was changed yet.</Box>
        )
      }
    />
  );
}

const columns: TableProps.ColumnDefinition<AuditRecord>[] = [
  { id: "at", header: "When", cell: ({ created_at }) => <Moment at={created_at} /> },
  { id: "actor", header: "Who", cell: ({ actor }) => actor },
  { id: "action", header: "Action", isRowHeader: true, cell: ({ action }) => action },
  { id: "target", header: "Target", cell: (record) => <Target record={record} /> },
  { id: "from", header: "From", cell: ({ source_address }) => source_address ?? "–" },
  { id: "details", header: "Details", minWidth: 300, cell: (record) => <Details record={record} /> },
];

function Target({ record }: { record: AuditRecord }) {
  const name = record.target_name || record.target_id;
  if (record.target_type === "cluster")
    return (
      <RouteLink to="/clusters/$clusterId" params={{ clusterId: record.target_id }}>
        {name}
      </RouteLink>
    );
  if (record.target_type === "operation")
    return (
      <RouteLink to="/operations/$operationId" params={{ operationId: record.target_id }}>
        {name}
      </RouteLink>
    );
  return <>{name || "–"}</>;
}

function Details({ record }: { record: AuditRecord }) {
  return (
    <Fold summary="Before and after">
      <SpaceBetween size="s">
        <div className="json-pair">
          <Facts title="Before" facts={record.before} />
          <Facts title="After" facts={record.after} />
        </div>
        <div>
          <Box variant="awsui-key-label">Request</Box>
          {record.request_id ? <Copy value={record.request_id} label="request id" /> : "–"}
        </div>
      </SpaceBetween>
    </Fold>
  );
}

function Facts({ title, facts }: { title: string; facts: AuditRecord["before"] }) {
  return (
    <div>
      <Box variant="awsui-key-label">{title}</Box>
      {facts ? (
        <div className="facts-code">
          <Box variant="pre">{JSON.stringify(facts, null, 2)}</Box>
        </div>
      ) : (
        "–"
      )}
    </div>
  );
}

function Filter({
  filters,
  records,
  onChange,
}: {
  filters: Filters;
  records: AuditRecord[];
  onChange: (filters: Filters) => void;
}) {
  const seen = (key: "action" | "target_id") =>
    [...new Set(records.map((record) => record[key]))].map((value) => ({ propertyKey: key, value }));
  return (
    <PropertyFilter
      query={{
        operation: "and",
        tokens: PROPERTIES.flatMap(({ key }) => {
          const value = filters[key];
          return value ? [{ propertyKey: key, operator: "=", value }] : [];
        }),
      }}
      onChange={({ detail }) => {
        const next: Filters = {};
        for (const { propertyKey, value } of detail.tokens) {
          // Free text is most likely an action: "cluster.create", or only "cluster".
          const key = PROPERTIES.find((property) => property.key === propertyKey)?.key ?? "action";
          next[key] = String(value);
        }
        onChange(next);
      }}
      filteringProperties={PROPERTIES}
      filteringOptions={[...seen("action"), ...seen("target_id")]}
      hideOperations
      filteringPlaceholder="Find records by action, person or target"
      filteringAriaLabel="Find audit records"
      i18nStrings={{ filteringAriaLabel: "Find audit records", clearFiltersText: "Clear filters" }}
    />
  );
}
