"""A backup: a snapshot on all nodes at once, what is not stored yet sent to the store, manifests last.

A node that does not answer for a while is left out; whether the backup is complete without it is told by the ranges.
A backup that a schedule ordered and that cannot be made takes itself back; one that somebody waits for asks.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from backend.backups import objects, progress, vault_keys
from backend.backups.models import Backup, BackupBundle, BackupNode
from backend.backups.objects import BeingDeleted, Bundle, StoredObject
from backend.backups.states import NodeBackupState
from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.operations.models import Operation
from provisioner.agent.base import AgentClient, AgentRefused, AgentUnreachable, Job
from provisioner.agent.repairs import KeyspaceRing
from provisioner.operations import names
from provisioner.operations.backup_store import (
    FORMAT,
    in_words,
    key_for,
    manifest_name,
    node_manifest_name,
    open_store,
    put_sealed,
    put_signed,
    schema_name,
)
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.membership import forget_job
from provisioner.operations.node_steps import JobFailed, look_at
from provisioner.operations.surroundings import surroundings

Answer = TypeVar("Answer")

# Seconds after which a node that does not answer is left out.
PATIENCE = 90.0
BATCH_OBJECTS = 500
BATCH_BYTES = 4 << 30
LOOKED_AT_LATELY = timedelta(hours=24)
_SHORTEST_TTL = 12 * 3600
# What a backup is reckoned to send, in bytes per second and node, where nobody said how much it may.
_USUAL_RATE = 20 << 20
_LEAST_FREE = 0.05
_MIB = 1 << 20
# What would be refused again.
_FINAL = frozenset({"store-refused", "store-full", "wrong-key", "bundle-changed", "unsupported", "unknown-kind"})
# What means that a node's part of the backup is gone for good.
_GONE = frozenset({"engine-not-running", "snapshot-not-found", "snapshot-not-indexed"})

# Of a bundle in a node's manifest, and where its values come from.
_COLUMNS = {
    "key": "object__key",
    "bytes": "object__bytes",
    "stored_bytes": "object__stored_bytes",
    "sha256": "object__sha256",
    "keyspace": "table__keyspace",
    "table": "table__name",
    "table_id": "table__table_id",
    "sstable": "sstable",
    "min_token": "min_token",
    "max_token": "max_token",
    "level": "level",
    "repaired_at": "repaired_at",
}


class _Lost(Exception):
    """The node has nothing to give, and will not in time."""


def check_backup(context: StepContext) -> Outcome:
    """Everything that would stop it later is found out before anything is done."""
    backup = _backup(context)
    try:
        with in_words():
            open_store(backup.location, backup.organisation_id).probe()
        key_for(backup)
        described = describe_schema(context, _nodes_of(backup))
        if isinstance(described, Wait):
            return described
        there = {(one["keyspace"], one["table"]) for one in tables_of(described)}
        for wanted in backup.selection:
            if not any(k == wanted["keyspace"] and wanted["table"] in ("", t) for k, t in there):
                name = ".".join(part for part in (wanted["keyspace"], wanted["table"]) if part)
                raise Blocked(
                    "unknown-table", f"There is no {name} in the cluster.", "Choose from the tables that there are."
                )
        _check_room(backup)
    except Blocked as why:
        return _refuse(context, why)
    progress.refused(backup.id, "")
    return Done("everything is ready")


def _check_room(backup: Backup) -> None:
    """A snapshot keeps files that compactions would free: a disk that is nearly full would be full by that."""
    for part in backup.nodes.select_related("node"):
        free, total = part.node.disk_free_bytes, part.node.disk_total_bytes
        if free is not None and total and free < total * _LEAST_FREE:
            raise Blocked(
                "no-room",
                f"The disk of {part.name} has {free / total:.0%} left: a snapshot could fill it.",
                "Make room, or add nodes, then retry.",
            )


def _refuse(context: StepContext, why: Blocked) -> Outcome:
    if not context.operation.parameters["scheduled"]:
        raise why
    progress.refused(context.operation.parameters["backup"], f"{why.sentence} {why.hint}".strip())
    progress.give_up(context.operation)
    return Wait(1, why.sentence)


def take_snapshot(context: StepContext) -> Outcome:
    part = _part(context)
    if part.state != NodeBackupState.PENDING:
        return Done(_told(part))
    parameters = {
        "tag": part.backup.tag,
        "ttl_seconds": _ttl(part),
        "tables": [_chosen(one) for one in part.backup.selection],
    }
    try:
        job = _on_node(context, part, "snapshot", "snapshot", parameters)
    except _Lost as lost:
        return _leave_out(part, lost)
    if isinstance(job, Wait):
        return job
    progress.snapshot_taken(part.id, taken_at=datetime.fromisoformat(str(job.result["taken_at"])))
    return Done(f"{job.result['files']} files, {_size(int(job.result['bytes']))}")


def _chosen(one: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in one.items() if value}


def _ttl(part: BackupNode) -> int:
    """Twice what sending all of it would take: what is left behind then goes by itself."""
    rate = part.backup.rate_mib_per_second
    bytes_per_second = rate * _MIB if rate else _USUAL_RATE
    return max(_SHORTEST_TTL, 2 * (part.node.data_bytes or 0) // bytes_per_second)


def drop_snapshot(context: StepContext) -> Outcome:
    part = _part(context)
    for kind in ("snapshot", "index"):
        forget_job(part.node, names.job(context.operation, kind))
    return _clear(context, part, "clear-back")


def clear_snapshot(context: StepContext) -> Outcome:
    return _clear(context, _part(context), "clear")


def _clear(context: StepContext, part: BackupNode, name: str) -> Outcome:
    try:
        job = _on_node(context, part, name, "clear-snapshot", {"tag": part.backup.tag})
    except _Lost as lost:
        return Done(f"{part.name}: {lost}; the engine clears it by itself when its time is over")
    return job if isinstance(job, Wait) else Done()


def read_schema(context: StepContext) -> Outcome:
    """Stored encrypted beside the manifests; the chosen tables are noted, with their columns."""
    backup = _backup(context)
    described = describe_schema(context, _nodes_of(backup))
    if isinstance(described, Wait):
        return described
    every = tables_of(described)
    progress.tables_read(backup.cluster_id, every)
    wanted = backup.selection
    chosen = [
        one
        for one in every
        if not wanted or any(w["keyspace"] == one["keyspace"] and w["table"] in ("", one["table"]) for w in wanted)
    ]
    with in_words():
        store = open_store(backup.location, backup.organisation_id)
        sha256 = put_sealed(store, key_for(backup), schema_name(backup), described)
    progress.schema_read(backup.id, tables=chosen, sha256=sha256)
    return Done(f"{len(chosen)} tables")


def describe_schema(context: StepContext, nodes: Sequence[Node]) -> Mapping[str, Any] | Wait:
    """What the job of that name tells now, from the first node that answers."""
    name = names.job(context.operation, f"schema-{context.step.position}")
    job = ask_any(nodes, lambda agent: agent.ensure_job(name, "describe-schema", {}, wait_seconds=1))
    if isinstance(job, Wait):
        return job
    if job.state == "running":
        return Wait(0.5, "a node to tell its schema")
    # So that the next look is a new one.
    ask_any(nodes, lambda agent: agent.delete_job(name))
    if job.state == "failed":
        raise JobFailed(job.error_message, job.error_code)
    result: Mapping[str, Any] = job.result
    return result


def tables_of(description: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of the job describe-schema: every table but views, which are made anew from their tables."""
    return [
        {
            "keyspace": keyspace["name"],
            "table": table["name"],
            "id": table["id"],
            "columns": [{name: column[name] for name in ("name", "kind", "type")} for column in table["columns"]],
        }
        for keyspace in description["keyspaces"]
        for table in keyspace["tables"]
        if not table.get("view_of")
    ]


