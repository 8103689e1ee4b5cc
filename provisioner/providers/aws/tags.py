"""Tags: how things at AWS are found again. Ours start with `ringmaster:`; all others are the caller's."""

from collections.abc import Mapping, Sequence
from typing import Any

_PREFIX = "ringmaster:"
INSTALLATION = "ringmaster:installation"
NETWORK = "ringmaster:network"
MACHINE = "ringmaster:machine"
ZONES = "ringmaster:zones"
SPEC = "ringmaster:spec"
"""A digest of what the machine was made from."""
LAUNCH = "ringmaster:launch"
"""How many machines of the same name were terminated before this one."""
CONNECTION = "ringmaster:connection"
ENGINE = "ringmaster:engine"
ENGINE_VERSION = "ringmaster:engine-version"
_NAME = "Name"


def specification(kind: str, name: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """One element of TagSpecifications. `name` is what AWS's console shows."""
    every = {_NAME: name, **tags}
    return {"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in every.items()]}


def tags_of(thing: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in thing.get("Tags", ())}


def callers(tags: Mapping[str, str]) -> dict[str, str]:
    """Those that the caller gave."""
    return {key: value for key, value in tags.items() if key != _NAME and not key.startswith(_PREFIX)}


def having(tags: Mapping[str, str | Sequence[str]]) -> list[dict[str, Any]]:
    """Filters of a Describe call for things that have all of these tags; a sequence: one of these values."""
    return [
        {"Name": f"tag:{key}", "Values": [value] if isinstance(value, str) else list(value)}
        for key, value in tags.items()
    ]
