const WIDTH = 48;
const HEIGHT = 18;

/** The shape of a number over time, beside the number itself; what is not known is a gap. */
export function Sparkline({ values }: { values: (number | null)[] }) {
  const path = sparkPath(values);
  if (path === "") return null;
  return (
    <svg className="sparkline" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

/** From 0 to the highest value. Exported for its test. */
export function sparkPath(values: (number | null)[]): string {
  const most = Math.max(...values.map((value) => value ?? 0));
  const step = (WIDTH - 2) / Math.max(1, values.length - 1);
  let isDrawing = false;
  return values
    .flatMap((value, index) => {
      if (value === null) {
        isDrawing = false;
        return [];
      }
      const verb = isDrawing ? "L" : "M";
      isDrawing = true;
      const y = HEIGHT - 2 - (most > 0 ? (value / most) * (HEIGHT - 4) : 0);
      return [`${verb}${(1 + index * step).toFixed(1)} ${y.toFixed(1)}`];
    })
    .join("");
}
