"""Roles that were made for a while are taken away when it is over, as people take roles away.

All that is remembered is in the rows, so a look may be repeated and two looks at once change nothing twice.
"""

import structlog
from django.db import transaction
from django.db.models.functions import Now

from backend.access import actions
from backend.access.models import RoleLifetime
from backend.access.queries import find_role, was_read
from backend.accounts.queries import Identity
from backend.accounts.states import Permission, Role
from backend.clusters.models import Cluster
from backend.clusters.states import SERVING
from backend.core.errors import DomainError
from backend.operations.models import Operation
from backend.operations.states import OPEN

log = structlog.get_logger(__name__)

ACTOR = "ringmaster"
"""Who the control plane is in the audit log when it acts by itself."""
AT_MOST = 50
"""Roles per look."""


def end_due() -> int:
    """How many roles were ordered away, or found to be gone. What stands in the way is tried again at the next look."""
    due = RoleLifetime.objects.filter(
        expires_at__lte=Now(), cluster__deleted_at=None, cluster__state__in=SERVING
    ).order_by("expires_at")
    return sum(_end(lifetime) for lifetime in list(due[:AT_MOST]))


def _end(lifetime: RoleLifetime) -> bool:
    try:
        with transaction.atomic():
            cluster = Cluster.objects.select_for_update().get(id=lifetime.cluster_id)
            still_due = RoleLifetime.objects.filter(id=lifetime.id, expires_at__lte=Now())
            if was_read(cluster) and find_role(cluster, lifetime.role) is None:
                # Somebody dropped it with CQL.
                return bool(still_due.delete()[0])
            if not still_due.exists() or _is_changing(lifetime):
                return False
            actions.delete_role(_acting(cluster), cluster.id, lifetime.role)
            log.info("role ended", cluster_id=cluster.id, role=lifetime.role)
            return True
    except DomainError as refused:
        log.info("role not ended yet", cluster_id=lifetime.cluster_id, role=lifetime.role, code=refused.code)
        return False


def _is_changing(lifetime: RoleLifetime) -> bool:
    """Another order would only wait behind the one that is open."""
    orders = Operation.objects.filter(cluster_id=lifetime.cluster_id, kind="change_access", state__in=OPEN)
    return orders.filter(parameters__role=lifetime.role).exists()


def _acting(cluster: Cluster) -> Identity:
    return Identity(
        organisation_id=cluster.organisation_id,
        user_id="",
        user_email=ACTOR,
        role=Role.OWNER,
        permissions=frozenset({Permission.CLUSTERS_WRITE}),
    )
