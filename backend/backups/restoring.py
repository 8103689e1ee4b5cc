"""Bringing data back: the plan, which is a dry run, and the order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Sum

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.backups import copies, plans
from backend.backups.archive_queries import pieces_for, restorable
from backend.backups.assignment import Place, same_shape, share_of
from backend.backups.models import Backup, BackupBundle, BackupTable, Restore, RestoreNode
from backend.backups.queries import backup_not_found, get_backup, note_interest
from backend.backups.restores import estimated_seconds, get_restore
from backend.backups.schemas import RestoreOrder
from backend.backups.states import NodeBackupState, RestoreMode
from backend.backups.words import size_of
from backend.catalog.queries import places_by_itself
from backend.clusters import actions as cluster_actions
from backend.clusters import ordering
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found
from backend.clusters.reach import clusters
from backend.clusters.schemas import ClusterOrder
from backend.clusters.states import SERVING, ClusterState
from backend.core.errors import Conflict, DomainError, Invalid
from backend.operations import actions as operations
from backend.operations.queries import get_operation

SPARE = 0.1
"""Of a disk that stays free: imported files are compacted."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A table of the backup, and what it becomes."""

    table: BackupTable
    keyspace: str
    name: str

    def document(self) -> dict[str, str]:
        return {
            "keyspace": self.table.keyspace,
            "table": self.table.name,
            "as_keyspace": self.keyspace,
            "as_table": self.name,
        }


def plan(who: Identity, backup_id: str, order: RestoreOrder) -> dict[str, Any]:
    """What would be done, and everything that is against it. Changes nothing. Raises NotFound, Invalid."""
    backup = _backup(who, backup_id)
    cluster = _target(who, backup, order)
    chosen = _chosen(backup, order)
    problems = _against(who, backup, cluster, order)
    nodes = [] if cluster is None else list(cluster.nodes.filter(deleted_at=None).order_by("position"))
    sources = _sources(backup, nodes)
    logs = _log_sizes(backup, order.point_in_time, nodes, sources)
    problems += _against_moment(backup, order.point_in_time)
    sizes = {node: size + logs[node] for node, size in _sizes(backup, chosen, nodes, sources).items()}
    reading = None if cluster is None else note_interest(cluster)
    differences = _differences(chosen, reading.tables if reading is not None and reading.read_at else None, order.mode)
    problems += [f"{one['table']}: {one['difference']}" for one in differences if one["fatal"]]
    for node in nodes:
        free, total = node.disk_free_bytes, node.disk_total_bytes
        if free is not None and total and sizes[node.id] > free - SPARE * total:
            wanted = f"{size_of(sizes[node.id])} are to be fetched and {size_of(free)} are free"
            problems.append(f"{node.name} has too little room: {wanted}.")
    repair = _repairs(backup, order, nodes=nodes, same=sources is not None)
    whole = _entries(backup, chosen)
    totals = whole.aggregate(count=Count("id"), bytes=Sum("object__bytes"))
    return {
        "mode": order.mode,
        "point_in_time": order.point_in_time,
        "log_bytes": sum(logs.values()),
        "cluster_id": None if cluster is None else cluster.id,
        "tables": [one.document() for one in chosen],
        "bytes": sum(sizes.values()) if nodes else totals["bytes"] or 0,
        "bundles": totals["count"],
        "same_shape": sources is not None,
        "nodes": [{"name": node.name, "bytes": sizes[node.id], "free_bytes": node.disk_free_bytes} for node in nodes],
        "differences": differences,
        "schema_read_at": None if reading is None else reading.read_at,
        "repair": repair,
        "estimated_seconds": estimated_seconds(cluster, most=max(sizes.values(), default=0)),
        "steps": _steps(
            order.mode,
            kept=sources is not None or places_by_itself(backup.engine),
            new=order.new_cluster is not None,
            moment=order.point_in_time is not None,
            repair=repair,
        ),
        "warnings": _warnings(backup, order.mode, same=sources is not None, nodes=nodes)
        + _about_moment(order.point_in_time),
        "problems": problems,
    }


def _steps(mode: RestoreMode, *, kept: bool, new: bool, moment: bool, repair: bool) -> list[str]:
    steps = ["Order the new cluster and wait until it serves"] if new else []
    steps += [
        "Check the backup's manifests, signature and schema",
        "Fetch its files to the nodes and verify each one; the database does not notice",
    ]
    if moment:
        steps.append("Make files of the commit logs, until the moment that was chosen")
    if mode in (RestoreMode.COPY, RestoreMode.CLUSTER):
        steps.append("Create the tables")
    if mode is RestoreMode.REPLACE:
        steps.append("Empty the tables; from here on it cannot be cancelled")
    steps.append("Give the files to the database on every node")
    if not kept:
        steps.append("Drop on every node what is not in its ranges")
    steps.append("Remove what was fetched")
    return [*steps, "Repair the tables, in an operation of its own"] if repair else steps


