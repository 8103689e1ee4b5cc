import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type KeyboardEvent, useRef, useState } from "react";
import type { AnswerFlame } from "../api";
import { type FlameBox, flameAt, flameBoxes } from "../util/answers";

const ROW = 20;
const DEEPEST = 60;

/** In which functions time is spent: each stands below what called it, as wide as its share. Choose one to see it alone. */
export function FlameGraph({ flame }: { flame: AnswerFlame }) {
  const [path, setPath] = useState<number[]>([]);
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const root = flameAt(flame.root, path);
  const boxes = flameBoxes(root, DEEPEST);
  if (boxes.length === 0) return <Box color="text-body-secondary">The engine was seen doing nothing.</Box>;
  const rows = Math.max(...boxes.map(({ depth }) => depth)) + 1;

  const show = (next: number[]) => {
    setPath(next);
    setAt(0);
    (list.current?.querySelector("button") as HTMLButtonElement | null)?.focus();
  };
  const choose = (box: FlameBox) => show([...path, ...box.path]);
  const move = (event: KeyboardEvent, from: number) => {
    const next = neighbour(boxes, from, event.key);
    if (event.key === "Escape" && path.length > 0) show(path.slice(0, -1));
    else if (next === undefined) return;
    else {
      setAt(next);
      (list.current?.children[next]?.firstElementChild as HTMLButtonElement | null)?.focus();
    }
    event.preventDefault();
  };
  return (
    <SpaceBetween size="xs">
      <SpaceBetween direction="horizontal" size="xs" alignItems="center">
        <Button disabled={path.length === 0} disabledReason="All is shown." onClick={() => show([])}>
          Show all
        </Button>
        <Box color="text-body-secondary">
          {boxes[at] && describe(boxes[at], flame.samples)} Arrows move, Enter shows one alone, Escape goes back.
        </Box>
      </SpaceBetween>
      <ul ref={list} className="flame" style={{ blockSize: rows * ROW }} aria-label="Flame graph">
        {boxes.map((box, index) => (
          <li
            key={box.path.join(".")}
            style={{
              insetBlockStart: box.depth * ROW,
              insetInlineStart: `${box.from * 100}%`,
              inlineSize: `${box.share * 100}%`,
            }}
          >
            <button
              type="button"
              tabIndex={index === at ? 0 : -1}
              className={`flame-${tone(box.node.name)}`}
              title={describe(box, flame.samples)}
              aria-label={describe(box, flame.samples)}
              onFocus={() => setAt(index)}
              onMouseEnter={() => setAt(index)}
              onClick={() => choose(box)}
              onKeyDown={(event) => move(event, index)}
            >
              {box.share > 0.02 && short(box.node.name)}
            </button>
          </li>
        ))}
      </ul>
    </SpaceBetween>
  );
}

function describe({ node }: FlameBox, all: number): string {
  const share = ((node.samples / all) * 100).toLocaleString("en", { maximumFractionDigits: 1 });
  return `${node.name}: ${share} % of the samples.`;
}

/** Class and method, without packages. */
function short(name: string): string {
  return name.split(".").slice(-2).join(".");
}

/** The engine's own code, its libraries, and the JDK's, apart. */
function tone(name: string): "engine" | "jdk" | "library" | "thread" {
  if (name.startsWith("org.apache.cassandra.")) return "engine";
  if (/^(java|jdk|sun|javax)\./.test(name)) return "jdk";
  return name.includes(".") ? "library" : "thread";
}

function neighbour(boxes: FlameBox[], from: number, key: string): number | undefined {
  const here = boxes[from];
  if (!here) return undefined;
  const find = (matches: (box: FlameBox) => boolean) => {
    const found = boxes.findIndex(matches);
    return found < 0 ? undefined : found;
  };
  const row = boxes.flatMap((box, index) => (box.depth === here.depth ? [index] : []));
  switch (key) {
    case "ArrowUp":
      return find(({ path }) => path.join() === here.path.slice(0, -1).join() && here.path.length > 0);
    case "ArrowDown":
      return find(({ path }) => path.join() === [...here.path, 0].join());
    case "ArrowLeft":
      return row[row.indexOf(from) - 1];
    case "ArrowRight":
      return row[row.indexOf(from) + 1];
    default:
      return undefined;
  }
}
