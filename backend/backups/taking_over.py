"""Taking over what a copy shows: the live tables get the rows of the same backup, with a way back.

Cassandra renames no tables, so nothing is swapped: what the live tables hold is backed up first, and kept for some
days; then the tables are restored from the backup that the copy was made of. The copy stays until it is dropped.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.backups import plans
from backend.backups.actions import new_backup
from backend.backups.models import Backup, Restore
from backend.backups.queries import reason_against_order
from backend.backups.restores import find_restore, get_restore
from backend.backups.restoring import new_restore, plan, refuse_if_against
from backend.backups.schemas import RestoreOrder, TakeOverOrder
from backend.backups.states import BackupState, RestoreMode, RestoreState, reason_against_taking_over
from backend.catalog.queries import places_by_itself
from backend.operations import actions as operations
from backend.operations.queries import get_operation


def plan_take_over(who: Identity, restore_id: str) -> dict[str, Any]:
    """What would be done, and everything that is against it. Changes nothing. Raises NotFound."""
    copy = find_restore(who, restore_id)
    said = plan(who, copy.backup_id, _order(copy))
    against = [
        reason_against_taking_over(
            RestoreMode(copy.mode), RestoreState(copy.state), BackupState(copy.backup.state), may=True
        ),
        reason_against_order(copy.cluster, copy.backup.location, may=True),
    ]
    return said | {
        "steps": ["Back up what the tables hold now: the way back", *said["steps"]],
        "warnings": [
            "What was written after the backup is gone from the tables then; it is in the backup that is made first.",
            "Changes that were made in the copy are not taken over. The copy stays until you drop it.",
        ],
        "problems": [*(reason for reason in against if reason), *said["problems"]],
    }


@transaction.atomic
def take_over(who: Identity, restore_id: str, order: TakeOverOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    copy = find_restore(who, restore_id)
    backup = Backup.objects.select_for_update(of=("self",)).get(id=copy.backup_id)
    refuse_if_against(plan_take_over(who, restore_id))
    way_back, nodes = new_backup(
        copy.cluster,
        backup.location,
        actor=who.actor,
        selection=[{"keyspace": one["keyspace"], "table": one["table"]} for one in copy.tables],
        expires_at=datetime.now(UTC) + timedelta(days=order.way_back_days),
    )
    row, _ = new_restore(backup, copy.cluster, _order(copy), actor=who.actor)
    operation = operations.start(
        organisation_id=who.organisation_id,
        kind="take_over",
        cluster_id=copy.cluster_id,
        cluster_name=copy.cluster.name,
        actor=who.actor,
        parameters={"backup": way_back.id, "restore": row.id, "scheduled": False},
        groups=plans.take_over(
            nodes, moment=copy.point_in_time is not None, hold=places_by_itself(copy.cluster.engine)
        ),
        expected_seconds=plans.BACKUP_SECONDS + plans.RESTORE_SECONDS,
        cancellable_until="empty_tables",
        pausable=True,
    )
    Backup.objects.filter(id=way_back.id).update(operation_id=operation.id)
    Restore.objects.filter(id=row.id).update(operation_id=operation.id, way_back=way_back)
    audit.record(
        who,
        action="backup.take_over",
        target_type="cluster",
        target_id=copy.cluster_id,
        target_name=copy.cluster.name,
        after={"backup": backup.id, "tables": row.tables, "way_back": way_back.id},
    )
    return {"restore": get_restore(who, row.id), "operation": get_operation(who, operation.id)}


def _order(copy: Restore) -> RestoreOrder:
    """The tables that were copied, in their own place, as they were at the same moment."""
    tables = [{"keyspace": one["keyspace"], "table": one["table"]} for one in copy.tables]
    asked = {"mode": RestoreMode.REPLACE, "tables": tables, "point_in_time": copy.point_in_time}
    return RestoreOrder.model_validate(asked)
