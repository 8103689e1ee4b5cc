"""Options for the parameters and body fields of an operation, and the request that what was given makes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

Row = dict[str, Any]

OWN = frozenset(
    {"json", "all", "columns", "output", "wait", "timeout", "yes", "dry-run", "file", "idempotency-key", "help"}
)
"""Options that a command has besides those of its operation."""
_KINDS: dict[str, click.ParamType[Any]] = {
    "string": click.STRING,
    "integer": click.INT,
    "number": click.FLOAT,
}


class _OrNull(click.ParamType[Any]):
    """The word null is JSON's null."""

    def __init__(self, inner: click.ParamType[Any]) -> None:
        self.inner, self.name = inner, inner.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _NULL if value in ("null", _NULL) else self.inner.convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self.inner.get_metavar(param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        return self.inner.shell_complete(ctx, param, incomplete)


class _Null:
    def __repr__(self) -> str:
        return "null"


_NULL = _Null()


class _Json(click.ParamType[Any]):
    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError as problem:
            self.fail(f"{value!r} is not JSON: {problem}", param, ctx)


class _Pair(click.ParamType[Any]):
    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, sign, text = str(value).partition("=")
        if not sign:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, text


def options(rows: list[Row], prefix: str, taken: set[str]) -> list[click.Option]:
    """An option for each row, under a name that no other has; those names are added to `taken`."""
    return [_option(row, prefix, _flag(row["name"], taken)) for row in rows]


def _flag(name: str, taken: set[str]) -> str:
    flag = name.replace("_", "-")
    flag = f"field-{flag}" if flag in taken or flag in OWN else flag
    taken.add(flag)
    return flag


def _option(row: Row, prefix: str, flag: str) -> click.Option:
    variable = f"{prefix}{row['name']}"
    said = row["help"]
    if "of" in row:
        said = f"[{', '.join(row['of'])}] {said}".strip()
    if "default" in row:
        said = f"{said} (default: {json.dumps(row['default'])})".strip()
    if row.get("required"):
        said = f"{said} [required]".strip()
    if row["type"] == "boolean" and not row.get("nullable"):
        return click.Option([f"--{flag}/--no-{flag}", variable], default=None, help=said)
    kind: click.ParamType[Any]
    if row["type"] == "boolean":
        kind = click.BOOL
    elif row["type"] == "map":
        kind = _Pair()
    elif row["type"] == "json":
        kind = _Json()
    else:
        kind = click.Choice(row["choices"]) if "choices" in row else _KINDS[row["type"]]
    if row.get("nullable") and row["type"] != "json":
        kind = _OrNull(kind)
    many = bool(row.get("many")) or row["type"] == "map"
    return click.Option([f"--{flag}", variable], type=kind, multiple=many, default=None, help=said)


def given(rows: list[Row], prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    """What was said on the command line, as the API takes it."""
    found: dict[str, Any] = {}
    for row in rows:
        value = values.get(f"{prefix}{row['name']}")
        if value is None or value == ():
            continue
        if value is _NULL:
            value = None
        elif row["type"] == "map":
            value = None if _NULL in value else dict(value)
        elif row.get("many"):
            value = None if _NULL in value else list(value)
        found[row["name"]] = value
    return found


def body(rows: list[Row], prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    """The request's body: what --file has, and over it what options say. Raises UsageError."""
    file = values.get("file")
    document: dict[str, Any] = {}
    if file is not None:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
        try:
            document = json.loads(text)
        except ValueError as problem:
            raise click.UsageError(f"--file is not JSON: {problem}") from problem
        if not isinstance(document, dict):
            raise click.UsageError("--file must hold a JSON object.")
    document |= given(rows, prefix, values)
    missing = [row["name"] for row in rows if row["required"] and row["name"] not in document]
    if missing:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise click.UsageError(f"Missing: {flags} (or the same in --file).")
    return document
