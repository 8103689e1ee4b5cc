"""What lies in a location to be imported: SSTables, schemas, and in which shape the cluster was that they are of.

Two layouts are read. Folders, at any depth below the path, as data folders and copies of snapshots have them:
KEYSPACE/TABLE[-ID][/snapshots/TAG]/nb-12-big-Data.db, with any schema.cql. And that of cassandra-medusa 0.31 (its
storage/node_backup.py and index.py): NODE/BACKUP/meta/{manifest.json,schema.cql,tokenmap.json}, where the manifest
names each file with its size and MD5, in full mode below NODE/BACKUP/data, else below NODE/data.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provisioner.stores.base import ObjectMissing, Store

MOST_PROBLEMS = 20
READABLE = re.compile(r"(m[a-e]|n[ab]|oa)-.*-big|da-.*-bti")
"""Formats of Cassandra 3.0 to 5.0; what is older an engine of today does not read."""

_FILE = re.compile(
    r"(?P<name>[a-z]{2}-(?:[0-9]+|[0-9a-z]{4}_[0-9a-z]{4}_[0-9a-z]{18})-(?:big|bti))-(?P<file>[A-Za-z0-9_+.]+)"
)
_BEFORE_22 = re.compile(r"(?P<keyspace>\w+)-(?P<table>\w+)-(?P<version>[a-z]{2})-[0-9]+-Data\.db")
_TABLE_FOLDER = re.compile(r"(?P<table>[A-Za-z0-9_]+?)(-[0-9a-f]{32})?")
_PARTS = (50 << 20, 8 << 20)
"""How long the parts are that Medusa stores: its setting, and what boto does without one."""


@dataclass(kw_only=True)
class SSTable:
    """`files`: name, bytes, and where they are known md5 and part_bytes, as the agent's job fetch-files takes them."""

    source: str
    keyspace: str
    table: str
    folder: str
    name: str
    files: list[dict[str, Any]] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(one["bytes"] for one in self.files)


