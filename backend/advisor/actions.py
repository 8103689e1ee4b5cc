"""What people do about advice: look again, dismiss, apply, take back. Each is one transaction with an audit record."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.advisor import plans
from backend.advisor.models import AdviceItem, Review, TableChange, TableSchema
from backend.advisor.queries import (
    against_reviewing,
    find_advice,
    find_change,
    find_cluster,
    get_advice,
    get_change,
    review_shape,
)
from backend.advisor.rules.facts import Table, alter
from backend.advisor.schemas import ApplyOrder, DismissalOrder, UndoOrder
from backend.advisor.states import TableChangeState, reason_against_applying, reason_against_undoing
from backend.audit import actions as audit
from backend.changes.planning.commands import compacted_per_second
from backend.clusters.models import Cluster
from backend.clusters.states import ClusterState
from backend.core.errors import Conflict, Invalid, NotFound
from backend.metrics.tables import table_bytes
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation

_OTHERWISE = "Look again (review_cluster): the advice rests on the options that were read."


@transaction.atomic
def ask_for_review(who: Identity, cluster_id: str) -> dict[str, Any]:
    """The next look is taken at once; asking twice is asking once. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = find_cluster(who, cluster_id)
    if reason := against_reviewing(who, cluster):
        raise Conflict("cannot_review", reason, hint="Wait until the cluster serves.")
    now = datetime.now(UTC)
    review, _ = Review.objects.select_for_update().get_or_create(cluster=cluster, defaults={"due_at": now})
    if review.asked_at is None:
        review.due_at = review.asked_at = now
        review.save(update_fields=["due_at", "asked_at"])
        _record(who, cluster, "advice.review")
    return review_shape(review)


@transaction.atomic
def dismiss(who: Identity, cluster_id: str, advice_id: str, order: DismissalOrder) -> dict[str, Any]:
    """It is not listed until then, or for good, though it stays true. Raises NotFound, Forbidden, Invalid."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = find_cluster(who, cluster_id)
    row = find_advice(who, cluster, advice_id)
    now = datetime.now(UTC)
    if order.until is not None and order.until <= now:
        raise Invalid(
            "invalid_field",
            "It can be dismissed until a time to come only.",
            hint="Write a later time with its zone, or leave it out: for good.",
            field="until",
        )
    AdviceItem.objects.filter(id=advice_id).update(
        dismissed_at=now, dismissed_by=who.actor, dismissed_reason=order.reason, dismissed_until=order.until
    )
    until = None if order.until is None else order.until.isoformat()
    _record(who, cluster, "advice.dismiss", after={**_about(row), "reason": order.reason, "until": until})
    return get_advice(who, cluster_id, advice_id)


@transaction.atomic
def restore(who: Identity, cluster_id: str, advice_id: str) -> dict[str, Any]:
    """It is listed again. Raises NotFound, Forbidden."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = find_cluster(who, cluster_id)
    row = find_advice(who, cluster, advice_id)
    if AdviceItem.objects.filter(id=advice_id, dismissed_at__isnull=False).update(
        dismissed_at=None, dismissed_by="", dismissed_reason="", dismissed_until=None
    ):
        _record(who, cluster, "advice.restore", after=_about(row))
    return get_advice(who, cluster_id, advice_id)


# Changes of tables


def plan(who: Identity, cluster_id: str, advice_id: str, order: ApplyOrder) -> dict[str, Any]:
    """What apply would do. Changes nothing. Raises NotFound, Conflict."""
    cluster = find_cluster(who, cluster_id)
    row = find_advice(who, cluster, advice_id)
    change = _change_of(row)
    return _plan(
        cluster, row["keyspace"], row["table"], change, rewrite=order.rewrite, reason=_against(who, cluster, row)
    )


