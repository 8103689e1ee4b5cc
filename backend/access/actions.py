"""Changing access: what people order, and what the provisioner finds out.

An order is one transaction with operation and audit record. The database is the truth about roles: what is checked here
against the last reading is checked so that mistakes are told at once, and the database has the last word.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from backend.access import passwords, plans
from backend.access.checks import check_cidrs, check_grant
from backend.access.models import Allowlist, RoleLifetime, RolePassword, RoleReading
from backend.access.queries import (
    cidrs_of,
    find_role,
    get_allowlist,
    note_interest,
    role_not_found,
    was_read,
)
from backend.access.schemas import AllowlistOrder, GrantOrder, RoleOrder
from backend.access.states import (
    RESERVED_ROLES,
    reason_against_changing_access,
    reason_against_dropping,
    reason_against_new_password,
)
from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.catalog.queries import has_firewall, manages_access
from backend.clusters.models import Cluster, Datacenter, Node
from backend.clusters.queries import cluster_not_found
from backend.clusters.reach import clusters
from backend.clusters.states import ClusterState
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation, open_operation

Change = dict[str, Any]

# What people do


@transaction.atomic
def replace_allowlist(who: Identity, cluster_id: str, order: AllowlistOrder) -> dict[str, Any]:
    """Stores the list and starts to take it over. Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    firewalls, by_engine = _firewalls(cluster), manages_access(cluster.engine)
    _check_state(cluster, managed=by_engine or bool(firewalls))
    _raise(check_cidrs([entry.cidr for entry in order.entries]), "invalid_cidr")
    row = Allowlist.objects.filter(cluster=cluster).first()
    before = row.applied_entries if row is not None else []
    entries = [entry.model_dump() for entry in order.entries]
    Allowlist.objects.update_or_create(
        cluster=cluster, defaults={"entries": entries, "changed_at": Now(), "changed_by": who.actor}
    )
    operation = _start(
        who,
        cluster,
        "change_allowlist",
        plans.change_allowlist(_living(cluster) if by_engine else [], firewalls),
        plans.ALLOWLIST_SECONDS,
        plans.allowlist_parameters(cidrs_of(entries), cidrs_of(before)) | {"entries": entries},
    )
    _record(who, cluster, "access.replace_allowlist", before={"entries": before}, after={"entries": entries})
    return {"allowlist": get_allowlist(who, cluster_id), "operation": get_operation(who, operation.id)}


