import { formatAge, formatMoment } from "../util/duration";

/** A moment in full; with `now`, how long ago or in how long, and in full as its tooltip. */
export function Moment({ at, now }: { at: string | null | undefined; now?: number }) {
  if (!at) return <>–</>;
  const full = formatMoment(at);
  return (
    <time dateTime={at} title={now === undefined ? undefined : full}>
      {now === undefined ? full : formatAge(at, now)}
    </time>
  );
}
