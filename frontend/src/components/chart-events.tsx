import { Link } from "@tanstack/react-router";
import type { Metrics } from "../api";
import { fullTime } from "../util/chart-data";

/** An operation as charts show it; times in seconds since 1970. */
export interface ChartEvent {
  id: string;
  title: string;
  state: string;
  startedAt: number;
  finishedAt: number | null;
}

export function chartEvents({ events }: Metrics): ChartEvent[] {
  return events.map(({ operation_id, title, state, started_at, finished_at }) => ({
    id: operation_id,
    title,
    state,
    startedAt: Date.parse(started_at) / 1000,
    finishedAt: finished_at === null ? null : Date.parse(finished_at) / 1000,
  }));
}

/** Markers nearer to each other than this share of the width are one. */
const NEAR = 0.04;

/** Above a chart: where operations began, each a link to what it did. */
export function ChartEvents({ events, span: [from, to] }: { events: ChartEvent[]; span: [number, number] }) {
  const groups: { share: number; events: ChartEvent[] }[] = [];
  for (const event of events) {
    const share = (Math.max(event.startedAt, from) - from) / (to - from);
    if (share > 1) continue;
    const last = groups.at(-1);
    if (last && share - last.share < NEAR) last.events.push(event);
    else groups.push({ share, events: [event] });
  }
  if (groups.length === 0) return null;
  return (
    <div className="chart-events">
      {groups.map(({ share, events }) => {
        const newest = events.at(-1) as ChartEvent;
        const words = events.map(({ title, state, startedAt }) => `${title}, ${state}, ${fullTime(startedAt)}`);
        return (
          <Link
            key={newest.id}
            to="/operations/$operationId"
            params={{ operationId: newest.id }}
            className={share > 0.5 ? "chart-event chart-event-late" : "chart-event"}
            style={{ insetInlineStart: `${share * 100}%` }}
            aria-label={words.join("; ")}
          >
            <span aria-hidden="true">{events.length > 1 ? events.length : "◆"}</span>
            <span className="chart-event-words" aria-hidden="true">
              {words.map((each) => (
                <span key={each}>{each}</span>
              ))}
            </span>
          </Link>
        );
      })}
    </div>
  );
}
