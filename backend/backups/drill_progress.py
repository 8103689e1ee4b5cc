"""What becomes of a restore drill, written down: each can be repeated, or come late."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from backend.backups import drills, restoring
from backend.backups.models import Drill
from backend.backups.schemas import RestoreOrder
from backend.backups.states import DrillState, RestoreMode
from backend.backups.taking_away import take_away
from backend.clusters import actions as clusters
from backend.clusters.schemas import ClusterOrder
from backend.operations import actions as operations
from backend.operations.models import Operation


@transaction.atomic
def order_scratch(drill_id: str) -> str:
    """The id of the operation that makes the cluster; ordered once. Raises DomainError when it cannot be."""
    row = Drill.objects.select_for_update().get(id=drill_id)
    if row.scratch_id is None:
        who = drills.acting(row.organisation_id, row.actor)
        started = clusters.create(who, ClusterOrder.model_validate(row.order))
        Drill.objects.filter(id=row.id).update(scratch_id=started["cluster"]["id"])
        _ended(row, "ordered")
        return str(started["operation"]["id"])
    return Operation.objects.get(cluster_id=row.scratch_id, kind="create_cluster").id


@transaction.atomic
def restore_into_scratch(drill_id: str) -> str:
    """The id of the operation that restores; ordered once. Raises DomainError when it cannot be."""
    row = Drill.objects.select_for_update(of=("self",)).select_related("restore").get(id=drill_id)
    if row.restore is not None:
        return row.restore.operation_id
    order = RestoreOrder.model_validate(
        {"mode": RestoreMode.CLUSTER, "cluster_id": row.scratch_id, "tables": row.tables}
    )
    who = drills.acting(row.organisation_id, row.actor)
    started = restoring.start(who, row.backup_id, order, scratch=True)
    Drill.objects.filter(id=row.id).update(restore_id=started["restore"]["id"])
    return str(started["operation"]["id"])


@transaction.atomic
def stage_ended(drill_id: str, name: str) -> None:
    """Notes the moment, once. With the stage `restored` the tables answer: that is the time to recovery."""
    row = Drill.objects.select_for_update().get(id=drill_id)
    _ended(row, name)


def _ended(row: Drill, name: str) -> None:
    if name in row.stages:
        return
    now = datetime.now(UTC)
    row.stages[name] = now.isoformat()
    Drill.objects.filter(id=row.id).update(stages=row.stages)
    if name == "restored":
        Drill.objects.filter(id=row.id).update(rto_seconds=(now - row.created_at).total_seconds())
    operations.notify(row.organisation_id, "cluster", row.cluster_id, row.cluster_id)


@transaction.atomic
def was_read(drill_id: str, side: str, table: str, slices: Sequence[Mapping[str, Any]] | None) -> None:
    """`side`: restored or live. `slices` None: it could not be read."""
    row = Drill.objects.select_for_update().get(id=drill_id)
    row.readings.setdefault(side, {})[table] = None if slices is None else list(slices)
    Drill.objects.filter(id=row.id).update(readings=row.readings)


def judged(drill_id: str, results: Sequence[Mapping[str, Any]]) -> None:
    """The readings are not needed any more."""
    Drill.objects.filter(id=drill_id).update(results=list(results), readings={})


def gave_up(drill_id: str, reason: str) -> None:
    """Why it proves nothing; the first reason stays."""
    Drill.objects.filter(id=drill_id, reason="").update(reason=reason)


def remove_scratch(row: Drill) -> str:
    """One step further: empty when its cluster is gone, else what is waited for. Raises DomainError."""
    if row.scratch_id is None:
        return ""
    return take_away(drills.acting(row.organisation_id, row.actor), row.scratch_id)


def ended(drill_id: str) -> None:
    """Proved when nothing was found against it."""
    _close(drill_id, DrillState.FAILED if Drill.objects.get(id=drill_id).reason else DrillState.PROVED)


def cancelled(drill_id: str) -> None:
    _close(drill_id, DrillState.CANCELLED)


def _close(drill_id: str, state: DrillState) -> None:
    rows = Drill.objects.filter(id=drill_id, state=DrillState.RUNNING)
    rows.update(state=state, finished_at=Now(), readings={})
    row = Drill.objects.get(id=drill_id)
    operations.notify(row.organisation_id, "cluster", row.cluster_id, row.cluster_id)