@dataclass(kw_only=True)
class Source:
    """`tokens`: by node, of Medusa. Problems and warnings are sentences; with a problem nothing can be imported."""

    sstables: list[SSTable] = field(default_factory=list)
    schemas: list[str] = field(default_factory=list)
    tokens: dict[str, list[int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def bounded(self) -> list[str]:
        return bounded(self.problems)


def bounded(problems: Sequence[str]) -> list[str]:
    """The first of them, and how many there are more."""
    more = len(problems) - MOST_PROBLEMS
    return [*problems[:MOST_PROBLEMS], *([f"And {more} more."] if more > 0 else [])]


def is_engines(keyspace: str) -> bool:
    """Whether a keyspace is the engine's own, or ours."""
    return keyspace.startswith(("system", "dse_", "solr_")) or keyspace in ("ringmaster", "OpsCenter")


def read_files(store: Store) -> Source:
    """Raises StoreError."""
    source = Source()
    found: dict[tuple[str, str], SSTable] = {}
    old: set[str] = set()
    for one in store.list(""):
        folder, _, file = one.name.rpartition("/")
        if file == "schema.cql":
            source.schemas.append(store.get(one.name).decode(errors="replace"))
            continue
        if _BEFORE_22.fullmatch(file):
            old.add(folder)
            continue
        _add(found, "", folder, file, {"bytes": one.size})
    source.problems += [f"{folder}: files of Cassandra 2.1 or older; upgrade them first." for folder in sorted(old)]
    _finish(source, found.values())
    if not found and not old:
        source.problems.append("There are no SSTables there, in folders KEYSPACE/TABLE or KEYSPACE/TABLE-ID.")
    return source


def read_medusa(store: Store, backup: str, *, checksums: bool) -> Source:
    """`checksums`: its MD5s are those of the files. Raises StoreError."""
    source = Source()
    nodes = _medusa_nodes(store, backup)
    if not nodes:
        every = {one.name.split("/")[2] for one in store.list("index/backup_index/") if one.name.count("/") > 2}
        there = f"There are {', '.join(sorted(every)[-10:])}." if every else "There is none at all in this path."
        source.problems.append(f"There is no backup {backup} of Medusa. {there}")
        return source
    expected = set(nodes)
    found: dict[tuple[str, str], SSTable] = {}
    for node in sorted(nodes):
        meta = f"{node}/{backup}/meta"
        try:
            tokens = json.loads(store.get(f"{meta}/tokenmap.json"))
            manifest = json.loads(store.get(f"{meta}/manifest.json"))
            source.schemas.append(store.get(f"{meta}/schema.cql").decode(errors="replace"))
            expected |= set(tokens)
            source.tokens |= {name: [int(token) for token in told["tokens"]] for name, told in tokens.items()}
            _of_manifest(source, found, node, manifest, checksums=checksums)
        except ObjectMissing as error:
            source.problems.append(f"The backup {backup} is incomplete: {error.message}")
        except (ValueError, KeyError, TypeError, AttributeError):
            source.problems.append(f"What is in {meta} is not what Medusa writes.")
    source.problems += [
        f"The backup {backup} is incomplete: there is nothing of the node {node}." for node in sorted(expected - nodes)
    ]
    _finish(source, found.values())
    return source


def _medusa_nodes(store: Store, backup: str) -> set[str]:
    """Those that began to make it."""
    found = set()
    for one in store.list(f"index/backup_index/{backup}/"):
        file = one.name.rpartition("/")[2]
        for begin, end in (("schema_", ".cql"), ("tokenmap_", ".json"), ("manifest_", ".json")):
            if file.startswith(begin) and file.endswith(end):
                found.add(file.removeprefix(begin).removesuffix(end))
    return found


def _of_manifest(
    source: Source,
    found: dict[tuple[str, str], SSTable],
    node: str,
    manifest: Iterable[Mapping[str, Any]],
    *,
    checksums: bool,
) -> None:
    for section in manifest:
        if is_engines(section["keyspace"]):
            continue
        for one in section["objects"]:
            # What stands before the node is the prefix that Medusa was set to.
            _, is_there, path = f"/{one['path']}".partition(f"/{node}/")
            folder, _, file = f"{node}/{path}".rpartition("/")
            if not is_there or ".." in folder.split("/"):
                raise ValueError(one["path"])
            facts: dict[str, Any] = {"bytes": int(one["size"])}
            if checksums:
                told = _md5(str(one["MD5"]), facts["bytes"])
                if told is None:
                    text = f"Of {folder} some checksums are of parts of unknown length: those files are not compared."
                    source.warnings = [*source.warnings, *([] if text in source.warnings else [text])]
                facts |= told or {}
            _add(found, node, folder, file, facts)


def _md5(told: str, size: int) -> dict[str, Any] | None:
    """As the agent takes it. Folders and S3 tell hexadecimal digits, Google base64, S3 of parts that of their MD5s."""
    if re.fullmatch(r"[0-9a-f]{32}", told):
        return {"md5": told}
    if parts := re.fullmatch(r"([0-9a-f]{32})-([0-9]+)", told):
        length = next((one for one in _PARTS if -(-size // one) == int(parts[2])), None)
        return None if length is None else {"md5": parts[1], "part_bytes": length}
    try:
        return {"md5": base64.b64decode(told, validate=True).hex()} if len(told) == 24 else None
    except binascii.Error:
        return None


def _add(found: dict[tuple[str, str], SSTable], source: str, folder: str, file: str, facts: Mapping[str, Any]) -> None:
    """What is no file of an SSTable, and what is of a secondary index, is passed over."""
    match = _FILE.fullmatch(file)
    place = _table_of(folder)
    if match is None or place is None or is_engines(place[0]):
        return
    name = match["name"]
    known = found.get((folder, name))
    if known is None:
        known = found[folder, name] = SSTable(
            source=source, keyspace=place[0], table=place[1], folder=folder, name=name
        )
    known.files.append({"name": match["file"]} | dict(facts))


def _table_of(folder: str) -> tuple[str, str] | None:
    parts = folder.split("/")
    if any(part.startswith(".") for part in parts):
        return None
    if len(parts) > 2 and parts[-2] == "snapshots":
        parts = parts[:-2]
    if len(parts) < 2:
        return None
    match = _TABLE_FOLDER.fullmatch(parts[-1])
    return (parts[-2], match["table"]) if match else None


def _finish(source: Source, found: Iterable[SSTable]) -> None:
    for one in found:
        names = {file["name"] for file in one.files}
        if not READABLE.fullmatch(one.name):
            source.problems.append(
                f"{one.folder}/{one.name}: engines of today do not read this format. Rewrite the files first: start "
                "Cassandra 3.11 or 4 with them and run nodetool upgradesstables."
            )
        elif "Data.db" not in names:
            source.problems.append(f"{one.folder}/{one.name} has no Data.db: it was not copied whole.")
        else:
            source.sstables.append(one)
