"""The table that the command line is built from: a command for each operation, with its arguments and options."""

from __future__ import annotations

import json
from typing import Any

from infra.clients.description import Operation, Parameter, Schema, name_of, operations

Row = dict[str, Any]


class NameTaken(ValueError):
    """Two operations would be one command."""


def table(document: dict[str, Any]) -> str:
    """As JSON, a line for each command. Raises NameTaken."""
    schemas: dict[str, Schema] = document["components"]["schemas"]
    groups = {_group(tag["name"]): tag["description"] for tag in document["tags"]}
    rows = [_row(operation, schemas) for operation in operations(document)]
    seen: dict[tuple[str, str], str] = {}
    for row in rows:
        name = (row["group"], row["command"])
        if other := seen.get(name):
            raise NameTaken(
                f"{row['id']} and {other} would both be `ringmaster {' '.join(name)}`: give one another operation id"
            )
        seen[name] = row["id"]
    rows.sort(key=lambda row: (row["group"], row["command"]))
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{"groups": {json.dumps(groups, ensure_ascii=False)},\n"commands": [\n{lines}\n]}}\n'


def words(document: dict[str, Any]) -> str:
    """What to type for each operation, by its id, for the console's reference of the API."""
    typed = {operation.id: f"{_group(operation.tag)} {command_of(operation)}" for operation in operations(document)}
    return json.dumps(typed, indent=2, ensure_ascii=False) + "\n"


def _row(operation: Operation, schemas: dict[str, Schema]) -> Row:
    row: Row = {
        "id": operation.id,
        "group": _group(operation.tag),
        "command": command_of(operation),
        "method": operation.method.upper(),
        "path": operation.path,
        "help": operation.description or operation.id,
        "arguments": [parameter.name for parameter in operation.path_parameters],
        "query": [_option(parameter, schemas) for parameter in operation.query_parameters],
        "key": operation.takes_key,
        "dry_run": operation.takes_dry_run,
        "fields": operation.takes_fields,
        "tag": operation.has_tag,
        "condition": operation.takes_condition,
        "operation": _operation_in(operation, schemas),
        "pages": "cursor" in {parameter.name for parameter in operation.query_parameters},
        "stream": "text/event-stream" in operation.answers,
    }
    if operation.body is not None:
        row["body"] = _fields(operation.body, schemas)
    return row


def command_of(operation: Operation) -> str:
    """The operation's id without the words that its group says: create_backup_location of backups: create-location."""
    said = {form for word in operation.tag.split() for form in (word, word.removesuffix("s"), word.removesuffix("es"))}
    verb, *rest = operation.id.split("_")
    left = [word for word in rest if word not in said and word.removesuffix("s") not in said]
    return "-".join([verb, *left])


def _group(tag: str) -> str:
    return tag.replace(" ", "-")


def _operation_in(operation: Operation, schemas: dict[str, Schema]) -> str | None:
    """Where a 202 names what can be waited for: in the field `operation`, or it is one ("")."""
    if "202" not in operation.document["responses"]:
        return None
    name = name_of(operation.answers["application/json"])
    if name == "Operation":
        return ""
    return "operation" if "operation" in schemas[name].get("properties", {}) else None


def _option(parameter: Parameter, schemas: dict[str, Schema]) -> Row:
    return {"name": parameter.name, "help": parameter.description, "required": parameter.required} | kind_of(
        parameter.schema, schemas
    )


def _fields(body: Schema, schemas: dict[str, Schema]) -> list[Row]:
    """The fields of a body; of one with several kinds those of all, where each says of which kinds it is."""
    variants = [name_of(one) for one in (body.get("oneOf") or body.get("anyOf") or [body])]
    found: dict[str, Row] = {}
    for variant in variants:
        schema = schemas[variant]
        kind = schema["properties"].get("kind", {}).get("const")
        for name, field in schema["properties"].items():
            row = {"name": name, "help": field.get("description", ""), "required": name in schema.get("required", [])}
            row |= kind_of(field, schemas)
            if len(variants) > 1 and name != "kind":
                row |= {"required": False, "of": [kind]}
            if name not in found:
                found[name] = row
            elif name == "kind":
                found[name]["choices"] += row["choices"]
            else:
                found[name]["of"] += row["of"]
                if found[name]["help"] != row["help"]:
                    found[name]["help"] = " / ".join(dict.fromkeys(filter(None, (found[name]["help"], row["help"]))))
    return list(found.values())


def kind_of(schema: Schema, schemas: dict[str, Schema]) -> Row:
    """`type` (string, integer, number, boolean, map, json), and `many`, `choices`, `nullable`, `default` where so."""
    if "$ref" in schema:
        return kind_of(schemas[name_of(schema)], schemas)
    default = {"default": schema["default"]} if schema.get("default") not in (None, [], {}, "") else {}
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            kinds = [one for one in schema[union] if one.get("type") != "null"]
            null = {"nullable": True} if len(kinds) < len(schema[union]) else {}
            return (kind_of(kinds[0], schemas) if len(kinds) == 1 else {"type": "json"}) | null | default
    if "const" in schema:
        return {"type": "string", "choices": [schema["const"]]}
    if "enum" in schema:
        return {"type": "string", "choices": list(schema["enum"])} | default
    match schema.get("type"):
        case "array":
            item = kind_of(schema["items"], schemas)
            return {"type": "json"} if item["type"] in ("json", "map") or item.get("many") else item | {"many": True}
        case "object":
            values = schema.get("additionalProperties")
            plain = isinstance(values, dict) and "properties" not in schema and values.get("type") == "string"
            return {"type": "map"} if plain else {"type": "json"}
        case str(kind) if kind in ("string", "integer", "number", "boolean"):
            return {"type": kind} | default
    return {"type": "json"}