def forget_schema(context: StepContext) -> Outcome:
    backup = _backup(context)
    with in_words():
        open_store(backup.location, backup.organisation_id).delete([schema_name(backup)])
    return Done()


def index_snapshot(context: StepContext) -> Outcome:
    """The node hashes what it does not know yet; then its list is read page by page, each page in one transaction."""
    part = _part(context)
    if part.state != NodeBackupState.SNAPSHOT:
        return Done(_told(part))
    parameters = {"tag": part.backup.tag, "encryption": vault_keys.encryption(key_for(part.backup))}
    try:
        job = _on_node(context, part, "index", "index-snapshot", parameters)
        if isinstance(job, Wait):
            return job
        page = surroundings().agent(part.node).bundles(part.backup.tag, after=part.cursor, limit=1000)
    except AgentUnreachable:
        return _silent(part)
    except AgentRefused as refused:
        return _leave_out(part, refused) if refused.code in _GONE else _raise(refused)
    except _Lost as lost:
        return _leave_out(part, lost)
    views = _views(part.backup)
    bundles = [
        Bundle(
            key=one.key,
            keyspace=one.keyspace,
            table=one.table,
            table_id=one.table_id,
            sstable=one.sstable,
            bytes=one.bytes,
            min_token=one.min_token,
            max_token=one.max_token,
            level=one.level,
            repaired_at=one.repaired_at,
        )
        for one in page.items
        if (one.keyspace, one.table) in views
    ]
    try:
        objects.refer(part.id, bundles, after=part.cursor, cursor=page.next)
    except BeingDeleted:
        return Wait(2, "objects that are just being deleted to be gone")
    part.refresh_from_db()
    if page.next:
        total = max(int(job.result["bundles"]), 1)
        return Wait(0, f"{part.bundles:,} of {total:,} files were looked at", part.bundles / total)
    return Done(_told(part))