def apply(who: Identity, cluster_id: str, advice_id: str, order: ApplyOrder) -> dict[str, Any]:
    """Sets the options that the advice names. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    row = find_advice(who, find_cluster(who, cluster_id), advice_id)
    # Asked before the transaction: it may take a while.
    on_disk = _on_disk(cluster_id, row["keyspace"], row["table"], rewrite=order.rewrite)
    return _apply(who, cluster_id, advice_id, order, on_disk or {})


@transaction.atomic
def _apply(
    who: Identity, cluster_id: str, advice_id: str, order: ApplyOrder, on_disk: Mapping[str, int]
) -> dict[str, Any]:
    cluster = _locked(who, cluster_id)
    row = find_advice(who, cluster, advice_id)
    change = _change_of(row)
    if reason := _against(who, cluster, row):
        raise Conflict("cannot_apply", reason, hint=_OTHERWISE)
    _check_unchanged(cluster, row["keyspace"], row["table"], change["before"])
    return _start(
        who,
        cluster,
        TableChange(
            cluster=cluster,
            rule=row["rule"],
            keyspace=row["keyspace"],
            table=row["table"],
            before=change["before"],
            after=change["after"],
            rewrite=order.rewrite,
            ordered_by=who.actor,
        ),
        action="advice.apply",
        on_disk=on_disk,
    )


def plan_undo(who: Identity, cluster_id: str, change_id: str, order: UndoOrder) -> dict[str, Any]:
    """What taking a change back would do. Changes nothing. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    done = find_change(cluster, change_id)
    back = {"before": done.after, "after": done.before}
    reason = _against_undoing(who, cluster, done)
    return _plan(cluster, done.keyspace, done.table, back, rewrite=order.rewrite, reason=reason)


