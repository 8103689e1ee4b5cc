"""A restore: files are fetched to the nodes and verified, and only then is anything changed.

Fetched files lie beside the data, where the engine does not see them. A damaged object ends it before that, named.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from backend.backups import copies, objects, progress, vault_keys
from backend.backups.assignment import share_of
from backend.backups.models import BackupBundle, BackupLocation, Restore, RestoreNode
from backend.backups.restoring import SPARE, differences_of
from backend.backups.states import BackupState, RestoreMode
from backend.backups.words import size_of
from backend.catalog.queries import places_by_itself
from backend.clusters.models import Node
from backend.operations.models import Operation
from provisioner.agent.base import AgentUnreachable
from provisioner.operations import names, restored_logs
from provisioner.operations.backup_nodes import ask_any, describe_schema, tables_of
from provisioner.operations.backup_store import (
    DamagedManifest,
    check_manifests,
    get_sealed,
    in_words,
    key_for,
    open_store,
    schema_name,
)
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, Standing, StepCode, StepContext, Wait
from provisioner.operations.membership import forget_job
from provisioner.operations.node_steps import cluster_of, live_nodes
from provisioner.operations.restore_jobs import folder_of, is_running, looked_at, part_of, run_on, share
from provisioner.operations.surroundings import surroundings

# The agent takes so many; 256 KiB of parameters is the most there may be.
BATCH = 500
_BATCH_BYTES = 8 << 30
_MIB = 1 << 20


def check_restore(context: StepContext) -> Outcome:
    """The backup is what was written, its tables fit those of the cluster, and there is room."""
    restore = _restore(context)
    backup = restore.backup
    if backup.state != BackupState.COMPLETE:
        raise Blocked("backup-not-complete", f"The backup is {backup.state}.", "Cancel, and choose a complete one.")
    key = key_for(backup)
    with in_words():
        try:
            check_manifests(open_store(place_of(restore), backup.organisation_id), key, backup)
        except DamagedManifest as error:
            _note_damaged_manifest(restore, error.name)
            if _turn(restore):
                return Wait(0, f"{error} The copy in {place_of(restore).name} is restored.")
            raise Blocked("backup-damaged", str(error), "Cancel, and restore another backup.") from error
    described = describe_schema(context, live_nodes(cluster_of(context)))
    if isinstance(described, Wait):
        return described
    every = tables_of(described)
    progress.tables_read(restore.cluster_id, every)
    _check_tables(restore, every)
    _check_room(restore)
    return Done("backup, schema and room are well")


def _check_tables(restore: Restore, every: Sequence[Mapping[str, Any]]) -> None:
    there = {(one["keyspace"], one["table"]): one["columns"] for one in every}
    columns = {(t.keyspace, t.name): t.columns for t in restore.backup.tables.all()}
    for one in restore.tables:
        now = there.get((one["as_keyspace"], one["as_table"]))
        before = columns[one["keyspace"], one["table"]]
        for difference, fatal in differences_of(before, now, RestoreMode(restore.mode)):
            if fatal:
                raise Blocked(
                    "schema-differs",
                    f"{one['as_keyspace']}.{one['as_table']}: {difference}",
                    "Cancel, and order it otherwise.",
                )


def _check_room(restore: Restore) -> None:
    for part in restore.nodes.select_related("node__cluster", "node__datacenter"):
        try:
            disk = surroundings().agent(part.node).status().disk
        except AgentUnreachable:
            continue
        if disk is not None and part.bytes > disk.free_bytes - SPARE * disk.total_bytes:
            raise Blocked(
                "no-space",
                f"{part.node.name} has too little room: {size_of(part.bytes)} are to be fetched and "
                f"{size_of(disk.free_bytes)} are free.",
                "Make room, or restore fewer tables.",
            )


def fetch_files(context: StepContext) -> Outcome:
    """Batch by batch. Nothing of the engine is touched, and it can stand still after any batch."""
    part = part_of(context)
    restore, backup = part.restore, part.restore.backup
    batch = _next(part)
    if not batch:
        return restored_logs.fetch(context, part)
    name = _fetch_name(context, part)
    if context.pause_wanted and not is_running(part.node, name):
        return Standing(f"{size_of(part.fetched_bytes)} of {size_of(part.bytes)} are here")
    if place_of(restore).id != backup.location_id:
        # What was begun from the first location, where an object is damaged.
        forget_job(part.node, _fetch_name(context, part, first=True))
    parameters: dict[str, Any] = {
        "restore": folder_of(restore),
        "store": vault_keys.store_of(place_of(restore), backup.organisation_id),
        "encryption": vault_keys.encryption(key_for(backup)),
        "bundles": [
            {
                "key": one.object.key,
                "bytes": one.object.stored_bytes,
                "sha256": one.object.sha256,
                "keyspace": one.table.keyspace,
                "table": one.table.name,
            }
            for one in batch
        ],
    }
    try:
        job = run_on(part.node, name, "fetch-bundles", parameters)
    except Blocked as damaged:
        if damaged.code != "object-damaged":
            raise
        found = [one for one in batch if one.object.key in damaged.sentence]
        objects.looked_at(
            [copies.object_in(place_of(restore), backup, one).id for one in found],
            bad={one.object.key: "content" for one in found},
            contents=True,
        )
        if not found or not _turn(restore):
            raise
        forget_job(part.node, name)
        return Wait(0, f"{damaged.sentence} It goes on from the copy in {place_of(restore).name}.")
    size = sum(one.object.bytes for one in batch)
    if isinstance(job, Wait):
        done = part.fetched_bytes + (job.progress or 0.0) * size
        return Wait(job.seconds, f"{size_of(done)} of {size_of(part.bytes)}", share(done, part.bytes))
    progress.fetched(part.id, after=part.cursor, cursor=batch[-1].id, count=size)
    forget_job(part.node, name)
    done = part.fetched_bytes + size
    return Wait(0, f"{size_of(done)} of {size_of(part.bytes)}", share(done, part.bytes))


def _next(part: RestoreNode) -> list[BackupBundle]:
    wanted = {(one["keyspace"], one["table"]) for one in part.restore.tables}
    tables = [t.id for t in part.restore.backup.tables.all() if (t.keyspace, t.name) in wanted]
    rows = _files_of(part).filter(table_id__in=tables, id__gt=part.cursor)
    chosen: list[BackupBundle] = []
    total = 0
    for row in rows.select_related("object", "table").order_by("id")[:BATCH]:
        total += row.object.bytes
        if chosen and total > _BATCH_BYTES:
            break
        chosen.append(row)
    return chosen


def _files_of(part: RestoreNode) -> QuerySet[BackupBundle]:
    rows = BackupBundle.objects.filter(node__backup_id=part.restore.backup_id)
    if part.source_id is not None:
        return rows.filter(node_id=part.source_id)
    if places_by_itself(part.restore.backup.engine):
        parts = list(part.restore.nodes.order_by("id").values_list("id", flat=True))
        return share_of(rows, parts.index(part.id), len(parts))
    return rows


def drop_fetched(context: StepContext) -> Outcome:
    part = part_of(context)
    if part.restore.scratch:
        return Done("its cluster goes")
    forget_job(part.node, _fetch_name(context, part))
    forget_job(part.node, restored_logs.fetch_name(context, part))
    progress.fetch_taken_back(part.id)
    return _drop(context, part, "drop-back")


def remove_fetched(context: StepContext) -> Outcome:
    return _drop(context, part_of(context), "drop")


def _drop(context: StepContext, part: RestoreNode, name: str) -> Outcome:
    if part.node.deleted_at is not None:
        return Done("it has left the ring meanwhile")
    job = run_on(part.node, names.job(context.operation, name), "drop-restore", {"restore": folder_of(part.restore)})
    return job if isinstance(job, Wait) else Done()


def replay_logs(context: StepContext) -> Outcome:
    return restored_logs.replay(context, part_of(context))


def create_tables(context: StepContext) -> Outcome:
    """From the backup's schema, on one node; all agree before it is done. What is there already is passed over."""
    restore = _restore(context)
    backup = restore.backup
    with in_words():
        store = open_store(place_of(restore), backup.organisation_id)
        schema = get_sealed(store, key_for(backup), schema_name(backup), sha256=backup.schema_sha256)
    nodes = live_nodes(cluster_of(context))
    keyspaces = [_keyspace(restore, one, nodes) for one in schema["keyspaces"]]
    parameters = {"keyspaces": [one for one in keyspaces if one is not None]}
    name = names.job(context.operation, "create-tables")
    job = ask_any(nodes, lambda agent: agent.ensure_job(name, "create-schema", parameters, wait_seconds=1))
    if isinstance(job, Wait):
        return job
    looked = looked_at(nodes[0], job)
    return looked if isinstance(looked, Wait) else Done(f"{looked.result['created']} created")


