import Box from "@cloudscape-design/components/box";
import type { Opening } from "../api";
import { type DayOfOpenings, daysOf } from "../util/openings";

const DAY_HOURS = 24;
const MARKS = [0, 6, 12, 18, 24];

/** The next two weeks in the reader's own zone, an hour scale for each day, with what is open drawn in. */
export function OpeningsCalendar({ openings, now }: { openings: Opening[]; now: number }) {
  if (openings.length === 0) return null;
  return (
    <figure className="openings">
      <Box variant="awsui-key-label">Open in the next two weeks, in your own time</Box>
      <div className="openings-scale" aria-hidden="true">
        {MARKS.map((hour) => (
          <span key={hour}>{`${hour}:00`}</span>
        ))}
      </div>
      {daysOf(openings, now).map((day) => (
        <Day key={day.label} day={day} />
      ))}
    </figure>
  );
}

function Day({ day }: { day: DayOfOpenings }) {
  return (
    <div className="openings-day">
      <span>{day.label}</span>
      <svg
        role="img"
        aria-label={`${day.label}: ${day.said}`}
        width="100%"
        height={14}
        viewBox={`0 0 ${DAY_HOURS} 1`}
        preserveAspectRatio="none"
      >
        <rect width={DAY_HOURS} height={1} className="openings-closed" />
        {day.open.map(({ from, to }) => (
          <rect key={from} x={from} width={to - from} height={1} className="openings-open" />
        ))}
      </svg>
    </div>
  );
}
