"""A backup: a snapshot on all nodes at once, what is not stored yet sent to the store, manifests last.

A node that does not answer for a while is left out; whether the backup is complete without it is told by the ranges.
A backup that a schedule ordered and that cannot be made takes itself back; one that somebody waits for asks.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from backend.backups import objects, progress, vault_keys
from backend.backups.models import Backup, BackupNode
from backend.backups.objects import BeingDeleted, Bundle, StoredObject
from backend.backups.states import NodeBackupState
from backend.operations.models import Operation
from provisioner.agent.base import AgentRefused, AgentUnreachable
from provisioner.operations import names
from provisioner.operations.backup_manifests import complete_backup, forget_manifest, take_back_manifest, write_manifest
from provisioner.operations.backup_nodes import (
    GONE,
    MIB,
    Lost,
    backup_of,
    describe_schema,
    leave_out,
    nodes_of,
    on_node,
    part_of,
    silent,
    size,
    tables_of,
    told,
)
from provisioner.operations.backup_store import (
    in_words,
    key_for,
    open_store,
    put_sealed,
    schema_name,
)
from provisioner.operations.backup_tablets import hold_tablets, release_tablets
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.membership import forget_job
from provisioner.operations.object_lock import lock_objects
from provisioner.operations.surroundings import surroundings

BATCH_OBJECTS = 500
BATCH_BYTES = 4 << 30
LOOKED_AT_LATELY = timedelta(hours=24)
_SHORTEST_TTL = 12 * 3600
# What a backup is reckoned to send, in bytes per second and node, where nobody said how much it may.
_USUAL_RATE = 20 << 20
_LEAST_FREE = 0.05
_UNKNOWN_TABLE = "unknown-table"


def check_backup(context: StepContext) -> Outcome:
    """Everything that would stop it later is found out before anything is done."""
    backup = backup_of(context)
    try:
        with in_words():
            open_store(backup.location, backup.organisation_id).probe()
        key_for(backup)
        described = describe_schema(context, nodes_of(backup))
        if isinstance(described, Wait):
            return described
        there = {(one["keyspace"], one["table"]) for one in tables_of(described)}
        for wanted in backup.selection:
            if not any(k == wanted["keyspace"] and wanted["table"] in ("", t) for k, t in there):
                name = ".".join(part for part in (wanted["keyspace"], wanted["table"]) if part)
                raise Blocked(
                    _UNKNOWN_TABLE, f"There is no {name} in the cluster.", "Choose from the tables that there are."
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
    # A table that is not there will not come by waiting, and as long as this one stands no other can begin.
    if not context.operation.parameters["scheduled"] and why.code != _UNKNOWN_TABLE:
        raise why
    progress.refused(context.operation.parameters["backup"], f"{why.sentence} {why.hint}".strip())
    progress.give_up(context.operation)
    return Wait(1, why.sentence)


def take_snapshot(context: StepContext) -> Outcome:
    part = part_of(context)
    if part.state != NodeBackupState.PENDING:
        return Done(told(part))
    parameters = {
        "tag": part.backup.tag,
        "ttl_seconds": _ttl(part),
        "tables": [_chosen(one) for one in part.backup.selection],
    }
    try:
        job = on_node(context, part, "snapshot", "snapshot", parameters)
    except Lost as lost:
        return leave_out(part, lost)
    if isinstance(job, Wait):
        return job
    progress.snapshot_taken(part.id, taken_at=datetime.fromisoformat(str(job.result["taken_at"])))
    return Done(f"{job.result['files']} files, {size(int(job.result['bytes']))}")


def _chosen(one: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in one.items() if value}


def _ttl(part: BackupNode) -> int:
    """Twice what sending all of it would take: what is left behind then goes by itself."""
    rate = part.backup.rate_mib_per_second
    bytes_per_second = rate * MIB if rate else _USUAL_RATE
    return max(_SHORTEST_TTL, 2 * (part.node.data_bytes or 0) // bytes_per_second)


def drop_snapshot(context: StepContext) -> Outcome:
    part = part_of(context)
    for kind in ("snapshot", "index"):
        forget_job(part.node, names.job(context.operation, kind))
    return _clear(context, part, "clear-back")


def clear_snapshot(context: StepContext) -> Outcome:
    return _clear(context, part_of(context), "clear")


def _clear(context: StepContext, part: BackupNode, name: str) -> Outcome:
    try:
        job = on_node(context, part, name, "clear-snapshot", {"tag": part.backup.tag})
    except Lost as lost:
        return Done(f"{part.name}: {lost}; the engine clears it by itself when its time is over")
    return job if isinstance(job, Wait) else Done()


def read_schema(context: StepContext) -> Outcome:
    """Stored encrypted beside the manifests; the chosen tables are noted, with their columns."""
    backup = backup_of(context)
    described = describe_schema(context, nodes_of(backup))
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
    replication = {one["name"]: one["replication"] for one in described["keyspaces"]}
    progress.schema_read(backup.id, tables=chosen, replication=replication, sha256=sha256)
    return Done(f"{len(chosen)} tables")


def forget_schema(context: StepContext) -> Outcome:
    backup = backup_of(context)
    with in_words():
        open_store(backup.location, backup.organisation_id).delete([schema_name(backup)])
    return Done()


def index_snapshot(context: StepContext) -> Outcome:
    """The node hashes what it does not know yet; then its list is read page by page, each page in one transaction."""
    part = part_of(context)
    if part.state != NodeBackupState.SNAPSHOT:
        return Done(told(part))
    parameters = {"tag": part.backup.tag, "encryption": vault_keys.encryption(key_for(part.backup))}
    try:
        job = on_node(context, part, "index", "index-snapshot", parameters)
        if isinstance(job, Wait):
            return job
        page = surroundings().agent(part.node).bundles(part.backup.tag, after=part.cursor, limit=1000)
    except AgentUnreachable:
        return silent(part)
    except AgentRefused as refused:
        return leave_out(part, refused) if refused.code in GONE else _raise(refused)
    except Lost as lost:
        return leave_out(part, lost)
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
    return Done(told(part))


def _views(backup: Backup) -> set[tuple[str, str]]:
    """The tables whose files are kept."""
    return set(backup.tables.values_list("keyspace", "name"))


def forget_index(context: StepContext) -> Outcome:
    part = part_of(context)
    part.entries.all().delete()
    BackupNode.objects.filter(id=part.id).exclude(state=NodeBackupState.LOST).update(
        state=NodeBackupState.SNAPSHOT, cursor="", bundles=0, bytes=0, new_bytes=0
    )
    return Done()


def check_stored(context: StepContext) -> Outcome:
    """Of what others have stored before, the sizes: what somebody took away meanwhile is stored anew."""
    part = part_of(context)
    if part.state == NodeBackupState.LOST:
        return Done(told(part))
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
        job = on_node(context, part, name, "verify-objects", parameters)
    except Lost as lost:
        return leave_out(part, lost)
    if isinstance(job, Wait):
        return job
    objects.to_store_again([one.id for one in wanted], bad={bad["key"]: bad["reason"] for bad in job.result["bad"]})
    forget_job(part.node, job.name)
    return Wait(0, "what is stored already to be looked at")


def upload(context: StepContext) -> Outcome:
    """Batch by batch; what a batch has stored is written down before the next begins."""
    part = part_of(context)
    if part.state == NodeBackupState.LOST:
        return Done(told(part))
    wanted = objects.to_upload(part.id, at_most=BATCH_OBJECTS, most_bytes=BATCH_BYTES)
    if not wanted:
        return Done(f"{size(part.uploaded_bytes)} were new")
    total = max(part.new_bytes, part.uploaded_bytes, 1)
    name = names.job(context.operation, f"upload-{_digest([one.key for one in wanted])}")
    rate = part.backup.rate_mib_per_second
    parameters: dict[str, Any] = {
        "tag": part.backup.tag,
        "store": vault_keys.store_of(part.backup.location, part.backup.organisation_id),
        "encryption": vault_keys.encryption(key_for(part.backup)),
        "keys": [one.key for one in wanted],
    } | ({"bytes_per_second": rate * MIB} if rate else {})
    try:
        job = on_node(context, part, "", "upload-bundles", parameters, whole_name=name)
    except Lost as lost:
        return leave_out(part, lost)
    if isinstance(job, Wait):
        done = part.uploaded_bytes + (job.progress or 0.0) * sum(one.bytes for one in wanted)
        share = min(done / total, 1.0)
        return Wait(job.seconds, f"{size(round(done))} of {size(total)}", share)
    objects.stored(
        part.id,
        [StoredObject(key=one["key"], stored_bytes=one["bytes"], sha256=one["sha256"]) for one in job.result["stored"]],
    )
    forget_job(part.node, name)
    part.refresh_from_db()
    return Wait(0, f"{size(part.uploaded_bytes)} of {size(total)}", min(part.uploaded_bytes / total, 1.0))


def stop_upload(context: StepContext) -> Outcome:
    """What is stored stays for the next backup, until a purge."""
    part = part_of(context)
    wanted = objects.to_upload(part.id, at_most=BATCH_OBJECTS, most_bytes=BATCH_BYTES)
    if wanted:
        forget_job(part.node, names.job(context.operation, f"upload-{_digest([one.key for one in wanted])}"))
    return Done()


def _raise(error: Exception) -> Outcome:
    raise error


def _digest(keys: Sequence[str]) -> str:
    return hashlib.sha256("".join(keys).encode()).hexdigest()[:12]


def _cancelled(operation: Operation) -> None:
    progress.cancelled(operation.parameters["backup"])


CODE = OperationCode(
    kind="backup",
    steps={
        "check_backup": StepCode(do=check_backup),
        "hold_tablets": StepCode(do=hold_tablets, undo=release_tablets),
        "release_tablets": StepCode(do=release_tablets),
        "take_snapshot": StepCode(do=take_snapshot, undo=drop_snapshot),
        "read_schema": StepCode(do=read_schema, undo=forget_schema),
        "index_snapshot": StepCode(do=index_snapshot, undo=forget_index),
        "check_stored": StepCode(do=check_stored),
        "upload": StepCode(do=upload, undo=stop_upload),
        "write_manifest": StepCode(do=write_manifest, undo=take_back_manifest),
        "complete_backup": StepCode(do=complete_backup, undo=forget_manifest),
        "lock_objects": StepCode(do=lock_objects),
        "clear_snapshot": StepCode(do=clear_snapshot),
    },
    on_cancelled=_cancelled,
)
