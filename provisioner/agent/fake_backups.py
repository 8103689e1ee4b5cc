"""Simulated snapshots, backups and restores. Objects are real ones, in a folder: a test can flip or remove them.

An SSTable is a few rows by token. Not simulated: other stores than folders, rates, and the refusal of bundles whose
tokens are not the node's (`check_tokens`, `cleanup`).
"""

import hashlib
import json
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from provisioner.agent import fake_archive
from provisioner.agent.base import AgentRefused, ArchiveReport, Bundle, BundlePage
from provisioner.agent.bundle_format import (
    BundleKeys,
    DamagedObjectError,
    WrongKeyError,
    bundle_key,
    object_name,
    opened,
    sealed,
    stored_bytes,
)

JOBS = frozenset(
    {
        "snapshot",
        "clear-snapshot",
        "index-snapshot",
        "upload-bundles",
        "verify-objects",
        "fetch-bundles",
        "import-bundles",
        "drop-restore",
        "fetch-files",
        *fake_archive.JOBS,
        "digest-table",
        "hold-tablets",
        "release-tablets",
    }
)

_FORMAT = "nb-big"
_SHORTEST_TTL_SECONDS = 60
_MOST_KEYS = 1000
_MOST_BUNDLES = 500


@dataclass
class SSTable:
    """Rows by token, as text because JSON has no numbers as names. It never changes."""

    keyspace: str
    table: str
    name: str
    rows: dict[str, str]
    repaired_at: int = 0

    def components(self) -> dict[str, bytes]:
        return {
            "Data.db": json.dumps(self.rows, sort_keys=True).encode(),
            "Statistics.db": json.dumps({"repaired_at": self.repaired_at}).encode(),
        }


@dataclass
class Snapshot:
    taken_at: str
    expires_at: str
    sstables: list[SSTable]
    # The key that it was indexed with; empty: it was not.
    key: str = ""


@dataclass
class NodeBackups:
    """What a node holds: its SSTables, its snapshots by tag, and bundles fetched for a restore by its name."""

    sstables: list[SSTable] = field(default_factory=list)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    restores: dict[str, list[SSTable]] = field(default_factory=dict)
    # SSTables that were ever hashed here.
    hashed: list[str] = field(default_factory=list)
    # Why tablets do not move, and until when.
    holds: dict[str, str] = field(default_factory=dict)
    # What fake_archive keeps; empty: no log is archived.
    archive: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def stored(cls, document: Mapping[str, Any]) -> "NodeBackups":
        return cls(
            sstables=_sstables(document.get("sstables", ())),
            snapshots={
                tag: Snapshot(**(snapshot | {"sstables": _sstables(snapshot["sstables"])}))
                for tag, snapshot in document.get("snapshots", {}).items()
            },
            restores={name: _sstables(found) for name, found in document.get("restores", {}).items()},
            hashed=list(document.get("hashed", ())),
            holds=dict(document.get("holds", {})),
            archive=dict(document.get("archive", {})),
        )

    def document(self) -> dict[str, Any]:
        return asdict(self)

    def write(self, keyspace: str, table: str, rows: Mapping[int, str]) -> None:
        """One more SSTable, as a flush makes it."""
        name = f"{_FORMAT.split('-')[0]}-{uuid.uuid4().hex}-{_FORMAT.split('-')[1]}"
        self.sstables.append(SSTable(keyspace, table, name, {str(token): rows[token] for token in sorted(rows)}))
        fake_archive.log(self.archive, keyspace, table, rows, utc_now())

    def rows(self, keyspace: str, table: str) -> dict[int, str]:
        """What reads find: later SSTables before earlier ones."""
        found: dict[int, str] = {}
        for sstable in self.sstables:
            if (sstable.keyspace, sstable.table) == (keyspace, table):
                found |= {int(token): value for token, value in sstable.rows.items()}
        return found

    def expire(self, now: datetime) -> None:
        """The engine removes snapshots when their time is over."""
        self.holds = {name: until for name, until in self.holds.items() if datetime.fromisoformat(until) > now}
        self.snapshots = {t: s for t, s in self.snapshots.items() if datetime.fromisoformat(s.expires_at) > now}