def undo(who: Identity, cluster_id: str, change_id: str, order: UndoOrder) -> dict[str, Any]:
    """Sets the options as they were before. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    done = find_change(find_cluster(who, cluster_id), change_id)
    on_disk = _on_disk(cluster_id, done.keyspace, done.table, rewrite=order.rewrite)
    return _undo(who, cluster_id, change_id, order, on_disk or {})


@transaction.atomic
def _undo(
    who: Identity, cluster_id: str, change_id: str, order: UndoOrder, on_disk: Mapping[str, int]
) -> dict[str, Any]:
    cluster = _locked(who, cluster_id)
    done = find_change(cluster, change_id)
    if reason := _against_undoing(who, cluster, done):
        raise Conflict("cannot_undo", reason, hint="List the cluster's table changes.")
    return _start(
        who,
        cluster,
        TableChange(
            cluster=cluster,
            rule=done.rule,
            keyspace=done.keyspace,
            table=done.table,
            before=done.after,
            after=done.before,
            rewrite=order.rewrite,
            undoes=done,
            ordered_by=who.actor,
        ),
        action="advice.undo",
        on_disk=on_disk,
    )


def _on_disk(cluster_id: str, keyspace: str, table: str, *, rewrite: bool) -> Mapping[str, int] | None:
    """Live bytes of the table by id of the node; None: not known. Not asked for where nothing is written anew."""
    found = table_bytes(cluster_id, keyspace, table) if rewrite else None
    return None if found is None else found.on_disk


def _start(
    who: Identity, cluster: Cluster, row: TableChange, *, action: str, on_disk: Mapping[str, int]
) -> dict[str, Any]:
    name = f"{row.keyspace}.{row.table}"
    nodes = list(cluster.nodes.filter(deleted_at=None).order_by("position"))
    operation = operations.start(
        organisation_id=cluster.organisation_id,
        kind="apply_advice",
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=who.actor,
        parameters={
            "change": row.id,
            "keyspace": row.keyspace,
            "table": row.table,
            "before": row.before,
            "after": row.after,
        },
        groups=plans.set_options(name, nodes, rewrite=row.rewrite),
        expected_seconds=plans.expected_seconds(
            nodes, rewrite=row.rewrite, on_disk=on_disk, bytes_per_second=compacted_per_second(cluster)
        ),
    )
    row.operation_id = operation.id
    row.save(force_insert=True)
    audit.record(
        who,
        action=action,
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        before={"table": name, **row.before},
        after={"table": name, **row.after},
    )
    return {"change": get_change(who, cluster, row.id), "operation": get_operation(who, operation.id)}


def _plan(
    cluster: Cluster, keyspace: str, table: str, change: Mapping[str, Any], *, rewrite: bool, reason: str | None
) -> dict[str, Any]:
    try:
        _check_unchanged(cluster, keyspace, table, change["before"])
    except (Conflict, NotFound) as refused:
        reason = reason or refused.message
    nodes = list(cluster.nodes.filter(deleted_at=None).order_by("position"))
    groups = plans.set_options(f"{keyspace}.{table}", nodes, rewrite=rewrite)
    on_disk = _on_disk(cluster.id, keyspace, table, rewrite=rewrite)
    subject = Table(keyspace=keyspace, name=table, options={})
    notes = ["Serving goes on. The change is refused if somebody alters the table meanwhile."]
    if not rewrite:
        notes.append("Files on disk keep their old form until they are compacted or rewritten.")
    else:
        notes.append("Writing files anew reads and writes all of the table on each node, one node after the other.")
        if on_disk is None:
            notes.append(f"There are no numbers of {keyspace}.{table}: how long that takes is not known.")
    return {
        "possible": reason is None,
        "reason": reason,
        "keyspace": keyspace,
        "table": table,
        "before": change["before"],
        "after": change["after"],
        "statement": alter(subject, change["after"]),
        "way_back": alter(subject, change["before"]),
        "steps": [f"{step.title} on {step.target_title}" if step.target else step.title for g in groups for step in g],
        "notes": notes,
        "expected_seconds": plans.expected_seconds(
            nodes, rewrite=rewrite, on_disk=on_disk or {}, bytes_per_second=compacted_per_second(cluster)
        ),
    }


def _change_of(row: Mapping[str, Any]) -> dict[str, Any]:
    change: dict[str, Any] | None = row["words"]["change"]
    if change is None:
        raise Conflict(
            "left_to_people",
            f"This advice is not applied by the control plane. {row['words']['why_by_hand']}".strip(),
            hint="Its statement says what to do.",
        )
    return change


def _check_unchanged(cluster: Cluster, keyspace: str, table: str, before: Mapping[str, Any]) -> None:
    """By the options that were read last; the agent looks at those of the moment."""
    row = TableSchema.objects.filter(cluster=cluster, keyspace=keyspace, name=table).first()
    if row is None:
        raise NotFound("table_not_described", f"{keyspace}.{table} is not there any more.", hint=_OTHERWISE)
    differing = [name for name, value in before.items() if row.options.get(name) != value]
    if differing:
        raise Conflict(
            "options_changed", f"{', '.join(differing)} of {keyspace}.{table} changed meanwhile.", hint=_OTHERWISE
        )


def _against(who: Identity, cluster: Cluster, row: Mapping[str, Any]) -> str | None:
    return reason_against_applying(
        may=Permission.CLUSTERS_WRITE in who.permissions,
        cluster=ClusterState(cluster.state),
        by_hand=row["words"]["why_by_hand"],
        changing=_is_changing(cluster, row["keyspace"], row["table"]),
        is_over=row["over_at"] is not None,
    )


def _against_undoing(who: Identity, cluster: Cluster, done: TableChange) -> str | None:
    return reason_against_undoing(
        may=Permission.CLUSTERS_WRITE in who.permissions,
        cluster=ClusterState(cluster.state),
        state=TableChangeState(done.state),
        is_undo=done.undoes_id is not None,
        changing=_is_changing(cluster, done.keyspace, done.table),
    )


def _is_changing(cluster: Cluster, keyspace: str, table: str) -> bool:
    rows = TableChange.objects.filter(cluster=cluster, keyspace=keyspace, table=table)
    return rows.filter(state=TableChangeState.APPLYING).exists()


def _locked(who: Identity, cluster_id: str) -> Cluster:
    """Two orders for one table: the second one sees the first."""
    return Cluster.objects.select_for_update().get(id=find_cluster(who, cluster_id).id)


def _about(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"rule": row["rule"], "table": f"{row['keyspace']}.{row['table']}" if row["table"] else row["keyspace"]}


def _record(who: Identity, cluster: Cluster, action: str, *, after: dict[str, Any] | None = None) -> None:
    audit.record(who, action=action, target_type="cluster", target_id=cluster.id, target_name=cluster.name, after=after)


# What the provisioner finds out


def change_applied(operation: Operation) -> None:
    """Called when the operation succeeds."""
    now = datetime.now(UTC)
    change = TableChange.objects.filter(id=operation.parameters["change"])
    if change.filter(state=TableChangeState.APPLYING).update(state=TableChangeState.APPLIED, ended_at=now):
        row = change.get()
        if row.undoes_id is not None:
            TableChange.objects.filter(id=row.undoes_id).update(state=TableChangeState.UNDONE)


def change_cancelled(operation: Operation) -> None:
    TableChange.objects.filter(id=operation.parameters["change"], state=TableChangeState.APPLYING).update(
        state=TableChangeState.CANCELLED, ended_at=datetime.now(UTC)
    )