def _keyspace(restore: Restore, described: Mapping[str, Any], nodes: Sequence[Node]) -> dict[str, Any] | None:
    """As create-schema takes it: only what the chosen tables need. None: none of them is in it."""
    chosen = [one for one in restore.tables if one["keyspace"] == described["name"]]
    if not chosen:
        return None
    copy = restore.mode == RestoreMode.COPY
    tables = {one["table"] for one in chosen}
    first = {"keyspace", "type"} if copy else {"keyspace", "type", "function", "aggregate"}
    statements = [
        one
        for one in described["statements"]
        if one["type"] in first or (one["type"] == "table" and one["name"] in tables)
    ]
    if not copy and tables >= {t["name"] for t in described["tables"] if not t.get("view_of")}:
        # All of it: with its indexes and views, which need no other table.
        statements = list(described["statements"])
    wanted: dict[str, Any] = {"name": described["name"], "statements": statements}
    renamed = {one["table"]: one["as_table"] for one in chosen if one["as_table"] != one["table"]}
    elsewhere = {one["as_keyspace"] for one in chosen} - {described["name"]}
    if renamed:
        wanted["renamed_tables"] = renamed
    if elsewhere:
        wanted["as"] = min(elsewhere)
    if replication := _replication(described, nodes):
        wanted["replication"] = replication
    return wanted


