"""What people order of clusters and nodes: each is one transaction with operation and audit record.

What the provisioner finds out is written by lifecycle.py.
"""

import secrets
from datetime import date, time, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from backend.accounts import second_person
from backend.accounts.queries import Identity, require
from backend.accounts.states import DeletionTarget, Permission
from backend.audit import actions as audit
from backend.catalog.models import Region
from backend.catalog.queries import connection_kinds, has_firewall
from backend.cloud_accounts.models import CloudAccount
from backend.clusters import authorities, ceilings, ordering, pki, plans, tokens, vault
from backend.clusters.models import Cluster, Datacenter, MaintenanceWindow, Node
from backend.clusters.ordering import CheckedOrder
from backend.clusters.queries import cluster_not_found, get_cluster, get_maintenance_windows
from backend.clusters.reach import check_tags, clusters
from backend.clusters.schemas import ClusterOrder, ClusterUpdate, HealingWish, MaintenanceWindowsWish
from backend.clusters.states import (
    SERVING,
    ClusterState,
    SecretPurpose,
    Weekday,
    reason_against_deleting,
    reason_against_revealing,
    reason_against_rotating,
    reason_against_updating,
)
from backend.core import ids
from backend.core.errors import Conflict
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation, open_operation

ADMIN_USERNAME = "admin"
_PASSWORD_BYTES = 24  # 32 characters
_CONTROL_PASSWORD_BYTES = 32

ensure_control_plane_pki = authorities.ensure_control_plane_pki


def create(who: Identity, order: ClusterOrder) -> dict[str, Any]:
    """Accepts an order: cluster, nodes with tokens, secrets, operation, audit record. Raises Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    check_tags(who, order.options.tags)
    checked = ordering.check_words(order)
    ordering.check_build(checked)
    ordering.check_name_free(who, order.name)
    ca = pki.new_ca(f"Ringmaster {order.name}")
    with transaction.atomic():
        # Whoever orders in this region next waits here, so two orders cannot both take the last room.
        Region.objects.select_for_update().get(id=checked.region.id)
        account = ordering.check_account(who, order, lock=True)
        ceilings.hold(who.organisation_id)
        ordering.check_ceilings(who, checked)
        ordering.check_room(checked, account)
        cluster = _insert(who, checked, account, ca_certificate=ca.certificate_pem)
        datacenter = Datacenter.objects.create(
            cluster=cluster,
            name=checked.datacenter,
            region=order.region,
            zones=order.zones,
            machine_type=order.machine_type,
            nodes_per_zone=order.nodes_per_zone,
        )
        nodes = _make_nodes(cluster, datacenter)
        vault.keep(cluster.id, SecretPurpose.CLUSTER_CA_KEY, ca.key_pem, certificate=ca.certificate_pem)
        vault.keep(cluster.id, SecretPurpose.ADMIN_PASSWORD, _new_password())
        vault.keep(cluster.id, SecretPurpose.CONTROL_PASSWORD, secrets.token_urlsafe(_CONTROL_PASSWORD_BYTES).encode())
        firewall, test_drive = has_firewall(cluster.provider), order.test_drive is not None
        groups = plans.create_cluster(nodes, firewall=firewall, test_drive=test_drive)
        seconds = plans.create_seconds(rows=order.test_drive.rows if order.test_drive else 0)
        operation = _start(who, cluster, "create_cluster", groups, seconds)
        _record(who, cluster, "cluster.create", after=order.model_dump(mode="json"))
        return _started(who, cluster.id, operation)


def _insert(who: Identity, checked: CheckedOrder, account: CloudAccount | None, *, ca_certificate: str) -> Cluster:
    order = checked.order
    try:
        with transaction.atomic():
            cluster_id = ids.new_cluster_id()
            return Cluster.objects.create(
                id=cluster_id,
                organisation_id=who.organisation_id,
                name=order.name,
                # With the id, because two clusters may have the same name at different times, and nodes refuse to
                # gossip with a ring of another name.
                ring_name=f"{order.name} {cluster_id}",
                engine=order.engine,
                engine_version=checked.engine_version,
                provider=order.provider,
                cloud_account=account,
                image_build=order.image_build or "",
                options=order.options.model_dump(),
                termination_protection=order.termination_protection,
                **_healing_columns(order.healing),
                **_test_drive_columns(order),
                admin_username=ADMIN_USERNAME,
                ca_certificate=ca_certificate,
                created_by=who.actor,
            )
    except IntegrityError as error:
        if "cluster_name_once" in str(error):
            raise ordering.name_taken(order.name) from error
        raise


def _make_nodes(cluster: Cluster, datacenter: Datacenter) -> list[Node]:
    """One node of every zone, then the second of every zone ...: the first of each zone is a seed."""
    allocated = tokens.allocate(racks=len(datacenter.zones), nodes_per_rack=datacenter.nodes_per_zone)
    nodes = [
        Node(
            cluster=cluster,
            datacenter=datacenter,
            name=f"{cluster.name}-{zone}-{turn + 1}",
            machine_type=datacenter.machine_type,
            zone=zone,
            position=turn * len(datacenter.zones) + rack,
            tokens=allocated[rack][turn],
            is_seed=turn == 0,
        )
        for turn in range(datacenter.nodes_per_zone)
        for rack, zone in enumerate(datacenter.zones)
    ]
    return Node.objects.bulk_create(nodes)


@transaction.atomic
def update(who: Identity, cluster_id: str, wanted: ClusterUpdate) -> dict[str, Any]:
    """Changes what only the control plane knows. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    _refuse(cluster, None, reason_against_updating(ClusterState(cluster.state), may=True))
    if cluster.expires_at is not None and wanted.termination_protection:
        raise Conflict(
            "test_drive_protected",
            f"{cluster.name} is a test drive, which is deleted by itself.",
            hint="Keep it (keep_test_drive): it is protected then.",
            field="termination_protection",
        )
    columns = _update_columns(who, cluster, wanted)
    if wanted.image_build and wanted.image_build != cluster.image_build:
        ordering.raise_without_images(
            wanted.image_build,
            provider=cluster.provider,
            engine=cluster.engine,
            version=cluster.engine_version,
            places=cluster.datacenters.filter(deleted_at=None).values_list("region", "machine_type"),
            # What it runs from may be kept, also when it is deprecated.
            deprecated_too=True,
        )
    before = {name: getattr(cluster, name) for name, value in columns.items() if getattr(cluster, name) != value}
    if before:
        _write_update(cluster, columns)
        after = {name: columns[name] for name in before}
        _record(who, cluster, "cluster.update", before=before, after=after)
        operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)
    return get_cluster(who, cluster.id)


