"""How an operation goes: its steps as the console shows them, or a line for each change where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ringmaster.cli.show import console
from ringmaster.following import follow
from ringmaster.transport import Transport, answer_of

_SIGNS = {
    "pending": ("○", "dim"),
    "running": ("●", "cyan"),
    "done": ("✓", "green"),
    "undoing": ("↺", "yellow"),
    "undone": ("↺", "dim"),
    "skipped": ("–", "dim"),
}


class Picture(Protocol):
    def show(self, operation: dict[str, Any]) -> None: ...


def wait(transport: Transport, operation_id: str, *, timeout: float | None = None) -> dict[str, Any]:
    """The operation when it has succeeded. Raises as `follow`; Ctrl-C says how to go on waiting."""
    path, now = f"/api/v1/operations/{operation_id}", dict[str, Any]()
    try:
        with _picture() as picture:
            for now in follow(lambda: answer_of(transport.send("GET", path)), timeout=timeout, sleep=transport.sleep):
                picture.show(now)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nThe operation goes on. Follow it with `ringmaster operations wait {operation_id}`.\n")
        raise
    return now


@contextmanager
def _picture() -> Iterator[Picture]:
    if not sys.stderr.isatty():
        yield _Lines()
        return
    screen = console(error=True)
    with Live(console=screen, refresh_per_second=8, transient=False) as live:
        yield _Drawing(live, screen)


class _Lines:
    """A line when something is being done that was not before, and at the end."""

    def __init__(self) -> None:
        self._said = ""

    def show(self, operation: dict[str, Any]) -> None:
        doing = headline(operation) if operation["finished_at"] else operation["current"] or headline(operation)
        if doing != self._said:
            self._said = doing
            sys.stderr.write(f"{operation['progress']:4.0%}  {doing}\n")
            sys.stderr.flush()


class _Drawing:
    def __init__(self, live: Live, screen: Console) -> None:
        self._live, self._screen = live, screen

    def show(self, operation: dict[str, Any]) -> None:
        self._live.update(drawing(operation, lines=max(5, self._screen.size.height - 6)))


def drawing(operation: dict[str, Any], *, lines: int) -> Group:
    """The steps, `lines` of them at most: those around what is being done."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(width=1)
    table.add_column()
    table.add_column(style="dim", overflow="ellipsis", no_wrap=True)
    for step in around(operation["steps"], lines):
        sign, style = _SIGNS.get(step["state"], ("?", ""))
        target = f" · {step['target_title']}" if step["target_title"] else ""
        seconds = "" if step["duration_seconds"] is None else f"{step['duration_seconds']:.0f} s"
        table.add_row(Text(sign, style), Text(f"{step['title']}{target}"), Text(step["message"] or seconds))
    parts: list[Any] = [
        Text(headline(operation), style="bold"),
        bar(operation["progress"]),
        table,
    ]
    if words := standing(operation):
        parts.append(Text(words, style="yellow"))
    return Group(*parts)


def bar(progress: float) -> Text:
    """Forty signs wide. `progress` is 0 to 1."""
    filled = round(40 * progress)
    return Text.assemble(("━" * filled, "cyan"), ("─" * (40 - filled), "dim"))


def headline(operation: dict[str, Any]) -> str:
    """Create cluster shop: running, 40 %, 12 s, about 8 s left."""
    of = f" {operation['cluster_name']}" if operation["cluster_name"] else ""
    words = [operation["state"], f"{operation['progress']:.0%}", f"{operation['elapsed_seconds']:.0f} s"]
    if operation["eta_seconds"]:
        words.append(f"about {operation['eta_seconds']:.0f} s left")
    return f"{operation['title']}{of}: {', '.join(words)}"


def standing(operation: dict[str, Any]) -> str:
    """Why it does not move on; empty when it does."""
    if reason := operation["reason"]:
        return f"{reason['message']} {reason['hint']}".strip()
    if waits := operation["waits_for"]:
        return f"Waits for {waits['title']} ({waits['id']}): {waits['reason']}"
    return ""


def around(steps: list[dict[str, Any]], lines: int) -> list[dict[str, Any]]:
    """So many of the steps, with the first that is not done a third of the way down."""
    if len(steps) <= lines:
        return steps
    first = next((place for place, step in enumerate(steps) if step["state"] not in ("done", "skipped")), len(steps))
    start = max(0, min(first - lines // 3, len(steps) - lines))
    return steps[start : start + lines]
