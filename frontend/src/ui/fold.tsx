import type { ReactNode } from "react";

/** Details on demand, small enough for a table's cell or a list. */
export function Fold({
  summary,
  children,
  onToggle,
}: {
  summary: ReactNode;
  children: ReactNode;
  onToggle?: (isOpen: boolean) => void;
}) {
  return (
    <details className="fold" onToggle={(event) => onToggle?.(event.currentTarget.open)}>
      <summary>{summary}</summary>
      <div className="fold-content">{children}</div>
    </details>
  );
}