def _update_columns(who: Identity, cluster: Cluster, wanted: ClusterUpdate) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "name": wanted.name,
        "termination_protection": wanted.termination_protection,
        "image_build": wanted.image_build,
    }
    if wanted.tags is not None:
        check_tags(who, wanted.tags)
        columns["options"] = cluster.options | {"tags": wanted.tags}
    if wanted.healing is not None:
        columns |= _healing_columns(wanted.healing)
    return {name: value for name, value in columns.items() if value is not None}


def _healing_columns(wanted: HealingWish) -> dict[str, Any]:
    return {f"healing_{name}": value for name, value in wanted.model_dump(exclude_none=True).items()}


def _test_drive_columns(order: ClusterOrder) -> dict[str, Any]:
    if order.test_drive is None:
        return {}
    about = order.test_drive.model_dump(mode="json", exclude={"hours"})
    return {"test_drive": about, **ends_in(order.test_drive.hours)}


def ends_in(hours: int) -> dict[str, Any]:
    """Columns of a test drive that ends in so many hours. People are told an hour before, or a quarter of them."""
    now, left = timezone.now(), timedelta(hours=hours)
    return {"expires_at": now + left, "expiry_warning_at": now + left - min(left / 4, timedelta(hours=1))}


def _write_update(cluster: Cluster, columns: dict[str, Any]) -> None:
    try:
        with transaction.atomic():
            Cluster.objects.filter(id=cluster.id).update(**columns)
    except IntegrityError as error:
        if "cluster_name_once" in str(error):
            raise ordering.name_taken(columns["name"]) from error
        raise


