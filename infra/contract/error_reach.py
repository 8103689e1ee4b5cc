"""Which error codes each operation of the API can answer, read from the sources: from a route, along all names that its
code mentions, to every place that makes an error.

`python -m infra.contract.error_reach` writes it for the OpenAPI file. It says rather too much than too little: an error
that is caught on the way is listed still. The backend's tests fail when an answer has a code that is not listed here.

Methods are found as rapid type analysis does (Bacon and Sweeney, OOPSLA 1996): `x.m` leads to the method m of all
classes that are mentioned on the way.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from http import HTTPStatus

from infra.contract.error_codes import SOURCES, errors_of, places, sources

LISTED = SOURCES / "config" / "error_reach.json"
_AROUND = (
    "accounts/authentication.py",
    "config/api.py",
    "config/conditions.py",
    "config/middleware.py",
    "config/rate_limits.py",
    "config/rehearsal.py",
    "config/sparse.py",
    "core/errors.py",
)
"""What stands around every route: its codes can be answered by all."""
_FORBIDS = ("config/reach.py",)
"""Around every route too, but of what it says only what is forbidden is its own: that a thing is not there, the route
would say as well."""

Node = tuple[str, str]
"""File and name: of a function, a class or a variable of a module; of a method with its class before it."""
Answer = tuple[int, str]
"""Status and code."""


@dataclass
class Graph:
    """`mentions`: what a node leads to. `members`: the methods of a class, which are led to by their names only."""

    mentions: dict[Node, set[Node]] = field(default_factory=lambda: defaultdict(set))
    attributes: dict[Node, set[str]] = field(default_factory=lambda: defaultdict(set))
    members: dict[Node, dict[str, Node]] = field(default_factory=lambda: defaultdict(dict))
    answers: dict[Node, set[Answer]] = field(default_factory=lambda: defaultdict(set))
    routes: dict[str, Node] = field(default_factory=dict)

    def nodes_of(self, files: tuple[str, ...]) -> set[Node]:
        return {node for node in self.mentions if node[0] in files}

    def answered_from(self, starts: set[Node], *, short_of: tuple[str, ...] = ()) -> set[Answer]:
        """What is answered by these nodes and all that they lead to. `short_of`: files where it ends."""
        seen: set[Node] = set()
        named: set[str] = set()
        classes: set[Node] = set()
        fresh = set(starts)
        while fresh:
            seen |= fresh
            for node in fresh:
                named |= self.attributes[node]
                classes |= {node} & self.members.keys()
            led = {to for node in fresh for to in self.mentions[node]}
            led |= {method for one in classes for name, method in self.members[one].items() if name in named}
            fresh = {one for one in led - seen if one[0] not in short_of}
        return {answer for node in seen for answer in self.answers[node]}


def main() -> int:
    graph = read(sources())
    around = graph.answered_from(graph.nodes_of(_AROUND), short_of=_FORBIDS)
    around |= {one for one in graph.answered_from(graph.nodes_of(_FORBIDS)) if one[0] == HTTPStatus.FORBIDDEN}
    document = {
        "all": _by_status(around),
        "operations": {
            operation: _by_status(graph.answered_from({route}) - around)
            for operation, route in sorted(graph.routes.items())
        },
    }
    LISTED.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def read(trees: dict[str, ast.Module]) -> Graph:
    """Of modules by their files, relative to the backend."""
    graph = Graph()
    errors = errors_of(trees)
    for file, tree in trees.items():
        scope = _scope(file, tree, trees)
        for name, target in scope.items():
            if target[0] != file:
                graph.mentions[file, name].add(target)  # what others import from here
        owners: list[tuple[int, int, Node]] = []
        for owner, statement in _owned(file, tree):
            _follow(graph, owner, statement, scope)
            owners.append((statement.lineno, statement.end_lineno or statement.lineno, owner))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                _members(graph, (file, node.name), node)
                for each in (*node.bases, *node.decorator_list):
                    _follow(graph, (file, node.name), each, scope)
        for place in places(file, tree, errors):
            for first, last, owner in owners:
                if first <= place.line <= last:
                    graph.answers[owner].add((place.status, place.code))
    return graph


def _owned(file: str, tree: ast.Module) -> list[tuple[Node, ast.stmt]]:
    """Every statement with the node that it belongs to: those of modules to the names that they make."""
    found: list[tuple[Node, ast.stmt]] = []
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.append(((file, name), statement))
            case ast.ClassDef(name=name):
                for inner in statement.body:
                    own = f"{name}.{inner.name}" if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) else name
                    found.append(((file, own), inner))
            case ast.Assign() | ast.AnnAssign():
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                found.extend(((file, each.id), statement) for each in targets if isinstance(each, ast.Name))
            case _:
                pass
    return found


def _members(graph: Graph, node: Node, tree: ast.ClassDef) -> None:
    """Methods by their names; those that Python calls itself belong to the class."""
    for inner in tree.body:
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            method = (node[0], f"{node[1]}.{inner.name}")
            if inner.name.startswith("__"):
                graph.mentions[node].add(method)
            else:
                graph.members[node][inner.name] = method


def _scope(file: str, tree: ast.Module, trees: dict[str, ast.Module]) -> dict[str, Node]:
    """What names of a module mean. A module itself is its file with an empty name."""
    scope: dict[str, Node] = {}
    for owner, statement in _owned(file, tree):
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) or "." not in owner[1]:
            scope[owner[1]] = owner
    for each in tree.body:
        if isinstance(each, ast.ClassDef):
            scope[each.name] = (file, each.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "backend":
            package = node.module.split(".")[1:]
            for name in node.names:
                module = _file([*package, name.name], trees)
                scope[name.asname or name.name] = (module, "") if module else (_file(package, trees) or "", name.name)
    return scope


def _file(words: list[str], trees: dict[str, ast.Module]) -> str | None:
    """Of a module or a package; None: it is neither."""
    name = "/".join(words)
    return next((file for file in (f"{name}.py", f"{name}/__init__.py") if file in trees), None)


def _follow(graph: Graph, owner: Node, statement: ast.AST, scope: dict[str, Node]) -> None:
    graph.mentions[owner] |= set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name) if name in scope and scope[name][1]:
                graph.mentions[owner].add(scope[name])
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in scope and not scope[module][1]:
                graph.mentions[owner].add((scope[module][0], name))
            case ast.Attribute(attr=name):
                graph.attributes[owner].add(name)
            case ast.FunctionDef(name=name, decorator_list=[ast.Call(keywords=given), *_]) if any(
                each.arg == "operation_id" for each in given
            ):
                graph.routes[name] = owner  # routes are named as their operations
            case _:
                pass
    graph.mentions[owner].discard(owner)


def _by_status(answers: set[Answer]) -> dict[str, list[str]]:
    statuses = sorted({status for status, _ in answers})
    return {str(status): sorted(code for one, code in answers if one == status) for status in statuses}


if __name__ == "__main__":
    sys.exit(main())
