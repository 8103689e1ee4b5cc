import Box from "@cloudscape-design/components/box";
import { formatSpent } from "../util/money";
import { treemapCells } from "../util/treemap";

export interface CostPart {
  id: string;
  name: string;
  /** A second line: whose it is. */
  of?: string;
  micros: number;
}

const ASPECT = 5;
// As many as there are styles for in console.css; more parts begin again.
const SHADES = 5;
// Smaller than this, in percent of the whole, nothing can be read.
const READABLE = { width: 9, height: 18 };

/** What was spent, as areas. The same numbers stand in the table that it belongs to. */
export function CostTreemap({ parts }: { parts: CostPart[] }) {
  const cells = treemapCells(parts, ASPECT);
  if (cells.length === 0) return null;
  return (
    <div
      className="treemap"
      role="img"
      aria-label={`Areas by cost: ${cells.map(({ part }) => `${part.name} ${formatSpent(part.micros)}`).join(", ")}`}
    >
      {cells.map(({ part, left, top, width, height }, index) => (
        <div
          key={part.id}
          className={`treemap-cell treemap-shade-${index % SHADES}`}
          title={`${part.name}${part.of ? ` (${part.of})` : ""}: ${formatSpent(part.micros)}`}
          style={{
            insetInlineStart: `${left}%`,
            insetBlockStart: `${top}%`,
            inlineSize: `${width}%`,
            blockSize: `${height}%`,
          }}
        >
          {width > READABLE.width && height > READABLE.height && (
            <>
              <Box variant="strong" color="inherit">
                {part.name}
              </Box>
              <div>{formatSpent(part.micros)}</div>
            </>
          )}
        </div>
      ))}
    </div>
  );
}