def _views(backup: Backup) -> set[tuple[str, str]]:
    """The tables whose files are kept."""
    return set(backup.tables.values_list("keyspace", "name"))


def forget_index(context: StepContext) -> Outcome:
    part = _part(context)
    part.entries.all().delete()
    BackupNode.objects.filter(id=part.id).exclude(state=NodeBackupState.LOST).update(
        state=NodeBackupState.SNAPSHOT, cursor="", bundles=0, bytes=0, new_bytes=0
    )
    return Done()


def check_stored(context: StepContext) -> Outcome:
    """Of what others have stored before, the sizes: what somebody took away meanwhile is stored anew."""
    part = _part(context)
    if part.state == NodeBackupState.LOST:
        return Done(_told(part))
    wanted = objects.to_check(part.id, older_than=LOOKED_AT_LATELY, at_most=BATCH_OBJECTS)
    if not wanted:
        return Done()
    name = f"check-{_digest([one.key for one in wanted])}"
    parameters = {
        "store": vault_keys.store_of(part.backup.location, part.backup.organisation_id),
        "encryption": vault_keys.encryption(key_for(part.backup)),
        "objects": [{"key": o.key, "bytes": o.stored_bytes, "sha256": o.sha256} for o in wanted],
        "mode": "size",
    }
    try:
        job = _on_node(context, part, name, "verify-objects", parameters)
    except _Lost as lost:
        return _leave_out(part, lost)
    if isinstance(job, Wait):
        return job
    objects.to_store_again([one.id for one in wanted], bad={bad["key"]: bad["reason"] for bad in job.result["bad"]})
    forget_job(part.node, job.name)
    return Wait(0, "what is stored already to be looked at")


def upload(context: StepContext) -> Outcome:
    """Batch by batch; what a batch has stored is written down before the next begins."""
    part = _part(context)
    if part.state == NodeBackupState.LOST:
        return Done(_told(part))
    wanted = objects.to_upload(part.id, at_most=BATCH_OBJECTS, most_bytes=BATCH_BYTES)
    if not wanted:
        return Done(f"{_size(part.uploaded_bytes)} were new")
    total = max(part.new_bytes, part.uploaded_bytes, 1)
    name = names.job(context.operation, f"upload-{_digest([one.key for one in wanted])}")
    rate = part.backup.rate_mib_per_second
    parameters: dict[str, Any] = {
        "tag": part.backup.tag,
        "store": vault_keys.store_of(part.backup.location, part.backup.organisation_id),
        "encryption": vault_keys.encryption(key_for(part.backup)),
        "keys": [one.key for one in wanted],
    } | ({"bytes_per_second": rate * _MIB} if rate else {})
    try:
        job = _on_node(context, part, "", "upload-bundles", parameters, whole_name=name)
    except _Lost as lost:
        return _leave_out(part, lost)
    if isinstance(job, Wait):
        done = part.uploaded_bytes + (job.progress or 0.0) * sum(one.bytes for one in wanted)
        share = min(done / total, 1.0)
        return Wait(job.seconds, f"{_size(round(done))} of {_size(total)}", share)
    objects.stored(
        part.id,
        [StoredObject(key=one["key"], stored_bytes=one["bytes"], sha256=one["sha256"]) for one in job.result["stored"]],
    )
    forget_job(part.node, name)
    part.refresh_from_db()
    return Wait(0, f"{_size(part.uploaded_bytes)} of {_size(total)}", min(part.uploaded_bytes / total, 1.0))


def stop_upload(context: StepContext) -> Outcome:
    """What is stored stays for the next backup, until a purge."""
    part = _part(context)
    wanted = objects.to_upload(part.id, at_most=BATCH_OBJECTS, most_bytes=BATCH_BYTES)
    if wanted:
        forget_job(part.node, names.job(context.operation, f"upload-{_digest([one.key for one in wanted])}"))
    return Done()


