"""Answers as tables for people; as JSON, text or bytes for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_FIRST = ("name", "id", "title", "email", "state", "status", "kind", "severity", "role", "cluster_name", "action")
_LONG = ("description", "message", "hint", "sentence", "certificate", "formula")
_COLUMNS = 7
_STYLES = {
    "active": "green",
    "succeeded": "green",
    "complete": "green",
    "failed": "red",
    "critical": "red",
    "blocked": "yellow",
    "degraded": "yellow",
    "warning": "yellow",
}


def console(*, error: bool = False) -> Console:
    """Wide where nobody looks, so that nothing is cut off in a pipe."""
    stream = sys.stderr if error else sys.stdout
    return Console(
        file=stream, width=None if stream.isatty() else 10_000, highlight=False, soft_wrap=not stream.isatty()
    )


def as_json(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")


def answer(found: Any, columns: Sequence[str] = ()) -> None:
    """A list as rows, a thing as its fields, anything else as it is."""
    match found:
        case None:
            return
        case bytes():
            sys.stdout.buffer.write(found)
        case str():
            sys.stdout.write(found)
        case {"items": list() as items, **others}:
            rows(items, columns)
            plain = {
                name: value for name, value in others.items() if value not in (None, [], {}) and name != "next_cursor"
            }
            if plain and not columns:
                fields(plain)
        case dict() if columns:
            rows([found], columns)
        case dict():
            fields(found)
        case _:
            as_json(found)


def rows(items: list[Any], columns: Sequence[str] = ()) -> None:
    if not items:
        console(error=True).print("Nothing here.", style="dim")
        return
    if not all(isinstance(one, dict) for one in items):
        sys.stdout.writelines(f"{_word(one)}\n" for one in items)
        return
    names = list(columns) or _columns(items)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(
            name.upper().replace("_", " "), no_wrap=name in ("id", "name") or not sys.stdout.isatty(), overflow="fold"
        )
    for one in items:
        table.add_row(*(_cell(_at(one, name)) for name in names))
    _print(table)


def fields(found: Mapping[Any, Any]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in found.items():
        if name != "allowed_actions":
            table.add_row(name.replace("_", " "), _cell(value, whole=True))
    _print(table)


def _print(table: Table) -> None:
    """Without the spaces that fill lines up."""
    screen = console()
    with screen.capture() as capture:
        screen.print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def _columns(items: list[dict[str, Any]]) -> list[str]:
    plain = [
        name
        for name in items[0]
        if any(isinstance(one.get(name), str | int | float) for one in items) and name not in _LONG
    ]
    first = [name for name in _FIRST if name in plain]
    return [*first, *(name for name in plain if name not in first and not name.endswith("_id"))][:_COLUMNS] or plain


def _at(found: Any, name: str) -> Any:
    for word in name.split("."):
        found = found.get(word) if isinstance(found, dict) else None
    return found


def _cell(value: Any, *, whole: bool = False) -> Text:
    if isinstance(value, dict | list) and not _is_plain(value):
        if not whole:
            return Text(f"{len(value)}", style="dim")
        return Text(_listed(value) if isinstance(value, list) else _pairs(value))
    word = _word(value)
    return Text(word, style=_STYLES.get(word, ""))


def _is_plain(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str | int | float) for one in value)


def _listed(value: list[Any]) -> str:
    return "\n".join(_pairs(one) if isinstance(one, dict) else _word(one) for one in value)


def _pairs(value: dict[str, Any]) -> str:
    shown = {name: one for name, one in value.items() if one not in (None, [], {}) and name != "allowed_actions"}
    return ", ".join(f"{name} {_word(one)}" for name, one in shown.items())


def _word(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str() if len(value) >= 19 and value[4:5] == "-" and value[10:11] == "T" and value[:4].isdigit():
            return f"{value[:10]} {value[11:19]}"
        case list() if _is_plain(value):
            return ", ".join(str(one) for one in value)
        case dict() | list():
            return f"({len(value)})"
    return str(value)
