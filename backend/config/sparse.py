"""`fields=id,name,nodes.state` on any GET: only these fields are answered. docs/decisions/0068.

What is chosen is checked with the schema of the answer, not with the answer itself: a name is right or wrong whatever
the thing happens to hold.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja.operation import Operation
from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from backend.core.errors import Invalid

PARAMETER = "fields"
MOST = 100

Schema = dict[str, Any]
Tree = dict[str, Any]
"""Field → None (all of it), or the tree of what is chosen of it."""

_schemas: dict[str, Schema | None] = {}


def select(request: HttpRequest, operation: Operation, answer: HttpResponseBase) -> HttpResponseBase:
    """The answer of a GET, with the chosen fields only. Raises Invalid for a name that is none of its fields."""
    chosen = request.GET.get(PARAMETER)
    if chosen is None or answer.status_code != 200:
        return answer
    schema = _schema_of(operation)
    if not isinstance(answer, HttpResponse) or answer.get("Content-Type") != "application/json" or schema is None:
        raise Invalid(
            "fields_not_possible",
            "This answer has no fields to choose from.",
            hint=f"Leave {PARAMETER} out.",
        )
    page = "items" in _properties(schema, schema)
    tree = _tree(chosen)
    for name in chosen.split(","):
        _check(["items", *name.split(".")] if page else name.split("."), name, schema)
    body = from_json(answer.content)
    if page:
        body["items"] = _pick(body["items"], tree)
    else:
        body = _pick(body, tree)
    answer.content = to_json(body)
    return answer


def _tree(chosen: str) -> Tree:
    names = chosen.split(",")
    if len(names) > MOST:
        raise _wrong(f"There are {len(names)} fields; at most {MOST} can be chosen.")
    tree: Tree = {}
    for name in names:
        here = tree
        *above, last = name.split(".")
        for word in above:
            below = here.setdefault(word, {})
            if below is None:  # all of it was chosen
                break
            here = below
        else:
            here[last] = None
    return tree


def _check(words: list[str], name: str, root: Schema) -> None:
    places = [root]
    for word in words:
        places = [found for place in places for found in _below(place, word, root)]
        if not places:
            raise _wrong(f"{name!r} is no field of this answer.")


def _below(place: Schema, word: str, root: Schema) -> list[Schema]:
    """What a schema says about a field of it; nothing: it has none of that name. Lists are looked through."""
    found = []
    for schema in _alternatives(place, root):
        if word in schema.get("properties", {}):
            found.append(schema["properties"][word])
        elif others := schema.get("additionalProperties"):
            found.append(others if isinstance(others, dict) else {"additionalProperties": True})
        elif patterns := schema.get("patternProperties"):
            found.extend(patterns.values())
    return found


def _alternatives(schema: Schema, root: Schema) -> list[Schema]:
    if "$ref" in schema:
        return _alternatives(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    parts = [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, [])]
    if schema.get("type") == "array":
        parts.append(schema.get("items", {}))
    return [schema, *(found for part in parts for found in _alternatives(part, root))]


def _properties(schema: Schema, root: Schema) -> set[str]:
    return {name for one in _alternatives(schema, root) for name in one.get("properties", {})}


def _schema_of(operation: Operation) -> Schema | None:
    """None where the answer is a file, or of no certain shape."""
    name = str(operation.operation_id)
    if name not in _schemas:
        wrapped = getattr(operation.response_models.get(200), "model_fields", None)
        kind = None if wrapped is None else wrapped["response"].annotation
        _schemas[name] = None if kind is None else TypeAdapter(kind).json_schema(mode="serialization")
    return _schemas[name]


def _pick(value: Any, tree: Tree) -> Any:
    if isinstance(value, list):
        return [_pick(one, tree) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: below if tree[name] is None else _pick(below, tree[name]) for name, below in value.items() if name in tree
    }


def _wrong(message: str) -> Invalid:
    return Invalid(
        "invalid_field",
        message,
        hint="Name fields of the answer (of a list: of its items), with commas between: id,name,nodes.state.",
        field=PARAMETER,
    )


def describe(operation: dict[str, Any]) -> None:
    """Adds the parameter to a GET of the OpenAPI document that answers JSON."""
    content = operation["responses"].get("200", {}).get("content", {})
    if "$ref" in content.get("application/json", {}).get("schema", {}):
        operation["parameters"] = [*operation["parameters"], {"$ref": "#/components/parameters/Fields"}]
        operation["responses"].setdefault("422", {"$ref": "#/components/responses/Error422"})


DESCRIBED = {
    "name": PARAMETER,
    "in": "query",
    "required": False,
    "description": (
        "Only these fields are answered, with commas between; of a list: of its items. Dots lead into what a field "
        f"holds. At most {MOST}. Default: all. What is left out is missing, also where it is said to be required."
    ),
    "schema": {"type": "string", "minLength": 1, "example": "id,name,nodes.state"},
}