def write_manifest(context: StepContext) -> Outcome:
    part = _part(context)
    if part.state == NodeBackupState.LOST:
        return Done(_told(part))
    with in_words():
        store = open_store(part.backup.location, part.backup.organisation_id)
        sha256 = put_sealed(store, key_for(part.backup), node_manifest_name(part), _node_manifest(part))
    progress.manifest_written(part.id, sha256=sha256)
    return Done(f"{part.bundles:,} files, {_size(part.bytes)}")


def _node_manifest(part: BackupNode) -> dict[str, Any]:
    entries = BackupBundle.objects.filter(node=part).order_by("id").values_list(*_COLUMNS.values())
    return {
        "format": FORMAT,
        "backup": part.backup_id,
        "node": part.node_id,
        "columns": list(_COLUMNS),
        "bundles": [list(entry) for entry in entries],
    }


def take_back_manifest(context: StepContext) -> Outcome:
    part = _part(context)
    with in_words():
        open_store(part.backup.location, part.backup.organisation_id).delete([node_manifest_name(part)])
    progress.manifest_taken_back(part.id)
    return Done()


def complete_backup(context: StepContext) -> Outcome:
    """Complete is what has every range of every chosen table: enough replicas of it that no acknowledged row lacks."""
    backup = _backup(context)
    parts = list(backup.nodes.order_by("name"))
    missing = _uncovered(backup, parts)
    if isinstance(missing, Wait):
        return missing
    lost = [part for part in parts if part.state != NodeBackupState.WRITTEN]
    note = ""
    if lost and not missing:
        said = ", ".join(part.name for part in lost)
        note = f"Made without {said}. The other replicas have every row that was written with a quorum."
    document = {
        "format": FORMAT,
        "backup": backup.id,
        "cluster": {"id": backup.cluster_id, "name": backup.cluster_name, "ring": backup.cluster.ring_name},
        "engine": {"name": backup.engine, "version": backup.engine_version, "settings": backup.cluster.settings},
        "key_id": backup.key_id,
        "schema": {"name": schema_name(backup), "sha256": backup.schema_sha256},
        "tables": [
            {"keyspace": table.keyspace, "table": table.name, "id": table.table_id}
            for table in backup.tables.order_by("keyspace", "name")
        ],
        "nodes": [
            {
                "id": part.node_id,
                "name": part.name,
                "host_id": part.host_id,
                "datacenter": part.datacenter,
                "rack": part.rack,
                "tokens": part.tokens,
                "taken_at": None if part.taken_at is None else part.taken_at.isoformat(),
                "manifest": node_manifest_name(part) if part.state == NodeBackupState.WRITTEN else "",
                "sha256": part.manifest_sha256,
                "bundles": part.bundles,
                "bytes": part.bytes,
            }
            for part in parts
        ],
        "complete": not missing,
        "missing": missing,
    }
    with in_words():
        store = open_store(backup.location, backup.organisation_id)
        sha256 = put_signed(store, key_for(backup), manifest_name(backup), document)
    progress.finished(backup.id, complete=not missing, missing=missing, note=note, sha256=sha256)
    return Done("complete" if not missing else f"incomplete: {missing[0]}")


def _uncovered(backup: Backup, parts: Sequence[BackupNode]) -> list[str] | Wait:
    """What is not in it, a sentence for each keyspace."""
    written = {part.host_id for part in parts if part.state == NodeBackupState.WRITTEN}
    if len(written) == len(parts):
        return []
    missing = []
    facts = _any_node(backup, lambda agent: agent.tables())
    if isinstance(facts, Wait):
        return facts
    placement = {keyspace.name: keyspace.placement for keyspace in facts.keyspaces}
    for keyspace in sorted(set(backup.tables.values_list("keyspace", flat=True))):
        ring = _any_node(backup, _ring_of(keyspace))
        if isinstance(ring, Wait):
            return ring
        by_datacenter = placement.get(keyspace) == "NetworkTopologyStrategy"
        lacking = 0
        for found in ring.ranges:
            of: dict[str, list[bool]] = {}
            for index in found.replicas:
                node = ring.nodes[index]
                group = node.datacenter if by_datacenter else ""
                of.setdefault(group, []).append(node.host_id in written)
            lacking += any(sum(have) < enough(len(have)) for have in of.values())
        if lacking:
            lost = ", ".join(part.name for part in parts if part.host_id not in written)
            missing.append(
                f"{lacking} of {len(ring.ranges)} ranges of the keyspace {keyspace}: too few replicas without {lost}."
            )
    return missing


def _ring_of(keyspace: str) -> Callable[[AgentClient], KeyspaceRing]:
    return lambda agent: agent.keyspace_ring(keyspace)


