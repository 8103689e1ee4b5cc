"""Reading access: the allowlist, and roles as the database told them last."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from backend.access.effective import roles_of
from backend.access.models import Allowlist, RoleLifetime, RolePassword, RoleReading
from backend.access.states import (
    effect,
    reason_against_changing_access,
    reason_against_dropping,
    reason_against_new_password,
    reason_against_revealing_password,
)
from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.catalog.queries import has_firewall, manages_access
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.states import ClusterState
from backend.core.errors import NotFound
from backend.core.schemas import allowed
from backend.operations.models import Operation
from backend.operations.states import OPEN

# A cluster whose roles nobody has looked at for so long is not read again by itself.
INTEREST = timedelta(minutes=30)
_NOTE_INTEREST_EVERY = timedelta(minutes=1)


def find_cluster(who: Identity, cluster_id: str) -> Cluster:
    """Raises NotFound."""
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def get_allowlist(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    row = Allowlist.objects.filter(cluster=cluster).first()
    firewall, by_engine = has_firewall(cluster.provider), manages_access(cluster.engine)
    reason = reason_against_changing_access(
        ClusterState(cluster.state),
        may=Permission.CLUSTERS_WRITE in who.permissions,
        managed=by_engine or firewall,
    )
    entries = row.entries if row is not None else []
    return {
        "entries": entries,
        "firewall": firewall,
        "effect": effect(firewall=firewall, engine=by_engine, limited=bool(entries)),
        "in_force": row is None or cidrs_of(entries) == cidrs_of(row.applied_entries),
        "changed_at": row.changed_at if row is not None else None,
        "changed_by": row.changed_by if row is not None else None,
        "applied_at": row.applied_at if row is not None else None,
        "pending_operation": _pending(cluster, "change_allowlist"),
        "allowed_actions": [allowed("replace_allowlist", reason)],
    }


def has_allowlist(cluster_id: str) -> bool:
    """Whether its engines limit from where roles may sign in, or are about to."""
    row = Allowlist.objects.select_related("cluster").filter(cluster_id=cluster_id).first()
    return row is not None and bool(row.entries or row.applied_entries) and manages_access(row.cluster.engine)


def engine_cidrs(cluster_id: str) -> list[str]:
    """What the engines are to limit sign-ins to, as ordered last; empty: to nothing, or the engine cannot."""
    engine = Cluster.objects.values_list("engine", flat=True).get(id=cluster_id)
    return wanted_cidrs(cluster_id) if manages_access(engine) else []


def wanted_cidrs(cluster_id: str) -> list[str]:
    """The networks on the list, as ordered last."""
    row = Allowlist.objects.filter(cluster_id=cluster_id).first()
    return [] if row is None else cidrs_of(row.entries)


def cidrs_of(entries: Sequence[dict[str, str]]) -> list[str]:
    return [entry["cidr"] for entry in entries]


def list_roles(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Notes that somebody looks, so that the reading is kept fresh for a while. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    row = note_interest(cluster)
    against = reason_against_changing_access(
        ClusterState(cluster.state),
        may=Permission.CLUSTERS_WRITE in who.permissions,
        managed=manages_access(cluster.engine),
    )
    ends = dict(RoleLifetime.objects.filter(cluster=cluster).values_list("role", "expires_at"))
    passwords = {password.role: password for password in RolePassword.objects.filter(cluster=cluster)}
    items = [
        _role(who, cluster, role, passwords.get(role["name"]), against) | {"expires_at": ends.get(role["name"])}
        for role in sorted(roles_of(row.reading), key=lambda role: str(role["name"]))
    ]
    return {
        "read_at": row.read_at,
        "items": items,
        "pending_operation": _pending(cluster, "change_access", "read_access"),
        "allowed_actions": [allowed("create_role", against), allowed("refresh_roles", against)],
    }


def _role(
    who: Identity, cluster: Cluster, role: dict[str, Any], password: RolePassword | None, against: str | None
) -> dict[str, Any]:
    name, administrator = role["name"], cluster.admin_username
    against_revealing = reason_against_revealing_password(
        may=Permission.CREDENTIALS_READ in who.permissions,
        known=password is not None,
        in_force=password is not None and password.set_at is not None and not password.next_operation_id,
        revealed=password is not None and password.revealed_at is not None,
    )
    against_password = against or reason_against_new_password(name, administrator=administrator)
    if against_password is None and not role["can_login"]:
        against_password = f"{name} cannot sign in, so it needs no password."
    return role | {
        "is_administrator": name == administrator,
        "password": None if password is None else {"set_at": password.set_at, "revealed_at": password.revealed_at},
        "allowed_actions": [
            allowed("update_role", against or reason_against_dropping(name, administrator=administrator)),
            allowed("delete_role", against or reason_against_dropping(name, administrator=administrator)),
            allowed("grant_role", against),
            allowed("revoke_role", against),
            allowed("rotate_role_password", against_password),
            allowed("reveal_role_password", against_revealing),
        ],
    }


def note_interest(cluster: Cluster) -> RoleReading:
    row, _ = RoleReading.objects.get_or_create(cluster=cluster)
    if not manages_access(cluster.engine):
        return row
    stale = Q(looked_at=None) | Q(looked_at__lt=Now() - _NOTE_INTEREST_EVERY)
    RoleReading.objects.filter(stale, cluster=cluster).update(looked_at=Now())
    return row


def find_role(cluster: Cluster, name: str) -> dict[str, Any] | None:
    """The role in the last reading. None when it is not in there; NotFound only a caller can decide."""
    row = RoleReading.objects.filter(cluster=cluster).first()
    return next((role for role in roles_of(row.reading if row else {}) if role["name"] == name), None)


def was_read(cluster: Cluster) -> bool:
    return RoleReading.objects.filter(cluster=cluster, read_at__isnull=False).exists()


def role_not_found(name: str) -> NotFound:
    return NotFound(
        "role_not_found",
        f"There is no role {name}.",
        hint="List the roles to see their names; refresh_roles reads them anew.",
    )


def clusters_to_read(*, older_than: timedelta, at_most: int) -> list[Cluster]:
    """Those that somebody has looked at lately and whose reading is old; the oldest first."""
    wanted = RoleReading.objects.filter(
        Q(read_at=None) | Q(read_at__lt=Now() - older_than),
        looked_at__gte=Now() - INTEREST,
        cluster__deleted_at=None,
        cluster__state__in=[ClusterState.ACTIVE, ClusterState.DEGRADED],
    )
    rows = wanted.select_related("cluster").order_by("read_at")[:at_most]
    return [row.cluster for row in rows]


def _pending(cluster: Cluster, *kinds: str) -> dict[str, str] | None:
    found = Operation.objects.filter(cluster_id=cluster.id, kind__in=kinds, state__in=OPEN).order_by("id").first()
    return None if found is None else {"id": found.id, "kind": found.kind, "state": found.state}
