"""Cloning a cluster: a restore of now. A backup, an order of a cluster beside it, and a restore of one into the other.

All three are made in the ordinary ways, so each is an operation that can be looked at; the clone's own waits for them.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.backups import plans, restoring
from backend.backups.access import cluster_of
from backend.backups.actions import start_backup
from backend.backups.clone_schemas import CloneOrder
from backend.backups.drills import acting
from backend.backups.location_queries import location_for
from backend.backups.models import Restore
from backend.backups.ordering import chosen, locked_cluster
from backend.backups.queries import estimate, get_backup
from backend.backups.schemas import RestoreOrder
from backend.backups.states import RestoreMode
from backend.clusters import actions as clusters
from backend.clusters import ordering
from backend.clusters.models import Cluster
from backend.clusters.schemas import ClusterOrder
from backend.core.errors import Conflict, DomainError
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation

TAG = "ringmaster-clone"
"""On the new cluster: the id of the operation that made it."""


def plan_clone(who: Identity, cluster_id: str, order: CloneOrder) -> dict[str, Any]:
    """What would be done, and everything that is against it. Changes nothing. Raises NotFound, Invalid."""
    cluster = cluster_of(who, cluster_id)
    chosen(cluster, order.selection)
    backup = estimate(who, cluster_id, order.location_id)
    problems, warnings, nodes = list(backup["problems"]), list(backup["warnings"]), None
    if order.new_cluster.engine != cluster.engine:
        problems.append(f"The cluster is of {cluster.engine}, and the new one would be of {order.new_cluster.engine}.")
    try:
        checked = ordering.check_order(who, order.new_cluster)
        warnings += checked["warnings"]
        nodes = checked["nodes_total"]
    except DomainError as refused:
        problems.append(f"The new cluster cannot be ordered: {refused.message}")
    return {
        "bytes": backup["bytes"],
        "new_bytes": backup["new_bytes"],
        "seconds": backup["seconds"],
        "nodes_total": nodes,
        "steps": [
            f"Back {cluster.name} up, and order {order.new_cluster.name} at the same time",
            f"Restore the backup into {order.new_cluster.name}, when both are there",
        ],
        "warnings": [
            *warnings,
            "Roles, permissions, the allowlist, engine settings and schedules are not copied. What is written after "
            "the snapshot is not in the clone.",
        ],
        "problems": problems,
    }


@transaction.atomic
def start(who: Identity, cluster_id: str, order: CloneOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = locked_cluster(who, cluster_id)
    ordering.check_order(who, order.new_cluster)
    if problems := plan_clone(who, cluster_id, order)["problems"]:
        raise Conflict("cannot_clone", problems[0], hint="Look at the plan: it says all that is against it.")
    backup, _ = start_backup(
        cluster,
        location_for(who, order.location_id),
        actor=who.actor,
        selection=chosen(cluster, order.selection),
        rate=None,
        expires_at=datetime.now(UTC) + timedelta(days=order.keep_days),
    )
    operation = operations.start(
        organisation_id=who.organisation_id,
        kind="clone_cluster",
        # It changes neither cluster itself: what it orders takes its turns there.
        cluster_id="",
        cluster_name=cluster.name,
        actor=who.actor,
        parameters={"backup": backup.id, "order": order.new_cluster.model_dump(mode="json")},
        groups=plans.clone(cluster.name, order.new_cluster.name),
        expected_seconds=plans.BACKUP_SECONDS + plans.RESTORE_SECONDS,
    )
    audit.record(
        who,
        action="cluster.clone",
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        after={"backup": backup.id, "new_cluster": order.new_cluster.name},
    )
    return {"backup": get_backup(who, backup.id, details=False), "operation": get_operation(who, operation.id)}


def acting_for(operation: Operation) -> Identity:
    """Who orders the parts of a clone: the control plane, for whoever ordered the clone."""
    return acting(operation.organisation_id, operation.actor)


def cluster_made(operation: Operation) -> Cluster | None:
    """What the clone has ordered; None: nothing yet."""
    rows = Cluster.objects.filter(organisation_id=operation.organisation_id)
    return rows.filter(options__tags__contains={TAG: operation.id}).first()


@transaction.atomic
def order_cluster(operation: Operation) -> str:
    """The id of the operation that makes the cluster; ordered once. Raises DomainError when it cannot be."""
    made = cluster_made(operation)
    if made is not None:
        return Operation.objects.get(cluster_id=made.id, kind="create_cluster").id
    order = ClusterOrder.model_validate(operation.parameters["order"])
    order.options.tags[TAG] = operation.id
    return str(clusters.create(acting_for(operation), order)["operation"]["id"])


@transaction.atomic
def restore_into_it(operation: Operation) -> str:
    """The id of the operation that restores; ordered once. Raises DomainError when it cannot be."""
    made, backup_id = cluster_made(operation), operation.parameters["backup"]
    assert made is not None
    there = Restore.objects.filter(backup_id=backup_id, cluster=made).first()
    if there is not None:
        return there.operation_id
    order = RestoreOrder.model_validate({"mode": RestoreMode.CLUSTER, "cluster_id": made.id})
    return str(restoring.start(acting_for(operation), backup_id, order)["operation"]["id"])