def enough(replicas: int) -> int:
    """Of so many, how many must be there that each quorum has one among them."""
    return replicas - replicas // 2


def forget_manifest(context: StepContext) -> Outcome:
    backup = _backup(context)
    with in_words():
        open_store(backup.location, backup.organisation_id).delete([manifest_name(backup)])
    return Done()


# On the nodes


def _backup(context: StepContext) -> Backup:
    rows = Backup.objects.select_related("location", "cluster")
    return rows.get(id=context.operation.parameters["backup"])


def _part(context: StepContext) -> BackupNode:
    rows = BackupNode.objects.select_related("backup__location", "backup__cluster", "node__cluster", "node__datacenter")
    return rows.get(backup_id=context.operation.parameters["backup"], node_id=context.step.target)


def _on_node(
    context: StepContext,
    part: BackupNode,
    name: str,
    kind: str,
    parameters: Mapping[str, Any],
    *,
    whole_name: str = "",
) -> Job | Wait:
    """The job when it has succeeded. Raises _Lost when the node will not do it, Blocked when nothing would help."""
    node = part.node
    if node.deleted_at is not None:
        raise _Lost("it has left the ring meanwhile")
    try:
        job = (
            surroundings()
            .agent(node)
            .ensure_job(whole_name or names.job(context.operation, name), kind, parameters, wait_seconds=1)
        )
    except AgentUnreachable:
        return _silent(part)
    progress.node_answers(part.id)
    try:
        return look_at(node, job)
    except JobFailed as failure:
        if failure.code in _GONE:
            raise _Lost(str(failure)) from failure
        if failure.code in _FINAL:
            forget_job(node, job.name)
            raise Blocked(failure.code, str(failure), "Correct what is named there, then retry.") from failure
        raise


def _silent(part: BackupNode) -> Wait:
    seconds = progress.node_silent(part.id)
    if seconds > PATIENCE:
        raise _Lost(f"it has not answered for {seconds:.0f} s")
    return Wait(2, f"{part.name} to answer; after {PATIENCE:.0f} s the backup goes on without it")


def _leave_out(part: BackupNode, why: Exception) -> Outcome:
    progress.node_lost(part.id, reason=str(why))
    return Done(f"{part.name} is left out: {why}")


def _raise(error: Exception) -> Outcome:
    raise error


def _any_node(backup: Backup, ask: Callable[[AgentClient], Answer]) -> Answer | Wait:
    return ask_any(_nodes_of(backup), ask)


def _nodes_of(backup: Backup) -> list[Node]:
    nodes = [part.node for part in backup.nodes.select_related("node__cluster", "node__datacenter")]
    return [node for node in nodes if node.deleted_at is None]


def ask_any(nodes: Sequence[Node], ask: Callable[[AgentClient], Answer]) -> Answer | Wait:
    """What the first node says that answers; those last seen up first."""
    for node in sorted(nodes, key=lambda node: node.state != NodeState.UP):
        try:
            return ask(surroundings().agent(node))
        except AgentUnreachable:
            continue
        except AgentRefused as refused:
            if refused.code != "engine-not-running":
                raise
    return Wait(2, "a node to answer")


def _told(part: BackupNode) -> str:
    if part.state == NodeBackupState.LOST:
        return f"{part.name} is left out: {part.reason}"
    return f"{part.bundles:,} files, {_size(part.bytes)}, of which {_size(part.new_bytes)} are new"


def _size(count: int) -> str:
    if count < 1 << 30:
        return f"{count / _MIB:,.1f} MiB"
    return f"{count / (1 << 30):,.2f} GiB"


def _digest(keys: Sequence[str]) -> str:
    return hashlib.sha256("".join(keys).encode()).hexdigest()[:12]


def _cancelled(operation: Operation) -> None:
    progress.cancelled(operation.parameters["backup"])


CODE = OperationCode(
    kind="backup",
    steps={
        "check_backup": StepCode(do=check_backup),
        "take_snapshot": StepCode(do=take_snapshot, undo=drop_snapshot),
        "read_schema": StepCode(do=read_schema, undo=forget_schema),
        "index_snapshot": StepCode(do=index_snapshot, undo=forget_index),
        "check_stored": StepCode(do=check_stored),
        "upload": StepCode(do=upload, undo=stop_upload),
        "write_manifest": StepCode(do=write_manifest, undo=take_back_manifest),
        "complete_backup": StepCode(do=complete_backup, undo=forget_manifest),
        "clear_snapshot": StepCode(do=clear_snapshot),
    },
    on_cancelled=_cancelled,
)