@transaction.atomic
def set_maintenance_windows(who: Identity, cluster_id: str, wanted: MaintenanceWindowsWish) -> dict[str, Any]:
    """Puts windows in the place of those before. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    _refuse(cluster, None, reason_against_updating(ClusterState(cluster.state), may=True))
    before = get_maintenance_windows(who, cluster_id)["windows"]
    cluster.maintenance_windows.all().delete()
    MaintenanceWindow.objects.bulk_create(
        MaintenanceWindow(
            cluster=cluster,
            weekdays=sorted({list(Weekday).index(day) for day in window.weekdays}),
            starts_at=time.fromisoformat(window.starts_at),
            minutes=window.minutes,
            time_zone=window.time_zone,
            excluded_dates=sorted({date.fromisoformat(day) for day in window.excluded_dates}),
        )
        for window in wanted.windows
    )
    after = get_maintenance_windows(who, cluster_id)
    if after["windows"] != before:
        windows = {"before": {"windows": before}, "after": {"windows": after["windows"]}}
        _record(who, cluster, "cluster.set_maintenance_windows", **windows)
        operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)
    return after


@transaction.atomic
def delete(who: Identity, cluster_id: str, *, by_itself: bool = False) -> dict[str, Any]:
    """Takes a cluster and its data away for good. Raises NotFound, Forbidden, Conflict.

    `by_itself`: its time is over, as was said when it was ordered, so no second person is asked.
    """
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    busy = open_operation(cluster.id)
    reason = reason_against_deleting(ClusterState(cluster.state), may=True, busy_kind=busy.kind if busy else None)
    _refuse(cluster, busy, reason)
    if cluster.termination_protection:
        raise Conflict(
            "termination_protected",
            f"The cluster {cluster.name} is protected against termination.",
            hint="Switch termination protection off first (update_cluster).",
        )
    agreed: dict[str, str] = {}
    if by_itself:
        second_person.gone(DeletionTarget.CLUSTER, [cluster.id])
    else:
        agreed = second_person.agreed(who, DeletionTarget.CLUSTER, cluster.id, name=cluster.name)
    Cluster.objects.filter(id=cluster.id).update(state=ClusterState.DELETING)
    nodes = list(cluster.nodes.filter(deleted_at=None).select_related("datacenter").order_by("position"))
    groups = plans.delete_cluster(nodes, connections=bool(connection_kinds(cluster.provider)))
    first = next(step.name for group in groups for step in group)
    operation = _start(who, cluster, "delete_cluster", groups, plans.DELETE_SECONDS, cancellable_until=first)
    _record(who, cluster, "cluster.delete", before={"state": cluster.state}, after=agreed or None)
    return _started(who, cluster.id, operation)


@transaction.atomic
def reveal_credentials(who: Identity, cluster_id: str) -> dict[str, str]:
    """The administrator's password, once. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CREDENTIALS_READ)
    cluster = _locked(who, cluster_id)
    busy = open_operation(cluster.id)
    reason = reason_against_revealing(
        ClusterState(cluster.state),
        may=True,
        busy_kind=busy.kind if busy else None,
        revealed=cluster.admin_revealed_at is not None,
    )
    if reason is not None and cluster.admin_revealed_at is not None and cluster.state in SERVING and busy is None:
        raise Conflict(
            "already_revealed", "The password was shown already.", hint="Set a new one with rotate_credentials."
        )
    _refuse(cluster, busy, reason)
    Cluster.objects.filter(id=cluster.id, admin_revealed_at=None).update(admin_revealed_at=Now())
    _record(who, cluster, "credentials.reveal")
    operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)
    password = vault.read(cluster.id, SecretPurpose.ADMIN_PASSWORD).decode()
    return {"username": cluster.admin_username, "password": password}


@transaction.atomic
def rotate_credentials(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Orders a new administrator's password. It takes the old one's place when the engine has it."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    busy = open_operation(cluster.id)
    reason = reason_against_rotating(ClusterState(cluster.state), may=True, busy_kind=busy.kind if busy else None)
    _refuse(cluster, busy, reason)
    vault.keep(cluster.id, SecretPurpose.NEXT_ADMIN_PASSWORD, _new_password())
    operation = _start(who, cluster, "rotate_credentials", plans.rotate_credentials(), plans.ROTATE_SECONDS)
    _record(who, cluster, "credentials.rotate")
    return {"operation": get_operation(who, operation.id)}


def _locked(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).select_for_update().filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def _refuse(cluster: Cluster, busy: Operation | None, reason: str | None) -> None:
    """Turns a reason of states.py into the answer, with the operation that stands in the way if one does."""
    if reason is None:
        return
    if cluster.state == ClusterState.DELETED:
        raise Conflict(
            "cluster_deleted", f"The cluster {cluster.name} is deleted already.", hint="Nothing is left to do."
        )
    if busy is not None:
        raise operations.in_progress(busy)
    raise Conflict("cluster_not_active", reason, hint="Look at the cluster's state and its operations.")


def _start(
    who: Identity,
    cluster: Cluster,
    kind: str,
    groups: list[list[operations.PlannedStep]],
    expected_seconds: int,
    *,
    cancellable_until: str | None = None,
) -> Operation:
    operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)
    return operations.start(
        organisation_id=who.organisation_id,
        kind=kind,
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=who.actor,
        parameters={},
        groups=groups,
        expected_seconds=expected_seconds,
        cancellable_until=cancellable_until,
    )


def _started(who: Identity, cluster_id: str, operation: Operation) -> dict[str, Any]:
    return {"cluster": get_cluster(who, cluster_id), "operation": get_operation(who, operation.id)}


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


def _new_password() -> bytes:
    """32 characters that need no quoting in a shell, a URL or CQL."""
    return secrets.token_urlsafe(_PASSWORD_BYTES).encode()
