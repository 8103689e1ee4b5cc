"""Which machine types a node may be of, and how many local SSDs each gets.

n2-highmem: local SSDs are chosen when a machine is made; the counts are those that ScyllaDB's documentation
recommends (cloud instance recommendations, read 2026-11). z3-highmem: they belong to the machine type and come with it.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from provisioner.providers.base import InvalidRequest

_CATALOGUE = Path(__file__).resolve().parents[3] / "images" / "machine" / "data" / "instances.json"

LOCAL_SSD_GB = 375
"""Of one local SSD that is chosen (Compute Engine documentation)."""

_CHOSEN = {
    "n2-highmem-2": 1,
    "n2-highmem-4": 2,
    "n2-highmem-8": 4,
    "n2-highmem-16": 8,
    "n2-highmem-32": 24,
    "n2-highmem-48": 24,
    "n2-highmem-64": 24,
    "n2-highmem-80": 24,
    "n2-highmem-96": 24,
    "n2-highmem-128": 24,
}
_BUNDLED = {
    "z3-highmem-8-highlssd": 1,
    "z3-highmem-14-standardlssd": 1,
    "z3-highmem-16-highlssd": 2,
    "z3-highmem-22-standardlssd": 2,
    "z3-highmem-22-highlssd": 3,
    "z3-highmem-32-highlssd": 4,
    "z3-highmem-44-standardlssd": 3,
    "z3-highmem-44-highlssd": 6,
    "z3-highmem-88-standardlssd": 6,
    "z3-highmem-88-highlssd": 12,
    "z3-highmem-176-standardlssd": 12,
}


@dataclass(frozen=True, kw_only=True)
class MachineType:
    """`local_ssds`: how many it has. `bundled`: they come with it and must not be asked for."""

    name: str
    local_ssds: int
    bundled: bool

    @property
    def cpus(self) -> int:
        """Google puts it into the name: n2-highmem-8, z3-highmem-88-highlssd."""
        return int(self.name.split("-")[2])

    @property
    def family(self) -> str:
        return self.name.partition("-")[0]

    @property
    def chosen_local_ssd_gb(self) -> int:
        return 0 if self.bundled else self.local_ssds * LOCAL_SSD_GB


def every_type() -> list[MachineType]:
    return [machine_type(name) for name in (*_CHOSEN, *_BUNDLED)]


def machine_type(name: str) -> MachineType:
    """InvalidRequest for one that is not known to make a good node."""
    if name in _CHOSEN:
        return MachineType(name=name, local_ssds=_CHOSEN[name], bundled=False)
    if name in _BUNDLED:
        return MachineType(name=name, local_ssds=_BUNDLED[name], bundled=True)
    raise InvalidRequest(f"Unknown machine type {name!r}: there are {', '.join([*_CHOSEN, *_BUNDLED])}.")


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """What a machine type's price is made of. `series` as SKUs name it, in lower case: n2, z3."""

    name: str
    series: str
    cpus: int
    memory_gib: float
    local_ssd_gib: int


@cache
def every_fact() -> tuple[MachineFacts, ...]:
    """Of all types that can be ordered, as the catalogue has them."""
    entries = json.loads(_CATALOGUE.read_text())["instances"]
    return tuple(
        MachineFacts(
            name=entry["type"],
            series=entry["type"].partition("-")[0],
            cpus=entry["vcpus"],
            memory_gib=entry["memory_gib"],
            local_ssd_gib=entry["local_nvme_count"] * entry["local_nvme_size_gib"],
        )
        for entry in entries
        if entry["provider"] == "gcp"
    )
