"""The modules' resources as they are written, and what today's providers know of the same."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hcl2

FOLDER = Path(__file__).parent
SCHEMAS = FOLDER / "schemas"
CLOUDS = ("aws", "gcp")
# Of Terraform itself, in any resource.
_META_ARGUMENTS = frozenset({"for_each", "count", "depends_on", "provider"})
_META_BLOCKS = frozenset({"lifecycle", "timeouts", "dynamic"})
_MARKS = frozenset({"__is_block__", "__comments__", "__inline_comments__"})


@dataclass(frozen=True)
class Block:
    """A resource, or a block in one."""

    path: str
    arguments: Mapping[str, Any]
    blocks: "list[tuple[str, Block]]"


@dataclass(frozen=True)
class Resource:
    kind: str
    block: Block


def resources(cloud: str) -> list[Resource]:
    """Of one module, in the order of its files."""
    found = []
    for file in sorted((FOLDER / cloud).glob("*.tf")):
        for each in hcl2.loads(file.read_text()).get("resource", []):
            for kind, names in each.items():
                if kind in _MARKS:
                    continue
                for name, body in names.items():
                    if name not in _MARKS:
                        kind_, name_ = kind.strip('"'), name.strip('"')
                        found.append(Resource(kind_, _block(f"{kind_}.{name_}", body)))
    return found


def _block(path: str, body: Mapping[str, Any]) -> Block:
    arguments: dict[str, Any] = {}
    blocks: list[tuple[str, Block]] = []
    for key, value in body.items():
        if key in _MARKS:
            continue
        if key == "dynamic":
            for each in value:
                for name, dynamic in each.items():
                    if name not in _MARKS:
                        plain = name.strip('"')
                        blocks.append((plain, _block(f"{path}.{plain}", dynamic["content"][0])))
        elif isinstance(value, list) and value and isinstance(value[0], dict) and value[0].get("__is_block__"):
            blocks.extend((key, _block(f"{path}.{key}", each)) for each in value)
        else:
            arguments[key] = value
    return Block(path, arguments, blocks)


def complaints(block: Block, known: Mapping[str, Any]) -> Iterator[str]:
    """What a provider would refuse: an argument or block that it does not know, or one it needs that is not there."""
    given = set(block.arguments) - _META_ARGUMENTS
    inside = [(name, each) for name, each in block.blocks if name not in _META_BLOCKS]
    for name in sorted(given | {name for name, _ in inside}):
        if name not in known["arguments"]:
            yield f"{block.path}: {name} is not known"
    for name in known["required"]:
        if name not in given and name not in {name for name, _ in inside}:
            yield f"{block.path}: {name} is missing"
    for name, each in inside:
        schema = known["arguments"].get(name)
        if isinstance(schema, dict):
            yield from complaints(each, schema)
        elif name in known["arguments"]:
            yield f"{each.path}: is no block"


def references(cloud: str, kinds: frozenset[str]) -> set[tuple[str, str]]:
    """Attributes that are read of resources: (kind, attribute)."""
    text = "\n".join(file.read_text() for file in sorted((FOLDER / cloud).glob("*.tf")))
    found = re.findall(r"\b([a-z]+_[a-z0-9_]+)\.[a-z_]+(?:\[[^\]]*(?:\[[^\]]*\])?[^\]]*\])?\.([a-z_0-9]+)", text)
    loops = re.findall(r"for [a-z_, ]+ in ([a-z]+_[a-z0-9_]+)\.[a-z_]+ : [^\]}]*?\beach\.([a-z_0-9]+)", text)
    return {(kind, name) for kind, name in [*found, *loops] if kind in kinds}


def schema(cloud: str) -> dict[str, Any]:
    """What `record` found in today's provider."""
    found: dict[str, Any] = json.loads((SCHEMAS / f"{cloud}.json").read_text())
    return found
