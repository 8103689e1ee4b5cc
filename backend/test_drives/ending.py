"""The end of test drives: who wants to know is told before, and then the cluster is deleted as people delete it.

Everything that is remembered is in the rows, so a look may be repeated and two looks at once change nothing twice.
"""

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from backend.accounts.queries import Identity
from backend.accounts.states import Permission, Role
from backend.alerts import deliveries
from backend.alerts.states import AlertState, Topic
from backend.clusters import actions as clusters
from backend.clusters.models import Cluster
from backend.clusters.states import ClusterState
from backend.core.errors import DomainError
from backend.findings.states import Severity
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import open_operation
from backend.operations.states import OPEN, OperationState

log = structlog.get_logger(__name__)

ACTOR = "ringmaster"
"""Who the control plane is in the audit log when it acts by itself."""
RULE = "test-drive"
AT_MOST = 50
"""Of each, per look."""
_LIVING = (ClusterState.CREATING, ClusterState.ACTIVE, ClusterState.DEGRADED)
# Until somebody decides these would stand still, and so would the machines be paid for.
_STANDS_STILL = (OperationState.BLOCKED, OperationState.PAUSED)


def end_due() -> int:
    """How many test drives were brought nearer to their end: deleted, or what stood in the way was cancelled."""
    due = Cluster.objects.filter(state__in=_LIVING, expires_at__lte=Now()).order_by("expires_at")
    return sum(_end(cluster_id) for cluster_id in list(due.values_list("id", flat=True)[:AT_MOST]))


def _end(cluster_id: str) -> bool:
    try:
        with transaction.atomic():
            cluster = Cluster.objects.select_for_update().get(id=cluster_id)
            still_due = Cluster.objects.filter(id=cluster_id, state__in=_LIVING, expires_at__lte=Now()).exists()
            return still_due and _one_step(cluster)
    except DomainError as refused:
        log.info("test drive not ended yet", cluster_id=cluster_id, code=refused.code, reason=refused.message)
        return False


def _one_step(cluster: Cluster) -> bool:
    """What is under way has its turn first. An order that is not done by then is cancelled, which takes all away."""
    who = _acting(cluster)
    in_the_way = Q(kind="create_cluster") | Q(state__in=_STANDS_STILL)
    rows = Operation.objects.filter(in_the_way, cluster_id=cluster.id, state__in=OPEN, cancel_requested_at=None)
    if busy := rows.order_by("id").first():
        # A change of access too: the deletion would wait for one that nobody lets go on.
        operations.cancel(who, busy.id)
        log.info("cancelled, as the test drive is over", cluster_id=cluster.id, operation_id=busy.id)
        return True
    if open_operation(cluster.id) is not None:
        return False
    clusters.delete(who, cluster.id, by_itself=True)
    log.info("test drive over", cluster_id=cluster.id)
    return True


def tell_due() -> int:
    """How many were told of: that they end soon, or that this is over. Each is one message to each receiver."""
    soon = Cluster.objects.filter(
        state__in=_LIVING, expiry_warning_at__lte=Now(), expires_at__gt=Now(), expiry_told_at=None
    )
    # Deleted, kept, or extended so far that they will be told of once more.
    over = Cluster.objects.filter(
        ~Q(state__in=_LIVING) | Q(expires_at=None) | Q(expiry_warning_at__gt=Now()), expiry_told_at__isnull=False
    )
    return sum(_tell(one.id, AlertState.FIRING) for one in soon.order_by("expires_at")[:AT_MOST]) + sum(
        _tell(one.id, AlertState.RESOLVED) for one in over.order_by("id")[:AT_MOST]
    )


@transaction.atomic
def _tell(cluster_id: str, state: AlertState) -> bool:
    firing, now = state is AlertState.FIRING, timezone.now()
    cluster = Cluster.objects.select_for_update().get(id=cluster_id)
    if (cluster.expiry_told_at is None) is not firing:
        return False
    Cluster.objects.filter(id=cluster_id).update(expiry_told_at=now if firing else None)
    sentence = _soon(cluster) if firing else _over(cluster)
    alert = {
        "fingerprint": f"{RULE}-{cluster.id}",
        "status": state.value,
        "sentence": sentence,
        "value": None,
        "labels": {"cluster": cluster.name},
        "starts_at": (cluster.expiry_told_at or now).isoformat(),
        "ends_at": None if firing else now.isoformat(),
    }
    message = deliveries.content(
        topic=Topic.ALERTS,
        status=state.value,
        summary=sentence if firing else f"Over: {sentence}",
        severity=Severity.WARNING,
        rule=RULE,
        title="Test drive ends",
        hint="Extend it or keep it, in the console or over the API, if it is still needed.",
        organisation_id=cluster.organisation_id,
        cluster={"id": cluster.id, "name": cluster.name},
        url=f"{settings.ENV.ringmaster_public_url}/clusters/{cluster.id}",
        alerts=[alert],
    )
    deliveries.tell(cluster.organisation_id, cluster.id, message)
    return True


def _soon(cluster: Cluster) -> str:
    return f"The test drive {cluster.name} is deleted with all its data at {cluster.expires_at:%Y-%m-%d %H:%M} UTC."


def _over(cluster: Cluster) -> str:
    if cluster.state not in _LIVING:
        return f"The test drive {cluster.name} is {cluster.state}."
    if cluster.expires_at is None:
        return f"{cluster.name} is kept and is no test drive any more."
    return f"The test drive {cluster.name} goes on until {cluster.expires_at:%Y-%m-%d %H:%M} UTC."


def workloads() -> list[Cluster]:
    """Clusters in which a workload is to run, or has to be ended, those first that were ordered first."""
    serving = (ClusterState.ACTIVE, ClusterState.DEGRADED)
    return list(Cluster.objects.filter(test_drive__isnull=False, state__in=serving).order_by("id"))


def workload_ended(cluster_id: str) -> None:
    """None of its nodes runs one any more."""
    Cluster.objects.filter(id=cluster_id, expires_at=None).update(test_drive=None)


def _acting(cluster: Cluster) -> Identity:
    may = {Permission.CLUSTERS_READ, Permission.CLUSTERS_WRITE, Permission.OPERATIONS_WRITE}
    return Identity(
        organisation_id=cluster.organisation_id,
        user_id="",
        user_email=ACTOR,
        role=Role.OWNER,
        permissions=frozenset(may),
    )
