"""Simulated archives of commit logs. Pieces are real objects in a folder; what a log holds is rows with their times.

Not simulated: segments, intervals, emptied tables. What was logged is stored when the archive is asked for.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from provisioner.agent.base import AgentRefused, ArchiveEntry, ArchiveReport
from provisioner.agent.bundle_format import BundleKeys, bundle_key, object_name, sealed

JOBS = frozenset({"set-archive", "replay-archive"})
FORMAT = "cl-zstd"
KEYSPACE, TABLE = "commit_log", "pieces"


def set_archive(held: dict[str, Any], parameters: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The job of that name; `held` is what the node keeps of its archive. AgentRefused."""
    if not parameters["on"]:
        held.clear()
        return {"stream": ""}
    if "store" not in parameters or "encryption" not in parameters:
        raise AgentRefused("invalid-parameters", "an archive needs store and encryption")
    order = {"store": parameters["store"], "key": parameters["encryption"]["key"]}
    if held.get("order") != order:
        held.clear()
        held |= {"order": order, "stream": uuid.uuid4().hex[:16], "began_at": now.isoformat(), "log": [], "entries": []}
    return {"stream": held["stream"]}


def log(held: dict[str, Any], keyspace: str, table: str, rows: Mapping[int, str], at: datetime) -> None:
    """Rows were written. Nothing while there is no archive."""
    if held:
        said = {str(token): value for token, value in rows.items()}
        held["log"].append({"keyspace": keyspace, "table": table, "rows": said, "at": at.isoformat()})


def lose(held: dict[str, Any], begins_at: datetime, ends_at: datetime, reason: str) -> None:
    """Writes of that time were missed."""
    entry = {"begins_at": begins_at.isoformat(), "ends_at": ends_at.isoformat(), "reason": reason}
    held["entries"].append(entry | {"sequence": len(held["entries"]) + 1})


def report(held: dict[str, Any], after: int, now: datetime) -> ArchiveReport:
    """What GET /v1/archive tells; what was logged since the last time is stored by then."""
    if not held:
        return ArchiveReport(stream="")
    if held["log"]:
        _store(held, now)
    entries = [one for one in held["entries"] if one["sequence"] > after]
    return ArchiveReport(
        stream=held["stream"],
        began_at=datetime.fromisoformat(held["began_at"]),
        covered_until=now,
        entries=tuple(
            ArchiveEntry(
                **one
                | {
                    "begins_at": datetime.fromisoformat(one["begins_at"]),
                    "ends_at": datetime.fromisoformat(one["ends_at"]),
                }
            )
            for one in entries
        ),
    )


def _store(held: dict[str, Any], now: datetime) -> None:
    keys = BundleKeys.derive(held["order"]["key"])
    times = [one["at"] for one in held["log"]]
    facts = json.dumps({"stream": held["stream"], "sequence": len(held["entries"]) + 1}).encode()
    components = {"Piece.json": facts, "Sections.zst": json.dumps(held["log"]).encode()}
    key, content = bundle_key(keys, FORMAT, components), sealed(keys, FORMAT, components)
    store = held["order"]["store"]
    path = Path(store["folder"]) / str(store.get("prefix", "")) / object_name(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    held["entries"].append(
        {
            "sequence": len(held["entries"]) + 1,
            "begins_at": min(times),
            "ends_at": now.isoformat(),
            "key": key,
            "bytes": sum(map(len, components.values())),
            "stored_bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    )
    held["log"] = []


def replayed(
    pieces: list[Any], parameters: Mapping[str, Any]
) -> tuple[dict[tuple[str, str], dict[str, str]], dict[str, Any]]:
    """Rows by table, later ones over earlier ones, and the job's result. `pieces`: what was fetched of logs."""
    until = datetime.fromisoformat(parameters["until"])
    wanted = {(one["keyspace"], one["table"]) for one in parameters["tables"]}
    written = sorted((one for piece in pieces for one in piece), key=lambda one: one["at"])
    found: dict[tuple[str, str], dict[str, str]] = {}
    kept = later = 0
    for one in written:
        table = (one["keyspace"], one["table"])
        if table not in wanted:
            continue
        if datetime.fromisoformat(one["at"]) > until:
            later += 1
            continue
        kept += 1
        found.setdefault(table, {}).update(one["rows"])
    size = sum(len(json.dumps(rows)) for rows in found.values())
    result = {"pieces": len(pieces), "mutations": len(written), "kept": kept, "later": later}
    return found, result | {"sstables": len(found), "bytes": size}