def _replication(described: Mapping[str, Any], nodes: Sequence[Node]) -> dict[str, int]:
    """Where data centres have other names, or fewer nodes, than they had; empty: as the statement says."""
    here: dict[str, int] = {}
    for node in nodes:
        here[node.datacenter.name] = here.get(node.datacenter.name, 0) + 1
    before: Mapping[str, int] = described["replication"]
    if all(name in here and copies <= here[name] for name, copies in before.items()):
        return {}
    known = {name: min(copies, here[name]) for name, copies in before.items() if name in here}
    if known:
        return known
    most = max(before.values(), default=1)
    return {name: min(most, count) for name, count in here.items()}


def empty_tables(context: StepContext) -> Outcome:
    restore = _restore(context)
    nodes = live_nodes(cluster_of(context))
    parameters = {"tables": [{"keyspace": one["as_keyspace"], "table": one["as_table"]} for one in restore.tables]}
    name = names.job(context.operation, "empty-tables")
    job = ask_any(nodes, lambda agent: agent.ensure_job(name, "truncate-tables", parameters, wait_seconds=1))
    if isinstance(job, Wait):
        return job
    looked = looked_at(nodes[0], job)
    return looked if isinstance(looked, Wait) else Done(f"{len(restore.tables)} tables are empty")


def import_files(context: StepContext) -> Outcome:
    """Table by table; each node takes its own."""
    part = part_of(context)
    restore = part.restore
    same = part.source_id is not None
    held = _tables_fetched(part)
    for position, one in enumerate(restore.tables):
        if restore.point_in_time is None and (one["keyspace"], one["table"]) not in held:
            continue
        parameters = {
            "restore": folder_of(restore),
            "keyspace": one["keyspace"],
            "table": one["table"],
            "as_keyspace": one["as_keyspace"],
            "as_table": one["as_table"],
            # A log may hold writes of times when the node was a replica of more.
            "check_tokens": same and restore.point_in_time is None,
            "cleanup": not same,
        }
        job = run_on(part.node, names.job(context.operation, f"import-{position}"), "import-bundles", parameters)
        if isinstance(job, Wait):
            share = (position + (job.progress or 0.0)) / len(restore.tables)
            return Wait(job.seconds, f"{one['as_keyspace']}.{one['as_table']}", share)
    return Done(f"{size_of(part.fetched_bytes)} taken")


def _tables_fetched(part: RestoreNode) -> set[tuple[str, str]]:
    rows = _files_of(part).filter(id__lte=part.cursor)
    return set(rows.values_list("table__keyspace", "table__name").distinct())


def _restore(context: StepContext) -> Restore:
    rows = Restore.objects.select_related("backup__location", "backup__cluster", "cluster", "location")
    return rows.get(id=context.operation.parameters["restore"])


def _fetch_name(context: StepContext, part: RestoreNode, *, first: bool = False) -> str:
    second = not first and place_of(part.restore).id != part.restore.backup.location_id
    return names.job(context.operation, f"fetch-{part.cursor}{'-copy' if second else ''}")


def place_of(restore: Restore) -> BackupLocation:
    """Where it is read from."""
    return restore.location or restore.backup.location


def _turn(restore: Restore) -> bool:
    """To a location where all of it is well, as far as known. False: there is none but this."""
    place = copies.healthy(restore.backup)
    if place is None or place.id == place_of(restore).id:
        return False
    progress.turned_to(restore.id, place.id)
    restore.location = place
    return True


def _note_damaged_manifest(restore: Restore, name: str) -> None:
    place = place_of(restore)
    if place.id == restore.backup.location_id:
        progress.manifests_verified(restore.backup_id, damaged=name)
        restore.backup.damaged_manifest = name
    else:
        for copy in restore.backup.copies.filter(location=place):
            copies.manifests_verified(copy.id, damaged=name)


def _succeeded(operation: Operation) -> None:
    progress.restored(operation.parameters["restore"], cancelled=False)


def _cancelled(operation: Operation) -> None:
    progress.restored(operation.parameters["restore"], cancelled=True)


CODE = OperationCode(
    kind="restore",
    steps={
        "check_restore": StepCode(do=check_restore),
        "fetch_files": StepCode(do=fetch_files, undo=drop_fetched),
        "replay_logs": StepCode(do=replay_logs),
        "create_tables": StepCode(do=create_tables),
        "empty_tables": StepCode(do=empty_tables),
        "import_files": StepCode(do=import_files),
        "remove_fetched": StepCode(do=remove_fetched),
    },
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
