"""What people do about a test drive's end."""

from typing import Any

from django.db import transaction

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.clusters.actions import ends_in
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found, get_cluster
from backend.clusters.reach import clusters
from backend.clusters.states import ClusterState, reason_against_going_on
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations


@transaction.atomic
def extend(who: Identity, cluster_id: str, hours: int) -> dict[str, Any]:
    """Its end is `hours` from now. Raises NotFound, Forbidden, Conflict, Invalid."""
    cluster = _locked(who, cluster_id)
    ends = ends_in(hours)
    assert cluster.expires_at is not None
    if ends["expires_at"] <= cluster.expires_at:
        raise Invalid(
            "not_longer",
            f"{cluster.name} goes on for longer than that already.",
            hint=f"It ends at {cluster.expires_at:%Y-%m-%d %H:%M} UTC: give more hours, or delete it earlier yourself.",
            field="hours",
        )
    return _changed(who, cluster, "cluster.extend_test_drive", ends)


@transaction.atomic
def keep(who: Identity, cluster_id: str) -> dict[str, Any]:
    """It is an ordinary cluster from now on. Its workload is ended by the provisioner. Raises as `extend`."""
    cluster = _locked(who, cluster_id)
    ordinary = {"expires_at": None, "expiry_warning_at": None, "termination_protection": True}
    return _changed(who, cluster, "cluster.keep_test_drive", ordinary)


def _locked(who: Identity, cluster_id: str) -> Cluster:
    require(who, Permission.CLUSTERS_WRITE)
    cluster = clusters(who).select_for_update().filter(id=cluster_id).first()
    if cluster is None:
        raise cluster_not_found()
    reason = reason_against_going_on(ClusterState(cluster.state), may=True, test_drive=cluster.expires_at is not None)
    if reason is not None:
        raise Conflict("no_test_drive", reason, hint="Look at the cluster's allowed_actions.")
    return cluster


def _changed(who: Identity, cluster: Cluster, action: str, columns: dict[str, Any]) -> dict[str, Any]:
    Cluster.objects.filter(id=cluster.id).update(**columns)
    told = [name for name in columns if name != "expiry_warning_at"]
    audit.record(
        who,
        action=action,
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        before={name: _said(getattr(cluster, name)) for name in told},
        after={name: _said(columns[name]) for name in told},
    )
    operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)
    return get_cluster(who, cluster.id)


def _said(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
