"""Which operations can write an audit record: from a route through all functions that it names, to `audit.record`.

Nothing is run: a function counts as called where its name stands. So a record that only some paths write counts as
written; that it is really written, and what it says, is tested with each action.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

RECORD = ("backend.audit.actions", "record")
Name = tuple[str, str]
"""A module and a function in it."""


@dataclass
class Module:
    functions: dict[str, ast.AST] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    """Names that stand for modules."""
    names: dict[str, Name] = field(default_factory=dict)
    """Names that stand for something in another module."""


def audited(backend: Path) -> set[str]:
    """Ids of operations."""
    files = {
        ".".join(file.relative_to(backend.parent).with_suffix("").parts): file
        for file in backend.rglob("*.py")
        if not {"tests", "migrations"} & set(file.parts)
    }
    modules = {name: _read(file, set(files)) for name, file in files.items()}
    routes = {
        identifier: (name, function)
        for name, module in modules.items()
        for function, node in module.functions.items()
        if (identifier := _operation_id(node))
    }

    @cache
    def named(name: Name) -> frozenset[Name]:
        module = modules.get(name[0])
        node = module.functions.get(name[1]) if module else None
        return frozenset(_named(node, name[0], module)) if module and node else frozenset()

    def reaches(start: Name) -> bool:
        seen, left = {start}, [start]
        while left:
            one = left.pop()
            if one == RECORD:
                return True
            new = named(one) - seen
            seen |= new
            left += new
        return False

    return {identifier for identifier, route in routes.items() if reaches(route)}


def _read(file: Path, known: set[str]) -> Module:
    module = Module()
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.ImportFrom(module=str(source)):
                for alias in node.names:
                    name = alias.asname or alias.name
                    if f"{source}.{alias.name}" in known:
                        module.modules[name] = f"{source}.{alias.name}"
                    else:
                        module.names[name] = (source, alias.name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                module.functions.setdefault(name, node)
            case ast.Assign(targets=[ast.Name(id=name)]):
                # Tables of functions.
                module.functions.setdefault(name, node)
    return module


def _operation_id(node: ast.AST) -> str | None:
    if not isinstance(node, ast.FunctionDef):
        return None
    for decorator in node.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else []:
            if keyword.arg == "operation_id":
                # Where it is a constant's name the function has the same one.
                return str(keyword.value.value) if isinstance(keyword.value, ast.Constant) else node.name
    return None


def _named(node: ast.AST, here: str, module: Module) -> set[Name]:
    """The functions whose names stand in a function."""
    found: set[Name] = set()
    for part in ast.walk(node):
        match part:
            case ast.Attribute(value=ast.Name(id=alias), attr=attribute) if alias in module.modules:
                found.add((module.modules[alias], attribute))
            case ast.Name(id=name) if name in module.names:
                found.add(module.names[name])
            case ast.Name(id=name) if name in module.functions:
                found.add((here, name))
    return found
