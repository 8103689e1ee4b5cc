import Box from "@cloudscape-design/components/box";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import type { CqlTrace } from "../api";
import { formatMicroseconds, traceLength, traceNodes } from "../util/cql";

// As many as there are styles for in console.css; more nodes begin again.
const SHADES = 6;

/** What the nodes did for a statement, and when. */
export function CqlTraceView({ trace }: { trace: CqlTrace }) {
  const length = traceLength(trace);
  const nodes = traceNodes(trace);
  const shade = (source: string) => `cql-shade-${nodes.findIndex((node) => node.source === source) % SHADES}`;
  const share = (at: number) => `${(100 * at) / length}%`;
  return (
    <SpaceBetween size="m">
      <KeyValuePairs
        columns={4}
        items={[
          { label: "Took", value: trace.microseconds === null ? "not told" : formatMicroseconds(trace.microseconds) },
          { label: "Coordinator", value: trace.coordinator },
          { label: "Nodes", value: nodes.length },
          { label: "Events", value: trace.events.length },
        ]}
      />
      {trace.microseconds === null && (
        <Box color="text-status-warning">The engine had not written all of it down yet: events may be missing.</Box>
      )}
      <section aria-label="Time line" className="cql-lines">
        {nodes.map(({ source, events, from, to }) => (
          <div key={source} className="cql-line">
            <span className="cql-line-name">{source}</span>
            <span
              className="cql-line-bar"
              role="img"
              aria-label={`${source}: ${events} events from ${formatMicroseconds(from)} to ${formatMicroseconds(to)}`}
            >
              <span
                className={`cql-line-span ${shade(source)}`}
                style={{ insetInlineStart: share(from), inlineSize: `max(3px, ${share(to - from)})` }}
              />
              {trace.events
                .filter((event) => event.source === source)
                .map(({ offset_microseconds: at }, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: events never move
                  <span key={index} className="cql-line-event" style={{ insetInlineStart: share(at) }} />
                ))}
            </span>
            <span className="cql-line-end">{formatMicroseconds(to)}</span>
          </div>
        ))}
      </section>
      <Table
        variant="borderless"
        wrapLines
        items={trace.events.map((event, index) => ({ ...event, index }))}
        trackBy={({ index }) => String(index)}
        ariaLabels={{ tableLabel: "Events" }}
        empty={<Box color="inherit">There are no events.</Box>}
        columnDefinitions={[
          { id: "at", header: "At", cell: ({ offset_microseconds: at }) => formatMicroseconds(at), minWidth: 70 },
          {
            id: "source",
            header: "Node",
            minWidth: 130,
            cell: ({ source }) => (
              <span className="cql-source">
                <span aria-hidden className={`cql-dot ${shade(source)}`} /> {source}
              </span>
            ),
          },
          {
            id: "activity",
            header: "Activity",
            isRowHeader: true,
            minWidth: 240,
            cell: ({ activity, thread }) => (
              <>
                {activity}
                <Box variant="small" display="block">
                  {thread}
                </Box>
              </>
            ),
          },
          {
            id: "elapsed",
            header: "Since the node began",
            minWidth: 90,
            cell: ({ elapsed_microseconds: since }) => (since === null ? "–" : formatMicroseconds(since)),
          },
        ]}
      />
    </SpaceBetween>
  );
}