@dataclass(kw_only=True)
class BackupCall:
    """One job on one node. `tables`: all there are, by keyspace and name, with their ids."""

    node: NodeBackups
    now: datetime
    tables: Mapping[str, Mapping[str, str]]
    engine_runs: bool
    free_bytes: int

    def work(self, kind: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The job's result. AgentRefused."""
        self.node.expire(self.now)
        match kind:
            case "hold-tablets":
                until = self.now + timedelta(seconds=parameters["seconds"])
                self.node.holds[parameters["name"]] = until.isoformat()
                return {"until": until.isoformat()}
            case "release-tablets":
                self.node.holds.pop(parameters["name"], None)
                return {}
            case "snapshot":
                return self._snapshot(parameters)
            case "clear-snapshot":
                self._needs_engine()
                self.node.snapshots.pop(parameters["tag"], None)
                return {}
            case "index-snapshot":
                return self._index(parameters)
            case "upload-bundles":
                return self._upload(parameters)
            case "verify-objects":
                return self._verify(parameters)
            case "fetch-bundles":
                return self._fetch(parameters)
            case "fetch-files":
                return self._fetch_files(parameters)
            case "import-bundles":
                return self._import(parameters)
            case "set-archive":
                return fake_archive.set_archive(self.node.archive, parameters, self.now)
            case "replay-archive":
                return self._replay(parameters)
            case "digest-table":
                return self._digest(parameters)
            case _:
                self.node.restores.pop(parameters["restore"], None)
                return {}

    def bundles(self, tag: str, *, after: str, limit: int) -> BundlePage:
        """AgentRefused."""
        snapshot = self._taken(tag)
        if not snapshot.key:
            raise AgentRefused("snapshot-not-indexed", f"the snapshot {tag} was not indexed yet")
        start = int(after or 0)
        listed = self._bundles(snapshot)[start : start + limit]
        more = start + limit < len(snapshot.sstables)
        return BundlePage(items=tuple(listed), next=str(start + limit) if more else "")

    def _snapshot(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        self._needs_engine()
        if parameters["ttl_seconds"] < _SHORTEST_TTL_SECONDS:
            raise AgentRefused("invalid-parameters", "ttl_seconds must be at least 60")
        chosen = set(self._chosen(parameters.get("tables", ())))
        tag = parameters["tag"]
        if tag not in self.node.snapshots:
            expires_at = self.now + timedelta(seconds=parameters["ttl_seconds"])
            taken = [sstable for sstable in self.node.sstables if (sstable.keyspace, sstable.table) in chosen]
            self.node.snapshots[tag] = Snapshot(self.now.isoformat(), expires_at.isoformat(), taken)
        snapshot = self.node.snapshots[tag]
        files = [content for sstable in snapshot.sstables for content in sstable.components().values()]
        return {
            "taken_at": snapshot.taken_at,
            "tables": len(chosen),
            "files": len(files),
            "bytes": sum(map(len, files)),
        }

    def _chosen(self, asked: Iterable[Mapping[str, str]]) -> Iterable[tuple[str, str]]:
        everything = [(keyspace, table) for keyspace, tables in self.tables.items() for table in tables]
        if not asked:
            return [(k, t) for k, t in everything if k != "ringmaster" and not k.startswith("system")]
        chosen = []
        for one in asked:
            found = [(k, t) for k, t in everything if k == one["keyspace"] and one.get("table", "") in ("", t)]
            if not found:
                raise AgentRefused("table-not-found", f"there is no table {one['keyspace']}.{one.get('table', '')}")
            chosen += found
        return chosen

    def _index(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        snapshot = self._taken(parameters["tag"])
        _keys(parameters)
        snapshot.key = parameters["encryption"]["key"]
        new = [sstable for sstable in snapshot.sstables if sstable.name not in self.node.hashed]
        self.node.hashed += [sstable.name for sstable in new]
        return {
            "bundles": len(snapshot.sstables),
            "bytes": sum(map(_bytes, snapshot.sstables)),
            "hashed_bytes": sum(map(_bytes, new)),
        }

    def _bundles(self, snapshot: Snapshot) -> list[Bundle]:
        keys = BundleKeys.derive(snapshot.key)
        return [
            Bundle(
                key=bundle_key(keys, _FORMAT, sstable.components()),
                keyspace=sstable.keyspace,
                table=sstable.table,
                table_id=self.tables.get(sstable.keyspace, {}).get(sstable.table, ""),
                sstable=sstable.name,
                bytes=_bytes(sstable),
                stored_bytes=stored_bytes(_FORMAT, sstable.components()),
                min_token=min(map(int, sstable.rows)),
                max_token=max(map(int, sstable.rows)),
                level=0,
                repaired_at=sstable.repaired_at,
            )
            for sstable in snapshot.sstables
        ]

    def _upload(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        wanted = parameters["keys"]
        if not 0 < len(wanted) <= _MOST_KEYS:
            raise AgentRefused("invalid-parameters", "keys must be 1 to 1000")
        snapshot, keys, folder = self._taken(parameters["tag"]), _keys(parameters), _folder(parameters["store"])
        by_key = {bundle_key(keys, _FORMAT, sstable.components()): sstable for sstable in snapshot.sstables}
        stored = []
        for key in wanted:
            if key not in by_key:
                raise AgentRefused("bundle-not-found", f"{key} is not of the snapshot {parameters['tag']}")
            content = sealed(keys, _FORMAT, by_key[key].components())
            path = folder / object_name(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f".{path.name}.part")
            unfinished.write_bytes(content)
            os.replace(unfinished, path)
            stored.append({"key": key, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
        return {"stored": stored}

    def _verify(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        keys, folder = _keys(parameters), _folder(parameters["store"])
        bad, read = [], 0
        for wanted in parameters["objects"]:
            path = folder / object_name(wanted["key"])
            if parameters["mode"] == "content" and path.exists():
                read += path.stat().st_size
            reason = _wrong_with(path, wanted, keys, size_only=parameters["mode"] == "size")
            if reason:
                bad.append({"key": wanted["key"], "reason": reason})
        return {"checked": len(parameters["objects"]), "bytes": read, "bad": bad}

    def _fetch(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        bundles = parameters["bundles"]
        if not 0 < len(bundles) <= _MOST_BUNDLES:
            raise AgentRefused("invalid-parameters", "bundles must be 1 to 500")
        keys, folder = _keys(parameters), _folder(parameters["store"])
        if sum(bundle["bytes"] for bundle in bundles) > self.free_bytes:
            raise AgentRefused("no-space", "the bundles do not fit on the disk")
        here = self.node.restores.setdefault(parameters["restore"], [])
        fetched, read = 0, 0
        for wanted in bundles:
            path = folder / object_name(wanted["key"])
            if reason := _wrong_with(path, wanted, keys, size_only=False):
                raise AgentRefused("object-damaged", f"{wanted['key']} cannot be restored: {reason}")
            _, components = opened(keys, wanted["key"], path.read_bytes())
            fetched += sum(map(len, components.values()))
            name = f"{_FORMAT.split('-')[0]}-{wanted['key']}-{_FORMAT.split('-')[1]}"
            # A piece of a log stays as it is until it is replayed.
            content = components.get("Data.db", components.get("Sections.zst", b"{}"))
            sstable = SSTable(wanted["keyspace"], wanted["table"], name, json.loads(content))
            if sstable not in here:
                read += path.stat().st_size
                here.append(sstable)
        return {"bundles": len(bundles), "bytes": fetched, "fetched_bytes": read}

    def _fetch_files(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Of other programs: as here, Data.db is the rows as JSON."""
        wanted = parameters["sstables"]
        if not 0 < len(wanted) <= _MOST_BUNDLES:
            raise AgentRefused("invalid-parameters", "sstables must be 1 to 500")
        folder = _folder(parameters["store"])
        total = sum(file["bytes"] for one in wanted for file in one["files"])
        if total > self.free_bytes:
            raise AgentRefused("no-space", "the files do not fit on the disk")
        here = self.node.restores.setdefault(parameters["restore"], [])
        read = 0
        for one in wanted:
            contents = {}
            for file in one["files"]:
                path = folder / one["folder"] / f"{one['sstable']}-{file['name']}"
                content = path.read_bytes() if path.exists() else None
                if content is None or len(content) != file["bytes"] or _other_md5(content, file):
                    raise AgentRefused("file-damaged", f"{path.relative_to(folder)} is not what it should be")
                contents[file["name"]] = content
            sstable = SSTable(one["keyspace"], one["table"], one["key"], json.loads(contents["Data.db"]))
            if sstable not in here:
                read += sum(map(len, contents.values()))
                here.append(sstable)
        return {"bundles": len(wanted), "bytes": total, "fetched_bytes": read}

    def _import(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        place = parameters.get("place", False)
        if place and self.engine_runs:
            raise AgentRefused("engine-running", "files are placed while the engine is stopped")
        if not place:
            self._needs_engine()
        here = self.node.restores.get(parameters["restore"])
        if here is None:
            raise AgentRefused("restore-not-found", f"nothing was fetched for {parameters['restore']}")
        keyspace, table = parameters["keyspace"], parameters["table"]
        to_keyspace, to_table = parameters.get("as_keyspace") or keyspace, parameters.get("as_table") or table
        if to_table not in self.tables.get(to_keyspace, {}):
            raise AgentRefused("table-not-found", f"there is no table {to_keyspace}.{to_table}")
        taken = [sstable for sstable in here if (sstable.keyspace, sstable.table) == (keyspace, table)]
        for sstable in taken:
            here.remove(sstable)
            self.node.write(to_keyspace, to_table, {int(token): value for token, value in sstable.rows.items()})
        return {"bundles": len(taken), "bytes": sum(map(_bytes, taken))}

    def _replay(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        here = self.node.restores.get(parameters["restore"], [])
        place = (fake_archive.KEYSPACE, fake_archive.TABLE)
        pieces = [one.rows for one in here if (one.keyspace, one.table) == place]
        made, result = fake_archive.replayed(pieces, parameters)
        for (keyspace, table), rows in made.items():
            here.append(SSTable(keyspace, table, f"nb-{uuid.uuid4().hex}-big", rows))
        return result

    def archive(self, after: int) -> ArchiveReport:
        return fake_archive.report(self.node.archive, after, self.now)

    def _digest(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Of this node's own rows: whoever writes to one replica alone sees that. Nothing tells when it was written."""
        self._needs_engine()
        keyspace, table, slices = parameters["keyspace"], parameters["table"], parameters["slices"]
        if table not in self.tables.get(keyspace, {}):
            raise AgentRefused("table-not-found", f"there is no table {keyspace}.{table}")
        parts: list[dict[int, str]] = [{} for _ in range(slices)]
        for token, value in sorted(self.node.rows(keyspace, table).items()):
            parts[(token + 2**63) * slices // 2**64][token] = value
        told = [
            {"rows": len(p), "sha256": hashlib.sha256(repr(p).encode()).hexdigest() if p else "", "newest_write": 0}
            for p in parts
        ]
        return {"rows": sum(map(len, parts)), "slices": told}

    def _taken(self, tag: str) -> Snapshot:
        if tag not in self.node.snapshots:
            raise AgentRefused("snapshot-not-found", f"there is no snapshot {tag}")
        return self.node.snapshots[tag]

    def _needs_engine(self) -> None:
        if not self.engine_runs:
            raise AgentRefused("engine-not-running", "the engine does not run")


def without(document: Mapping[str, Any], tables: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A node's document when tables were emptied; its snapshots stay."""
    held, gone = NodeBackups.stored(document), set(tables)
    held.sstables = [sstable for sstable in held.sstables if (sstable.keyspace, sstable.table) not in gone]
    return held.document()


def _sstables(documents: Iterable[Mapping[str, Any]]) -> list[SSTable]:
    return [SSTable(**document) for document in documents]


def _bytes(sstable: SSTable) -> int:
    return sum(map(len, sstable.components().values()))


def _keys(parameters: Mapping[str, Any]) -> BundleKeys:
    try:
        return BundleKeys.derive(parameters["encryption"]["key"])
    except ValueError as error:
        raise AgentRefused("invalid-parameters", f"encryption.key: {error}") from error


def _folder(store: Mapping[str, Any]) -> Path:
    if store["kind"] != "folder":
        raise AgentRefused("not-supported", "pretended agents know no stores but folders")
    folder = Path(store["folder"])
    if not folder.is_dir():
        raise AgentRefused("store-unreachable", f"there is no folder {folder}")
    return folder / str(store.get("prefix", ""))


def _wrong_with(path: Path, wanted: Mapping[str, Any], keys: BundleKeys, *, size_only: bool) -> str:
    if not path.exists():
        return "missing"
    if path.stat().st_size != wanted["bytes"]:
        return "size"
    if size_only:
        return ""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != wanted["sha256"]:
        return "content"
    try:
        opened(keys, wanted["key"], content)
    except WrongKeyError as error:
        raise AgentRefused("wrong-key", f"{wanted['key']}: {error}") from error
    except DamagedObjectError:
        return "content"
    return ""


def _other_md5(content: bytes, file: Mapping[str, Any]) -> bool:
    if not file.get("md5"):
        return False
    part = file.get("part_bytes", 0)
    sums = [hashlib.md5(content[at : at + part]).digest() for at in range(0, len(content), part)] if part else [content]
    return hashlib.md5(b"".join(sums)).hexdigest() != str(file["md5"])


def utc_now() -> datetime:
    return datetime.now(UTC)
