"""An operation in the terminal: one row per kind of step, one cell per node; plain lines where there is no terminal."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

_SIGNS = {"done": "✓", "running": "●", "undoing": "↺", "undone": "↺", "skipped": "–", "pending": "·"}
_COLOURS = {"done": "32", "running": "36", "undoing": "33", "undone": "33", "skipped": "2", "pending": "2"}
_TITLE_WIDTH = 42


@dataclass(frozen=True)
class Cell:
    """One step: on one node, or the only one of its row. `seconds` is None until it has begun."""

    label: str
    state: str
    seconds: float | None
    attempt: int
    message: str


@dataclass(frozen=True)
class Row:
    """The same step on all its nodes."""

    title: str
    cells: tuple[Cell, ...]

    @property
    def state(self) -> str:
        states = {cell.state for cell in self.cells}
        for state in ("undoing", "running"):
            if state in states:
                return state
        if len(states) == 1:
            return states.pop()
        # Some done, others not begun: under way.
        return "running" if "done" in states and "pending" in states else max(states)

    @property
    def seconds(self) -> float | None:
        """How long the slowest took, or has taken so far."""
        known = [cell.seconds for cell in self.cells if cell.seconds is not None]
        return max(known) if known else None


def rows(steps: Sequence[Mapping[str, Any]], *, now: datetime) -> list[Row]:
    """The API's list of steps as rows, in the plan's order."""
    grouped: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for step in sorted(steps, key=lambda step: int(step["position"])):
        grouped.setdefault((int(step["group"]), str(step["title"])), []).append(step)
    labels = _short({str(step["target_title"]) for step in steps if step.get("target_title")})
    return [
        Row(
            title,
            tuple(
                Cell(
                    labels.get(str(step.get("target_title") or ""), ""),
                    str(step["state"]),
                    _seconds(step, now),
                    int(step.get("attempt") or 0),
                    str(step.get("message") or ""),
                )
                for step in members
            ),
        )
        for (_, title), members in grouped.items()
    ]


def render(operation: Mapping[str, Any], *, now: datetime, width: int, colour: bool) -> list[str]:
    """The picture of an operation, no line longer than `width` columns."""
    done, total = int(operation["steps_done"]), int(operation["steps_total"])
    # The title alone, should the cluster's name be part of it already or there be no cluster.
    name = str(operation.get("cluster_name") or "")
    title = str(operation["title"]) if name in str(operation["title"]) else f"{operation['title']} {name}"
    head = f"{title}: {operation['state']}, {done} of {total} steps, {operation['elapsed_seconds']:.0f} s"
    eta = operation.get("eta_seconds")
    if eta is not None and operation["state"] == "running":
        head += f", about {eta:.0f} s to go"
    lines = [_paint(_cut(head, width), "1", colour)]
    for row in rows(operation.get("steps") or [], now=now):
        duration = "" if row.seconds is None else f"{row.seconds:.1f} s"
        text = f"  {_SIGNS[row.state]} {row.title:<{_TITLE_WIDTH}} {duration:>8}"
        labelled = [cell for cell in row.cells if cell.label]
        if labelled and row.state in {"running", "undoing"}:
            text += "   " + "  ".join(_cell(cell) for cell in labelled)
        lines.append(_paint(_cut(text, width), _COLOURS[row.state], colour))
        lines += [
            _paint(_cut(f"      {cell.message} (attempt {cell.attempt})", width), "33", colour)
            for cell in row.cells
            if cell.state == "running" and cell.attempt > 1 and cell.message
        ]
    return lines


class Progress:
    """Shows an operation as it goes on: repainted in place on a terminal, a line per finished step elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._painted = 0
        self._told: set[int] = set()
        self._troubles: dict[int, str] = {}

    def show(self, operation: Mapping[str, Any]) -> None:
        """Show the operation as it is now."""
        if self._is_terminal:
            self._repaint(operation)
        else:
            self._tell(operation)

    def _repaint(self, operation: Mapping[str, Any]) -> None:
        size = shutil.get_terminal_size()
        lines = render(operation, now=datetime.now(UTC), width=size.columns - 1, colour=True)
        # More lines than the screen has could not be painted over; the end is what matters.
        lines = lines[:1] + lines[1:][-(size.lines - 3) :]
        back = f"\x1b[{self._painted}F" if self._painted else ""
        self._out.write(back + "\x1b[0J" + "\n".join(lines) + "\n")
        self._out.flush()
        self._painted = len(lines)

    def _tell(self, operation: Mapping[str, Any]) -> None:
        for step in operation.get("steps") or []:
            position = int(step["position"])
            what = f"{step['title']} · {step['target_title']}" if step.get("target_title") else str(step["title"])
            if step["state"] in {"done", "undone", "skipped"} and position not in self._told:
                self._told.add(position)
                seconds = _seconds(step, datetime.now(UTC))
                duration = "" if seconds is None else f" ({seconds:.1f} s)"
                self._out.write(f"  {_SIGNS[step['state']]} {what}{duration}\n")
            elif step["state"] == "running" and (step.get("overdue") or int(step.get("attempt") or 0) > 1):
                # Once for each new message: a log must tell why nothing goes on.
                message = str(step.get("message") or "takes longer than usual")
                if self._troubles.get(position) != message:
                    self._troubles[position] = message
                    self._out.write(f"  {_SIGNS['running']} {what}: {message}\n")
        self._out.flush()


def _cell(cell: Cell) -> str:
    seconds = "" if cell.seconds is None else f" {cell.seconds:.0f} s"
    return f"{_SIGNS[cell.state]} {cell.label}{seconds}"


def _seconds(step: Mapping[str, Any], now: datetime) -> float | None:
    if step.get("duration_seconds") is not None:
        return float(step["duration_seconds"])
    if not step.get("started_at") or step["state"] == "pending":
        return None
    return max(0.0, (now - datetime.fromisoformat(str(step["started_at"]))).total_seconds())


def _short(titles: set[str]) -> dict[str, str]:
    """Node names without the words they all begin with: demo-local-1a-1 and demo-local-1b-1 become 1a-1 and 1b-1."""
    words = {title: title.split("-") for title in titles}
    shared = 0
    while len(titles) > 1 and len({tuple(parts[: shared + 1]) for parts in words.values()}) == 1:
        shared += 1
    return {title: "-".join(parts[shared:]) for title, parts in words.items()}


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