@transaction.atomic
def create_role(who: Identity, cluster_id: str, order: RoleOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    _check_state(cluster)
    _check_not_reserved(order.name)
    problems = []
    for position, grant in enumerate(order.permissions):
        problems += check_grant(grant.resource, grant.permissions, where=f"permissions.{position}.")
    _raise(problems, "invalid_grant")
    if find_role(cluster, order.name) is not None:
        raise Conflict("role_exists", f"There is a role {order.name} already.", hint="Choose another name.")
    changes: list[Change] = [{"action": "create", "can_login": order.can_login, "password": order.can_login}]
    changes += [{"action": "grant", **grant.model_dump()} for grant in order.permissions]
    changes += [{"action": "grant", "member_of": other} for other in order.member_of]
    operation = _change(who, cluster, order.name, changes, [{"action": "uncreate"}], password=order.can_login)
    _set_lifetime(cluster, order)
    _record(who, cluster, "access.create_role", after=order.model_dump())
    return {"operation": get_operation(who, operation.id)}


def _set_lifetime(cluster: Cluster, order: RoleOrder) -> None:
    RoleLifetime.objects.filter(cluster=cluster, role=order.name).delete()
    if order.lifetime_minutes is not None:
        expires_at = timezone.now() + timedelta(minutes=order.lifetime_minutes)
        RoleLifetime.objects.create(cluster=cluster, role=order.name, expires_at=expires_at)


@transaction.atomic
def update_role(who: Identity, cluster_id: str, name: str, *, can_login: bool) -> dict[str, Any]:
    """Lets a role sign in or not. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster, role = _locked_role(who, cluster_id, name)
    _refuse("role_protected", reason_against_dropping(name, administrator=cluster.admin_username))
    was = role["can_login"] if role is not None else None
    undo = [{"action": "alter", "can_login": was}] if was is not None and was != can_login else []
    operation = _change(who, cluster, name, [{"action": "alter", "can_login": can_login}], undo)
    _record(who, cluster, "access.update_role", before={"name": name, "can_login": was}, after={"can_login": can_login})
    return {"operation": get_operation(who, operation.id)}


@transaction.atomic
def delete_role(who: Identity, cluster_id: str, name: str) -> dict[str, Any]:
    """Takes a role away, with all it was granted. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster, role = _locked_role(who, cluster_id, name)
    _refuse("role_protected", reason_against_dropping(name, administrator=cluster.admin_username))
    operation = _change(who, cluster, name, [{"action": "drop"}], [])
    before = {key: role[key] for key in ("can_login", "member_of", "permissions")} if role is not None else {}
    _record(who, cluster, "access.delete_role", before={"name": name, **before})
    return {"operation": get_operation(who, operation.id)}


def grant_role(who: Identity, cluster_id: str, name: str, order: GrantOrder) -> dict[str, Any]:
    """Permissions or membership. Raises NotFound, Forbidden, Invalid, Conflict."""
    return _grant_or_revoke(who, cluster_id, name, order, granting=True)


def revoke_role(who: Identity, cluster_id: str, name: str, order: GrantOrder) -> dict[str, Any]:
    """Permissions or membership. Raises NotFound, Forbidden, Invalid, Conflict."""
    return _grant_or_revoke(who, cluster_id, name, order, granting=False)


@transaction.atomic
def _grant_or_revoke(who: Identity, cluster_id: str, name: str, order: GrantOrder, *, granting: bool) -> dict[str, Any]:
    require(who, Permission.CLUSTERS_WRITE)
    cluster, role = _locked_role(who, cluster_id, name)
    what = _what(order)
    held = _held(role, what)
    verb, back = ("grant", "revoke") if granting else ("revoke", "grant")
    # A cancel takes back what this changes, and leaves what was there before.
    undo = [{"action": back, **part} for part in _parts(what) if (part in held) is not granting]
    operation = _change(who, cluster, name, [{"action": verb, **what}], undo)
    _record(who, cluster, f"access.{verb}_role", after={"name": name, **what})
    return {"operation": get_operation(who, operation.id)}


def _what(order: GrantOrder) -> Change:
    if order.member_of is not None and order.resource is None and not order.permissions:
        return {"member_of": order.member_of}
    if order.member_of is None and order.resource is not None and order.permissions:
        _raise(check_grant(order.resource, order.permissions), "invalid_grant")
        return {"resource": order.resource, "permissions": sorted(set(order.permissions))}
    raise Invalid(
        "invalid_grant",
        "Give either resource and permissions, or member_of.",
        hint="One call is about one of the two.",
        field="resource",
    )


def _parts(what: Change) -> list[Change]:
    """One by one, because some may be held already."""
    if "member_of" in what:
        return [what]
    return [{"resource": what["resource"], "permissions": [permission]} for permission in what["permissions"]]


def _held(role: Mapping[str, Any] | None, what: Change) -> list[Change]:
    """Which of the parts the role has itself, by the last reading."""
    if role is None:
        return []
    if "member_of" in what:
        return [what] if what["member_of"] in role["member_of"] else []
    own = {(granted["resource"], granted["permission"]) for granted in role["permissions"]}
    return [part for part in _parts(what) if (part["resource"], part["permissions"][0]) in own]


@transaction.atomic
def rotate_password(who: Identity, cluster_id: str, name: str) -> dict[str, Any]:
    """Orders a new password. It can be revealed once when the database has it. NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster, role = _locked_role(who, cluster_id, name)
    _refuse("role_protected", reason_against_new_password(name, administrator=cluster.admin_username))
    if role is not None and not role["can_login"]:
        raise Conflict(
            "role_cannot_login", f"{name} cannot sign in, so it needs no password.", hint="Let it sign in first."
        )
    undo = [{"action": "alter", "password": "current"}]
    operation = _change(who, cluster, name, [{"action": "alter", "password": True}], undo, password=True)
    _record(who, cluster, "access.rotate_role_password", after={"name": name})
    return {"operation": get_operation(who, operation.id)}


@transaction.atomic
def reveal_password(who: Identity, cluster_id: str, name: str) -> dict[str, str]:
    """A password that was made here, once. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CREDENTIALS_READ)
    cluster = _locked(who, cluster_id)
    row = RolePassword.objects.filter(cluster=cluster, role=name).first()
    if row is None:
        raise role_not_found(name)
    password = passwords.find(cluster.id, name, "current")
    if row.next_operation_id or row.set_at is None or password is None:
        raise Conflict(
            "password_not_set",
            "The database does not have the password yet.",
            hint="Wait until the operation that sets it has succeeded.",
        )
    if not RolePassword.objects.filter(id=row.id, revealed_at=None).update(revealed_at=Now()):
        raise Conflict(
            "already_revealed", "The password was shown already.", hint="Set a new one with rotate_role_password."
        )
    _record(who, cluster, "access.reveal_role_password", after={"name": name})
    return {"username": name, "password": password}


