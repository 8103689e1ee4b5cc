import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import DateRangePicker, { type DateRangePickerProps } from "@cloudscape-design/components/date-range-picker";
import Header from "@cloudscape-design/components/header";
import PropertyFilter from "@cloudscape-design/components/property-filter";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type AuditRecord, auditChainQuery, auditQuery, fetchAudit } from "../api";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { download } from "../hooks/use-download";
import { useTitle } from "../hooks/use-title";
import { CursorTable } from "../table/cursor-table";
import { Copy } from "../ui/copy";
import { Fold } from "../ui/fold";
import { againstTime, alertTime } from "../util/alert-time";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/audit");

interface Filters {
  action?: string;
  actor?: string;
  target_id?: string;
  q?: string;
}

interface Time {
  from?: string;
  to?: string;
}

const EXPORTS = [
  { id: "jsonl", text: "JSON lines", name: "audit.jsonl" },
  { id: "csv", text: "CSV", name: "audit.csv" },
] as const;

const RANGES: DateRangePickerProps.RelativeOption[] = [
  { key: "hour", amount: 1, unit: "hour", type: "relative" },
  { key: "day", amount: 1, unit: "day", type: "relative" },
  { key: "week", amount: 1, unit: "week", type: "relative" },
  { key: "month", amount: 30, unit: "day", type: "relative" },
];

const PROPERTIES = [
  { key: "action", propertyLabel: "Action", groupValuesLabel: "Actions", operators: ["="] },
  { key: "actor", propertyLabel: "Who", groupValuesLabel: "People", operators: ["="] },
  { key: "target_id", propertyLabel: "Target id", groupValuesLabel: "Target ids", operators: ["="] },
  { key: "q", propertyLabel: "Words", groupValuesLabel: "Words", operators: ["="] },
] as const;

export function AuditPage() {
  useTitle("Audit log");
  const navigate = route.useNavigate();
  const { after, ...wanted } = route.useSearch();
  const { from, to, ...filters } = wanted;
  const records = useQuery(auditQuery({ ...wanted, cursor: lastCursor(after) }));
  const isFiltered = Object.values(wanted).some((value) => value !== undefined);
  const show = (next: Filters & Time) => void navigate({ search: next, replace: true });
  const save = (id: string) => {
    const chosen = EXPORTS.find((each) => each.id === id);
    if (chosen !== undefined) void download(chosen.name, fetchAudit({ ...wanted, format: chosen.id }));
  };

  return (
    <CursorTable
      noun="audit records"
      page={records}
      columns={columns}
      cursors={after}
      onCursors={(cursors) => void navigate({ search: { ...wanted, after: cursors } })}
      header={
        <Header
          variant="h1"
          description="Every change: who, what, from where, before and after."
          actions={
            <ButtonDropdown
              items={EXPORTS.map(({ id, text }) => ({ id, text }))}
              onItemClick={({ detail }) => save(detail.id)}
            >
              Export
            </ButtonDropdown>
          }
        >
          Audit log
        </Header>
      }
      filter={
        <SpaceBetween size="s">
          <SpaceBetween direction="horizontal" size="s">
            <Filter
              filters={filters}
              records={records.data?.items ?? []}
              onChange={(next) => show({ ...next, from, to })}
            />
            <TimeRange time={{ from, to }} onChange={(time) => show({ ...filters, ...time })} />
          </SpaceBetween>
          <ChainEnd />
        </SpaceBetween>
      }
      empty={
        isFiltered ? (
          <SpaceBetween size="m" alignItems="center">
            <Box color="inherit">No record matches.</Box>
            <Button onClick={() => show({})}>Clear filters</Button>
          </SpaceBetween>
        ) : (
          <Box color="inherit">Nothing was changed yet.</Box>
        )
      }
    />
  );
}

/** Where the chain ends: whoever keeps the hash elsewhere can tell later whether a record was changed. */
function ChainEnd() {
  const { data: chain } = useQuery(auditChainQuery());
  if (!chain?.last_record_at) return null;
  return (
    <Box color="text-body-secondary" fontSize="body-s">
      {chain.sequence} records are tied by hashes, the last one <Moment at={chain.last_record_at} />
      {chain.waiting > 0 && `; ${chain.waiting} will be in some seconds`}. Keep the end of the chain elsewhere, to tell
      later whether one was changed:{" "}
      <Copy value={`${chain.organisation_id}:${chain.sequence}:${chain.hash}`} label="end of the chain" />
    </Box>
  );
}

function TimeRange({ time, onChange }: { time: Time; onChange: (time: Time) => void }) {
  const shown: DateRangePickerProps.Value | null =
    time.from && time.to ? { type: "absolute", startDate: time.from, endDate: time.to } : null;
  return (
    <DateRangePicker
      value={againstTime(shown) === undefined ? shown : null}
      relativeOptions={RANGES}
      placeholder="From the beginning to now"
      i18nStrings={{ ariaLabel: "From when to when" }}
      isValidRange={(value) => {
        const wrong = againstTime(value);
        return wrong === undefined ? { valid: true } : { valid: false, errorMessage: wrong };
      }}
      onChange={({ detail: { value } }) => {
        const now = Date.now();
        onChange(value === null ? {} : { to: new Date(now).toISOString(), ...alertTime(value, now) });
      }}
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
          const key = PROPERTIES.find((property) => property.key === propertyKey)?.key ?? "q";
          next[key] = key === "q" && next.q ? `${next.q} ${value}` : String(value);
        }
        onChange(next);
      }}
      filteringProperties={PROPERTIES}
      filteringOptions={[...seen("action"), ...seen("target_id")]}
      hideOperations
      filteringPlaceholder="Find records by words, action, person or target"
      filteringAriaLabel="Find audit records"
      i18nStrings={{ filteringAriaLabel: "Find audit records", clearFiltersText: "Clear filters" }}
    />
  );
}
