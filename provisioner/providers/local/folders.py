"""What the local provider keeps on disk, and nothing else: machines and networks as JSON below one state folder.

- `machines/<name>/machine.json`: what the machine is (this module)
- `machines/<name>/user-data.json`: what its agent is told, 0600 because it holds the one-time token
- `machines/<name>/data/`: the agent's and the engine's own files
- `machines/.new-<name>/`: a machine being made; renamed when complete, so a machine is whole or not there
- `networks/<name>.json`
"""

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from provisioner.providers.base import InvalidRequest, MachineSpec, Network, NetworkSpec

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True, kw_only=True)
class MachineRecord:
    """`spec_hash` is over the whole spec. `deleting`: its end has begun, it will not be started again."""

    name: str
    network: str
    zone: str
    machine_type: str
    memory_mib: int
    image: str
    address: str
    agent_binary: str
    spec_hash: str
    tags: dict[str, str]
    deleting: bool = False


@dataclass(frozen=True)
class StateFolder:
    root: Path

    @property
    def machines(self) -> Path:
        return self.root / "machines"

    @property
    def networks(self) -> Path:
        return self.root / "networks"

    def machine(self, name: str) -> Path:
        return self.machines / checked_name(name)

    def unfinished_machine(self, name: str) -> Path:
        return self.machines / f".new-{checked_name(name)}"

    def machine_lock(self, name: str) -> Path:
        return self.machines / f".lock-{checked_name(name)}"

    def address_lock(self) -> Path:
        return self.root / "addresses.lock"

    def network(self, name: str) -> Path:
        return self.networks / f"{checked_name(name)}.json"

    @classmethod
    def at(cls, root: Path) -> "StateFolder":
        """The state folder, made if need be. Resolved: processes are found again by their folder's one name."""
        state = cls(root.resolve())
        for folder in (state.root, state.machines, state.networks):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return state

    def records(self) -> Iterator[MachineRecord]:
        """Every whole machine, by name."""
        if not self.machines.is_dir():
            return
        for folder in sorted(self.machines.iterdir()):
            if not folder.name.startswith(".") and (record := read_record(folder)) is not None:
                yield record

    def held_addresses(self) -> frozenset[str]:
        """Addresses of all machines, of those being made too."""
        folders = self.machines.iterdir()
        return frozenset(record.address for folder in folders if (record := read_record(folder)) is not None)


def checked_name(name: str) -> str:
    """The name, fit to be a file name. InvalidRequest."""
    if not _NAME.fullmatch(name):
        raise InvalidRequest(f"{name!r} is no name: 1 to 63 of a-z, 0-9 and hyphen, not starting with a hyphen.")
    return name


def spec_hash(spec: MachineSpec | NetworkSpec) -> str:
    return hashlib.sha256(json.dumps(asdict(spec), sort_keys=True).encode()).hexdigest()


def read_record(folder: Path) -> MachineRecord | None:
    """None when there is no machine, or one that is being deleted lost its record already."""
    document = read_json(folder / "machine.json")
    return None if document is None else MachineRecord(**document)


def write_record(folder: Path, record: MachineRecord) -> None:
    write_json(folder / "machine.json", asdict(record))


def read_network(path: Path) -> Network | None:
    document = read_json(path)
    if document is None:
        return None
    return Network(
        name=document["name"],
        region=document["region"],
        zones=tuple(document["zones"]),
        tags=document.get("tags", {}),
    )


def read_json(path: Path) -> dict[str, Any] | None:
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return document


def write_json(path: Path, document: object) -> None:
    """Readable by the owner only; whole or not at all, also when the computer loses power."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(document, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
