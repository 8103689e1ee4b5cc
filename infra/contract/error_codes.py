"""Every error code that the API can answer, found in the sources: docs/errors.md and the list in the OpenAPI file.

`python -m infra.contract.error_codes` writes both. A code is the first argument of a DomainError, or of one of the few
functions and classes that carry it to one (CARRIERS). A code that is found neither way ends this with an error, so that
none is left out.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = CHECKOUT / "backend"
LISTED = SOURCES / "config" / "error_codes.json"
PAGE = CHECKOUT / "docs" / "errors.md"
_ROOT = "DomainError"

# By file or folder: what takes a code besides errors themselves, at which place (or under which name), and its status.
CARRIERS: dict[str, dict[str, tuple[int | str, int]]] = {
    "access/actions.py": {"_refuse": (0, 409), "_raise": (1, 422)},
    "alerts/receiver_actions.py": {"_check_rate": (1, 429)},
    "cloud_accounts/room.py": {"Shortage": ("code", 409)},
    "changes/": {"Refused": (0, 409), "__init__": (0, 409), "_unknown": (0, 422)},
    "clusters/ceilings.py": {"Exceeded": (0, 409)},
    "clusters/ordering.py": {"add": (0, 422), "unknown": (0, 422)},
    "console/cql.py": {"NotOneStatement": (0, 422)},
}
_WRONG_WORD = "wrong_word"
"""With it a refusal of a change is of the request, not of the cluster's state."""
# What ends in an error elsewhere: these hand on a code that a carrier was given.
_HANDED_ON = {"access/actions.py", "alerts/receiver_actions.py", "clusters/ordering.py", "console/actions.py"}

_HEAD = """# Error codes

Every answer that is not a success has one body: `{"error": {"code", "message", "hint", "field", "request_id", …}}`.
The code is stable and for programs; message and hint are for people and may change. A code has a line for each case
that it stands for, and `…` for what differs within it. Each installation shows them too, under **API reference**,
**Error codes**: `docs_url` of an error leads there, to its code. This page is made from the sources by `make generate`.
"""


class UnknownCodeError(RuntimeError):
    """A code that this module cannot read. The text says where, and what to do."""


@dataclass(frozen=True)
class Place:
    """Where an error is made. `says` and `hint` as far as they are written down beside the code; else empty."""

    code: str
    status: int
    says: str
    hint: str
    line: int


@dataclass(frozen=True, order=True)
class Case:
    """What goes with a code at one place of the sources. `says` and `hint`, what to do, may be empty."""

    status: int
    says: str
    hint: str


def sources() -> dict[str, ast.Module]:
    """The backend's modules by their files."""
    return {
        str(file.relative_to(SOURCES)): ast.parse(file.read_text())
        for file in sorted(SOURCES.rglob("*.py"))
        if not {"tests", "migrations"} & set(file.relative_to(SOURCES).parts)
    }


def found() -> dict[str, list[Case]]:
    """All codes by their names, each with its cases. Raises UnknownCodeError."""
    trees = sources()
    errors = errors_of(trees)
    codes: dict[str, set[Case]] = defaultdict(set)
    for name, tree in trees.items():
        for place in places(name, tree, errors):
            codes[place.code].add(Case(place.status, place.says, place.hint))
    return {code: _telling(cases) for code, cases in sorted(codes.items())}


def _telling(cases: set[Case]) -> list[Case]:
    """Without those that say less than another of the same status does."""

    def says_less(one: Case, other: Case) -> bool:
        return one.status == other.status and (
            (not one.says and bool(other.says)) or (one.says == other.says and not one.hint and bool(other.hint))
        )

    return sorted(one for one in cases if not any(says_less(one, other) for other in cases))


def main() -> int:
    codes = found()
    listed = {code: [asdict(one) for one in cases] for code, cases in codes.items()}
    LISTED.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(codes))
    return 0


def page(codes: dict[str, list[Case]]) -> str:
    parts = [_HEAD]
    for status in sorted({one.status for cases in codes.values() for one in cases}):
        rows = [
            f"| `{code}` | {_cell(one.says)} | {_cell(one.hint)} |"
            for code, cases in codes.items()
            for one in cases
            if one.status == status
        ]
        head = [f"## {status} {HTTPStatus(status).phrase}", "", "| code | says | what to do |", "|---|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def errors_of(trees: dict[str, ast.Module]) -> dict[str, int]:
    """The classes of errors, each with its status."""
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    statuses = {_ROOT: 400}
    while True:
        fresh = {
            each.name: _status(each, statuses[base])
            for each in classes
            for base in (_name(one) for one in each.bases)
            if base in statuses and each.name not in statuses
        }
        if not fresh:
            return statuses
        statuses |= fresh


def _status(error: ast.ClassDef, inherited: int) -> int:
    for line in error.body:
        if isinstance(line, ast.Assign) and _name(line.targets[0]) == "status" and isinstance(line.value, ast.Constant):
            return int(str(line.value.value))
    return inherited


def places(file: str, tree: ast.Module, errors: dict[str, int]) -> Iterator[Place]:
    """Every place in a file that makes an error. Raises UnknownCodeError."""
    constants = {
        _name(line.targets[0]): line.value.value
        for line in tree.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
    }
    for call, status in _calls(tree, errors):
        if not call.args:
            continue
        code = _text(call.args[0], constants)
        if code is None:
            if file in _HANDED_ON:
                continue
            raise UnknownCodeError(
                f"backend/{file}:{call.lineno}: the code is no plain word. Write one, or name what carries it in "
                "CARRIERS of infra/contract/error_codes.py."
            )
        given = next((one.value for one in call.keywords if one.arg == "status"), None)
        own = int(str(given.value)) if isinstance(given, ast.Constant) else status
        says = _words(call.args[1]) if len(call.args) > 1 else ""
        yield Place(code, own, says, _hint(call), call.lineno)
    carriers = CARRIERS.get(file) or CARRIERS.get(f"{file.partition('/')[0]}/", {})
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (carrier := carriers.get(_name(node.func))):
            place, status = carrier
            if any(one.arg == _WRONG_WORD for one in node.keywords):
                status = 422
            given = _argument(node, place)
            code = None if given is None else _text(given, constants)
            if code is not None:
                says = next((_words(one) for one in node.args if isinstance(one, ast.JoinedStr)), "")
                yield Place(code, status, says, _hint(node), node.lineno)


def _calls(tree: ast.Module, errors: dict[str, int]) -> Iterator[tuple[ast.Call, int]]:
    """Where errors are made: by their names, or by their own classes. Those with a code of their own take none."""
    own = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in errors:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "super().__init__" and node.name != _ROOT:
                    own.add(node.name)
                    yield inner, errors[node.name]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in errors.keys() - own - _SELF_CODED:
            yield node, errors[_name(node.func)]


_SELF_CODED = {"KeyServiceUnavailable"}
"""Errors that know their code themselves, and take why."""


def _argument(call: ast.Call, place: int | str) -> ast.expr | None:
    if isinstance(place, int):
        return call.args[place] if len(call.args) > place else None
    return next((one.value for one in call.keywords if one.arg == place), None)


def _hint(call: ast.Call) -> str:
    return next((_words(one.value) for one in call.keywords if one.arg == "hint"), "")


def _text(node: ast.expr, constants: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def _words(node: ast.expr) -> str:
    """A sentence of the sources: what is filled in becomes an ellipsis."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr():
            return "".join(_words(one) if isinstance(one, ast.Constant) else "…" for one in node.values)
        case _:
            return ""


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


if __name__ == "__main__":
    sys.exit(main())