def _warnings(backup: Backup, mode: RestoreMode, *, same: bool, nodes: Sequence[Node]) -> list[str]:
    found = []
    if mode is RestoreMode.REPLACE:
        found.append("What was written after that is gone then; the database keeps a snapshot of what it empties.")
    if mode is RestoreMode.ADD:
        found.append("Rows that were deleted or changed after the backup stay as they are: newer writes win.")
    if nodes and places_by_itself(backup.engine):
        found.append("The nodes share the files, and send each row to all of its replicas.")
    elif nodes and not same:
        found.append("The cluster has another shape than when it was backed up: every node fetches all files.")
    if backup.reason:
        found.append(backup.reason)
    place = copies.healthy(backup)
    if place is not None and place.id != backup.location_id:
        found.append(f"It is damaged in {backup.location.name}: its copy in {place.name} is restored.")
    return found


@transaction.atomic
def start(who: Identity, backup_id: str, order: RestoreOrder, *, scratch: bool = False) -> dict[str, Any]:
    """`scratch`: into a cluster that goes afterwards whatever becomes of it. NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    backup = _backup(who, backup_id, lock=True)
    refuse_if_against(plan(who, backup_id, order))
    cluster = _new_cluster(who, order) if order.new_cluster is not None else _target(who, backup, order)
    assert cluster is not None
    row, nodes = new_restore(backup, cluster, order, actor=who.actor, scratch=scratch)
    first = "empty_tables" if order.mode is RestoreMode.REPLACE else "import_files"
    if order.mode in (RestoreMode.COPY, RestoreMode.CLUSTER):
        first = "create_tables"
    operation = operations.start(
        organisation_id=who.organisation_id,
        kind="restore",
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=who.actor,
        parameters={"restore": row.id, "backup": backup.id},
        groups=plans.restore(nodes, mode=order.mode, moment=order.point_in_time is not None),
        expected_seconds=plans.RESTORE_SECONDS,
        exclusive=False,
        cancellable_until=None if scratch else first,
        pausable=True,
    )
    Restore.objects.filter(id=row.id).update(operation_id=operation.id)
    audit.record(
        who,
        action="backup.restore",
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        after={"backup": backup.id, "mode": order.mode, "tables": row.tables}
        | ({} if order.point_in_time is None else {"point_in_time": order.point_in_time.isoformat()}),
    )
    return {"restore": get_restore(who, row.id), "operation": get_operation(who, operation.id)}


def refuse_if_against(said: Mapping[str, Any]) -> None:
    """Raises Conflict with the first thing that a plan has against it."""
    if said["problems"]:
        raise Conflict("cannot_restore", said["problems"][0], hint="Look at the plan: it says all that is against it.")


def new_restore(
    backup: Backup, cluster: Cluster, order: RestoreOrder, *, actor: str, scratch: bool = False
) -> tuple[Restore, list[Node]]:
    """Its rows, one for each node. The operation is the caller's."""
    chosen = _chosen(backup, order)
    nodes = list(cluster.nodes.filter(deleted_at=None).order_by("position"))
    sources = _sources(backup, nodes)
    logs = _log_sizes(backup, order.point_in_time, nodes, sources)
    sizes = {node: size + logs[node] for node, size in _sizes(backup, chosen, nodes, sources).items()}
    row = Restore.objects.create(
        organisation_id=backup.organisation_id,
        backup=backup,
        cluster=cluster,
        location=copies.healthy(backup),
        mode=order.mode,
        tables=[one.document() for one in chosen],
        point_in_time=order.point_in_time,
        bytes=sum(sizes.values()),
        repair_wanted=not scratch and _repairs(backup, order, nodes=nodes, same=sources is not None),
        scratch=scratch,
        created_by=actor,
    )
    parts = {part.node_id: part for part in backup.nodes.all()}
    RestoreNode.objects.bulk_create(
        RestoreNode(
            restore=row,
            node=node,
            source=None if sources is None else parts[sources[node.id]],
            bytes=sizes[node.id],
        )
        for node in nodes
    )
    return row, nodes


