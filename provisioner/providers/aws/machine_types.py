"""What the catalogue says about AWS's machine types, as far as a launch needs it."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from provisioner.providers.base import InvalidRequest

_CATALOGUE = Path(__file__).resolve().parents[3] / "images" / "machine" / "data" / "instances.json"


@dataclass(frozen=True)
class AwsMachineType:
    """`architecture` in AWS's words: x86_64 or arm64."""

    name: str
    architecture: str
    vcpus: int


def machine_type(name: str) -> AwsMachineType:
    """InvalidRequest for one that has no fast local disks, or that nobody knows."""
    found = _catalogue().get(name)
    if found is None:
        raise InvalidRequest(f"Unknown machine type {name!r}: it is not in the catalogue of types with local NVMe.")
    return found


def every_type() -> list[AwsMachineType]:
    return list(_catalogue().values())


@cache
def _catalogue() -> dict[str, AwsMachineType]:
    document = json.loads(_CATALOGUE.read_text())
    return {
        entry["type"]: AwsMachineType(entry["type"], entry["arch"], entry["vcpus"])
        for entry in document["instances"]
        if entry["provider"] == "aws"
    }
