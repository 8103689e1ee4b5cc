"""Making and revoking the token of a cluster's numbers."""

import secrets
from typing import Any

from django.db import transaction
from django.utils import timezone

from backend.accounts.queries import Identity, hash_secret, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.clusters.models import Cluster
from backend.core.errors import NotFound
from backend.metrics.federation import PREFIX, token_shape
from backend.metrics.models import MetricsToken
from backend.metrics.queries import find_cluster


@transaction.atomic
def create_token(who: Identity, cluster_id: str) -> dict[str, Any]:
    """A new one, in the place of the one that was there. The secret is in the answer and nowhere else."""
    require(who, Permission.TOKENS_WRITE)
    cluster = find_cluster(who, cluster_id)
    secret = PREFIX + secrets.token_urlsafe(32)
    columns = {
        "secret_hash": hash_secret(secret),
        "hint": secret[-4:],
        "created_by": who.actor,
        "created_at": timezone.now(),
    }
    row, _ = MetricsToken.objects.update_or_create(cluster=cluster, defaults=columns)
    _record(who, cluster, "metrics.create_token")
    return token_shape(row) | {"secret": secret}


@transaction.atomic
def revoke_token(who: Identity, cluster_id: str) -> None:
    """Raises NotFound when there is none."""
    require(who, Permission.TOKENS_WRITE)
    cluster = find_cluster(who, cluster_id)
    deleted, _ = MetricsToken.objects.filter(cluster=cluster).delete()
    if not deleted:
        raise NotFound("metrics_token_not_found", "The cluster has no metrics token.", hint="There is nothing to do.")
    _record(who, cluster, "metrics.revoke_token")


def _record(who: Identity, cluster: Cluster, action: str) -> None:
    audit.record(who, action=action, target_type="cluster", target_id=cluster.id, target_name=cluster.name)