@transaction.atomic
def refresh_roles(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Reads roles and permissions from the database. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    _check_state(cluster)
    note_interest(cluster)
    operation = _start(who, cluster, "read_access", plans.read_access(), plans.READ_SECONDS, {})
    return {"operation": get_operation(who, operation.id)}


def _change(
    who: Identity,
    cluster: Cluster,
    name: str,
    changes: Sequence[Change],
    undo: Sequence[Change],
    *,
    password: bool = False,
) -> Operation:
    parameters = plans.access_parameters(name, changes, undo)
    operation = _start(who, cluster, "change_access", plans.change_access(), plans.CHANGE_SECONDS, parameters)
    if password:
        known, _ = RolePassword.objects.get_or_create(cluster=cluster, role=name)
        if known.next_operation_id:
            raise Conflict(
                "password_being_set",
                f"A password of {name} is being set by {known.next_operation_id}.",
                hint="Wait until that operation has ended, or cancel it.",
            )
        RolePassword.objects.filter(id=known.id).update(next_operation_id=operation.id)
        passwords.make_next(cluster.id, name)
    return operation


def _locked(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).select_for_update().filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def _locked_role(who: Identity, cluster_id: str, name: str) -> tuple[Cluster, dict[str, Any] | None]:
    """The role as it was read last; None while nothing was read. Raises NotFound, Conflict."""
    cluster = _locked(who, cluster_id)
    _check_state(cluster)
    _check_not_reserved(name)
    role = find_role(cluster, name)
    if role is None and was_read(cluster):
        raise role_not_found(name)
    return cluster, role


def _check_state(cluster: Cluster, *, managed: bool | None = None) -> None:
    """`managed`: None: whether the engine's roles can be changed from here."""
    state = ClusterState(cluster.state)
    managed = manages_access(cluster.engine) if managed is None else managed
    reason = reason_against_changing_access(state, may=True, managed=managed)
    if reason is None:
        return
    if state is ClusterState.DELETED:
        raise Conflict("cluster_deleted", f"The cluster {cluster.name} is deleted.", hint="Nothing is left to change.")
    if not managed:
        raise Conflict("access_not_managed", reason, hint="Connect with CQL and change roles there.")
    if (busy := open_operation(cluster.id)) is not None:
        raise operations.in_progress(busy)
    raise Conflict("cluster_not_active", reason, hint="Look at the cluster's state and its operations.")


def _check_not_reserved(name: str) -> None:
    if name in RESERVED_ROLES:
        raise Conflict("role_reserved", f"{name} belongs to the machinery.", hint="Choose another role.", field="name")


def _refuse(code: str, reason: str | None) -> None:
    if reason is not None:
        raise Conflict(code, reason, hint="Other roles can be changed.")


def _raise(problems: Sequence[tuple[str, str]], code: str) -> None:
    if problems:
        where, message = problems[0]
        raise Invalid(code, message, hint="Nothing was changed.", field=where, fields=list(problems))


def _living(cluster: Cluster) -> list[Node]:
    return list(cluster.nodes.filter(deleted_at=None).order_by("position"))


def _firewalls(cluster: Cluster) -> list[Datacenter]:
    """Data centres whose networks have a firewall."""
    return list(cluster.datacenters.filter(deleted_at=None)) if has_firewall(cluster.provider) else []


def _start(
    who: Identity,
    cluster: Cluster,
    kind: str,
    groups: plans.Groups,
    expected_seconds: int,
    parameters: dict[str, Any],
) -> Operation:
    operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)
    return operations.start(
        organisation_id=who.organisation_id,
        kind=kind,
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=who.actor,
        parameters=parameters,
        groups=groups,
        expected_seconds=expected_seconds,
    )


