import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type Cluster, type RepairMap as RingMap, repairMapQuery, useLiveQuery } from "../api";
import { QueryView } from "./query-view";

const STATES = ["done", "running", "waiting", "given-up"] as const;
const WORDS: Record<(typeof STATES)[number], string> = {
  done: "Repaired",
  running: "Being repaired",
  waiting: "Failed, to be tried again",
  "given-up": "Given up",
};
const HEIGHT = 12;

/** Which parts of the ring a run has repaired, table by table, and what each node does for it now. */
export function RepairMap({ cluster, runId, isLive }: { cluster: Cluster; runId: string; isLive: boolean }) {
  const map = useLiveQuery(repairMapQuery(cluster.id, runId), () => isLive);
  return (
    <Container header={<Header variant="h2">Progress by token range and node</Header>}>
      <QueryView query={map} lines={4}>
        {(data) => (
          <SpaceBetween size="m">
            <Legend />
            {data.tables.length === 0 && <Box color="text-body-secondary">No table needed a repair.</Box>}
            {data.tables.map((table) => (
              <TableBar key={`${table.keyspace}.${table.table}`} table={table} cells={data.cells} />
            ))}
            <KeyValuePairs
              columns={3}
              items={data.nodes.map((node) => ({
                label: `${node.name} (${node.zone})`,
                value:
                  node.segments.length === 0
                    ? "Idle"
                    : node.segments
                        .map(({ keyspace, tables, coordinator }) => {
                          const what =
                            tables.length === 1 ? `${keyspace}.${tables[0]}` : `${tables.length} tables of ${keyspace}`;
                          return coordinator ? `${what}, coordinates` : what;
                        })
                        .join("; "),
              }))}
            />
          </SpaceBetween>
        )}
      </QueryView>
    </Container>
  );
}

function Legend() {
  return (
    <SpaceBetween direction="horizontal" size="m">
      {STATES.map((state) => (
        <Box key={state} fontSize="body-s" color="text-body-secondary">
          <svg aria-hidden="true" width={HEIGHT} height={HEIGHT}>
            <rect width={HEIGHT} height={HEIGHT} className={`repair-${state}`} />
          </svg>{" "}
          {WORDS[state]}
        </Box>
      ))}
    </SpaceBetween>
  );
}

function TableBar({ table, cells }: { table: RingMap["tables"][number]; cells: number }) {
  const shares = STATES.map((state) => ({
    state,
    share: table.cells.reduce((sum, cell) => sum + (cell[state] ?? 0), 0) / cells,
  })).filter(({ share }) => share > 0);
  const name = `${table.keyspace}.${table.table}`;
  const said = shares
    .map(({ state, share }) => `${WORDS[state].toLowerCase()} ${Math.round(share * 100)} %`)
    .join(", ");
  return (
    <div>
      <Box fontSize="body-s">{name}</Box>
      <svg
        role="img"
        aria-label={`${name}: ${said || "to come"}`}
        width="100%"
        height={HEIGHT}
        viewBox={`0 0 ${cells} 1`}
        preserveAspectRatio="none"
      >
        <rect width={cells} height={1} className="repair-to-come" />
        {table.cells.map((cell, at) => {
          let from = 0;
          return STATES.map((state) => {
            const share = cell[state] ?? 0;
            const x = at + from;
            from += share;
            return share > 0 && <rect key={`${x}`} x={x} width={share} height={1} className={`repair-${state}`} />;
          });
        })}
      </svg>
    </div>
  );
}
