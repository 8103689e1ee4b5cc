"""The operations that backend/openapi.json describes, as values that generators and the parity table work with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENT = CHECKOUT / "backend" / "openapi.json"
_METHODS = ("get", "post", "put", "patch", "delete")

Schema = dict[str, Any]


@dataclass(frozen=True)
class Parameter:
    """Of a path or a query. `schema` may be a reference."""

    name: str
    schema: Schema
    required: bool
    description: str


@dataclass(frozen=True)
class Operation:
    """A method of an address. `id` is what every client calls it."""

    id: str
    tag: str
    method: str
    path: str
    description: str
    document: dict[str, Any]

    @cached_property
    def path_parameters(self) -> list[Parameter]:
        return list(self._parameters("path"))

    @cached_property
    def query_parameters(self) -> list[Parameter]:
        return list(self._parameters("query"))

    @property
    def writes(self) -> bool:
        return self.method != "get"

    @property
    def takes_key(self) -> bool:
        """Whether it may be sent again with an Idempotency-Key."""
        return "IdempotencyKey" in self._references

    @property
    def takes_dry_run(self) -> bool:
        return "DryRun" in self._references

    @property
    def takes_condition(self) -> bool:
        """Whether it can be held to an ETag."""
        return "IfMatch" in self._references

    @property
    def has_tag(self) -> bool:
        """Whether it answers an ETag."""
        return "IfNoneMatch" in self._references

    @property
    def takes_fields(self) -> bool:
        """Whether fields of its answer can be chosen."""
        return "Fields" in self._references

    @property
    def body(self) -> Schema | None:
        content: dict[str, Any] = self.document.get("requestBody", {}).get("content", {})
        return content["application/json"]["schema"] if content else None

    @property
    def answers(self) -> dict[str, Schema]:
        """Schemas of success by content type; none: an answer without a body."""
        for status in ("200", "201", "202"):
            if status in self.document["responses"]:
                content = self.document["responses"][status].get("content", {})
                return {kind: media.get("schema", {}) for kind, media in content.items()}
        return {}

    @property
    def _references(self) -> set[str]:
        return {name_of(one) for one in self.document.get("parameters", []) if "$ref" in one}

    def _parameters(self, where: str) -> Iterator[Parameter]:
        for one in self.document.get("parameters", []):
            if one.get("in") == where:
                schema = one["schema"]
                said = one.get("description") or schema.get("description", "")
                yield Parameter(one["name"], schema, one.get("required", False), said)


def name_of(reference: Schema) -> str:
    """The last word of a `$ref`."""
    return str(reference["$ref"]).rpartition("/")[2]


def read_document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return document


def operations(document: dict[str, Any]) -> list[Operation]:
    """All of them, by id."""
    found = [
        Operation(
            id=operation["operationId"],
            tag=operation["tags"][0],
            method=method,
            path=path,
            description=operation.get("description", ""),
            document=operation,
        )
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in _METHODS
    ]
    return sorted(found, key=lambda operation: operation.id)