def _record(
    who: Identity,
    cluster: Cluster,
    action: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        who,
        action=action,
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        before=before,
        after=after,
    )


# What the provisioner finds out


@transaction.atomic
def allowlist_applied(cluster_id: str, entries: Sequence[Mapping[str, str]]) -> None:
    """Every node goes by these entries."""
    Allowlist.objects.filter(cluster_id=cluster_id).update(applied_entries=list(entries), applied_at=Now())
    _tell(cluster_id)


@transaction.atomic
def allowlist_change_cancelled(cluster_id: str, entries: Sequence[Mapping[str, str]]) -> None:
    """What was in force before is in force, and wanted, again; unless another list was ordered since."""
    row = Allowlist.objects.select_for_update().filter(cluster_id=cluster_id).first()
    if row is not None and row.entries == list(entries):
        Allowlist.objects.filter(cluster_id=cluster_id).update(entries=row.applied_entries)
        _tell(cluster_id)


@transaction.atomic
def roles_read(cluster_id: str, reading: Mapping[str, Any]) -> None:
    """What the database says of roles and permissions."""
    told = {"roles": reading["roles"], "permissions": reading["permissions"]}
    RoleReading.objects.update_or_create(cluster_id=cluster_id, defaults={"reading": told, "read_at": Now()})
    _tell(cluster_id)


def role_changed(operation: Operation) -> None:
    """The database has done all that the operation wanted."""

    def settle(cluster_id: str, role: str) -> None:
        if any(change["action"] == "drop" for change in operation.parameters["changes"]):
            passwords.forget(cluster_id, role)
            RolePassword.objects.filter(cluster_id=cluster_id, role=role).delete()
            RoleLifetime.objects.filter(cluster_id=cluster_id, role=role).delete()
            return
        waiting = RolePassword.objects.filter(cluster_id=cluster_id, role=role, next_operation_id=operation.id)
        if waiting.update(next_operation_id="", set_at=Now(), revealed_at=None):
            passwords.next_is_set(cluster_id, role)

    _settle(operation, settle)


def role_change_cancelled(operation: Operation) -> None:
    """The password that was to come is forgotten, and the role's old one counts, if it is known."""

    def settle(cluster_id: str, role: str) -> None:
        if any(change["action"] == "create" for change in operation.parameters["changes"]):
            RoleLifetime.objects.filter(cluster_id=cluster_id, role=role).delete()
        waiting = RolePassword.objects.filter(cluster_id=cluster_id, role=role, next_operation_id=operation.id)
        if waiting.update(next_operation_id=""):
            passwords.forget_next(cluster_id, role)
            RolePassword.objects.filter(cluster_id=cluster_id, role=role, set_at=None).delete()

    _settle(operation, settle)


@transaction.atomic
def _settle(operation: Operation, settle: Callable[[str, str], None]) -> None:
    # The vault's document belongs to all roles of a cluster, so an order of another role must wait here.
    Cluster.objects.select_for_update().get(id=operation.cluster_id)
    settle(operation.cluster_id, operation.parameters["role"])
    _tell(operation.cluster_id)


def _tell(cluster_id: str) -> None:
    organisation_id = Cluster.objects.values_list("organisation_id", flat=True).get(id=cluster_id)
    operations.notify(organisation_id, "cluster", cluster_id, cluster_id)