def _repairs(backup: Backup, order: RestoreOrder, *, nodes: Sequence[Node], same: bool) -> bool:
    """Whether the tables are repaired afterwards: as ordered, else where replicas may differ."""
    new = order.new_cluster
    if (len(nodes) if new is None else len(new.zones) * new.nodes_per_zone) < 2:
        return False
    if order.repair is not None:
        return order.repair
    if places_by_itself(backup.engine):
        return False
    lost = backup.nodes.exclude(state=NodeBackupState.WRITTEN).exists()
    return order.mode is RestoreMode.ADD or lost or not same


def _new_cluster(who: Identity, order: RestoreOrder) -> Cluster:
    assert order.new_cluster is not None
    started = cluster_actions.create(who, order.new_cluster)
    return Cluster.objects.get(id=started["cluster"]["id"])


def _backup(who: Identity, backup_id: str, *, lock: bool = False) -> Backup:
    rows = Backup.objects.select_for_update(of=("self",)) if lock else Backup.objects.all()
    found = rows.select_related("location", "cluster").filter(organisation_id=who.organisation_id, id=backup_id).first()
    if found is None:
        raise backup_not_found()
    return found


def _target(who: Identity, backup: Backup, order: RestoreOrder) -> Cluster | None:
    """None: one that is to be ordered. Raises NotFound, Invalid."""
    if (order.mode is RestoreMode.CLUSTER) is (order.cluster_id is None and order.new_cluster is None):
        raise Invalid(
            "invalid_field",
            "mode cluster needs cluster_id or new_cluster; the others are about the cluster that was backed up.",
            hint="Name a cluster, or order one.",
            field="cluster_id",
        )
    if order.new_cluster is not None:
        if order.mode is not RestoreMode.CLUSTER or order.cluster_id is not None:
            raise Invalid("invalid_field", "new_cluster goes with mode cluster alone.", field="new_cluster")
        return None
    found = clusters(who).filter(id=order.cluster_id or backup.cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def _against(who: Identity, backup: Backup, cluster: Cluster | None, order: RestoreOrder) -> list[str]:
    shown = get_backup(who, backup.id, details=False)
    reason = next(a["reason"] for a in shown["allowed_actions"] if a["action"] == "restore_backup")
    found = [str(reason)] if reason else []
    engine = order.new_cluster.engine if order.new_cluster is not None else cluster.engine if cluster else ""
    if engine != backup.engine:
        found.append(f"The backup is of {backup.engine}, and the cluster would be of {engine}.")
    if cluster is not None and ClusterState(cluster.state) not in (*SERVING, ClusterState.CREATING):
        found.append(f"The cluster {cluster.name} does not serve.")
    if not backup.tables.exists() and not found:
        found.append("There are no tables in it.")
    if order.new_cluster is not None:
        found += against_new_cluster(who, order.new_cluster)
    return found


def against_new_cluster(who: Identity, order: ClusterOrder) -> list[str]:
    """Why it cannot be ordered; empty: it can."""
    try:
        ordering.check_order(who, order)
    except DomainError as refused:
        return [f"The new cluster cannot be ordered: {refused.message}"]
    return []


def _chosen(backup: Backup, order: RestoreOrder) -> list[Chosen]:
    """Raises Invalid."""
    every = {(table.keyspace, table.name): table for table in backup.tables.order_by("keyspace", "name")}
    wanted = order.tables
    if order.mode is RestoreMode.COPY and not wanted:
        raise Invalid("invalid_field", "Name the tables, and what they become.", hint="", field="tables")
    if not wanted:
        return [Chosen(table=table, keyspace=table.keyspace, name=table.name) for table in every.values()]
    found = []
    for position, one in enumerate(wanted):
        table = every.get((one.keyspace, one.table))
        if table is None:
            raise Invalid(
                "unknown_table",
                f"There is no {one.keyspace}.{one.table} in the backup.",
                hint="get_backup lists its tables.",
                field=f"tables.{position}.table",
            )
        chosen = Chosen(table=table, keyspace=one.as_keyspace or one.keyspace, name=one.as_table or one.table)
        renamed = (chosen.keyspace, chosen.name) != (one.keyspace, one.table)
        if renamed is not (order.mode is RestoreMode.COPY):
            raise Invalid(
                "invalid_field",
                "Only copies get new names, and every copy needs one.",
                hint="Give as_table with mode copy.",
                field=f"tables.{position}.as_table",
            )
        found.append(chosen)
    if len({(one.keyspace, one.name) for one in found}) < len(found):
        raise Invalid("invalid_field", "Two tables would become one.", hint="Choose other names.", field="tables")
    return found


def _sources(backup: Backup, nodes: Sequence[Node]) -> dict[str, str] | None:
    if places_by_itself(backup.engine):
        return None
    return same_shape(
        [
            Place(id=part.node_id, tokens=frozenset(part.tokens), written=part.state == NodeBackupState.WRITTEN)
            for part in backup.nodes.all()
        ],
        [Place(id=node.id, tokens=frozenset(node.tokens)) for node in nodes],
    )


def _entries(backup: Backup, chosen: Sequence[Chosen]) -> Any:
    return BackupBundle.objects.filter(node__backup=backup, table__in=[one.table for one in chosen])


def _sizes(
    backup: Backup, chosen: Sequence[Chosen], nodes: Sequence[Node], sources: dict[str, str] | None
) -> dict[str, int]:
    """Bytes that each node fetches, by its id."""
    if places_by_itself(backup.engine):
        shares = (share_of(_entries(backup, chosen), turn, len(nodes)) for turn in range(len(nodes)))
        totals = [share.aggregate(bytes=Sum("object__bytes"))["bytes"] for share in shares]
        return {node.id: int(total or 0) for node, total in zip(nodes, totals, strict=True)}
    by_node = {
        row["node__node_id"]: int(row["bytes"] or 0)
        for row in _entries(backup, chosen).values("node__node_id").annotate(bytes=Sum("object__bytes"))
    }
    if sources is None:
        return {node.id: sum(by_node.values()) for node in nodes}
    return {node.id: by_node.get(sources[node.id], 0) for node in nodes}


def _log_sizes(
    backup: Backup, point: datetime | None, nodes: Sequence[Node], sources: dict[str, str] | None
) -> dict[str, int]:
    """Bytes of commit logs, as they are stored, that each node fetches, by its id."""
    if point is None:
        return dict.fromkeys((node.id for node in nodes), 0)
    return {node.id: _log_size(backup, point, None if sources is None else sources[node.id]) for node in nodes}


def _log_size(backup: Backup, point: datetime, node_id: str | None) -> int:
    rows = pieces_for(backup, point, node_id=node_id)
    return int(rows.aggregate(total=Sum("object__bytes"))["total"] or 0)


def _against_moment(backup: Backup, point: datetime | None) -> list[str]:
    if point is None:
        return []
    found = restorable(backup.cluster, backup=backup)
    if any(one["begins_at"] <= point <= one["ends_at"] for one in found):
        return []
    if not found:
        return ["No moment after this backup can be restored: the commit logs after it were not archived."]
    said = " and ".join(f"{one['begins_at']:%Y-%m-%d %H:%M:%S} to {one['ends_at']:%Y-%m-%d %H:%M:%S}" for one in found)
    return [f"With this backup the moments from {said} UTC can be restored, and {point:%Y-%m-%d %H:%M:%S %Z} is none."]


def _about_moment(point: datetime | None) -> list[str]:
    if point is None:
        return []
    return [
        "The time of writing decides, as clients or nodes gave it. Tables and columns are those of the backup: a table "
        "that was created later is not there, and one that was emptied or given a column since ends the restore before "
        "anything is changed.",
    ]


def _differences(
    chosen: Sequence[Chosen], tables: list[dict[str, Any]] | None, mode: RestoreMode
) -> list[dict[str, Any]]:
    """Between the backup and the cluster as it was read last; None: not read yet, the operation looks."""
    if tables is None:
        return []
    there = {(one["keyspace"], one["table"]): one["columns"] for one in tables}
    found = []
    for one in chosen:
        name, columns = f"{one.keyspace}.{one.name}", there.get((one.keyspace, one.name))
        for difference, fatal in differences_of(one.table.columns, columns, mode):
            found.append({"table": name, "difference": difference, "fatal": fatal})
    return found


def differences_of(
    before: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]] | None, mode: RestoreMode
) -> list[tuple[str, bool]]:
    """What is otherwise in the cluster, in words, and whether that is against a restore. `now` None: no such table."""
    if mode is RestoreMode.COPY:
        return [] if now is None else [("there is such a table already; choose another name.", True)]
    if now is None:
        if mode is RestoreMode.CLUSTER:
            return [("it is created.", False)]
        return [("it is not in the cluster any more; restore it as a copy, or create it first.", True)]
    columns = {column["name"]: column for column in now}
    found = []
    for column in before:
        there = columns.pop(column["name"], None)
        if there is None:
            found.append((f"the column {column['name']} was dropped since; restore a copy.", True))
        elif (there["type"], there["kind"]) != (column["type"], column["kind"]):
            was, is_ = f"{column['kind']} {column['type']}", f"{there['kind']} {there['type']}"
            found.append((f"the column {column['name']} was {was} and is {is_}; restore a copy.", True))
    found += [(f"the column {name} was added since; it is empty in what is restored.", False) for name in columns]
    return found
