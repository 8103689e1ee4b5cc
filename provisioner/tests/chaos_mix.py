"""What is ordered in a campaign: a table of kinds, each with its weight and how a tenant orders it.

A new kind is a line in `MIX`. An order answers the operation's id; None when there is nothing to order it on now. What
the coordinator or an app refuses (409) is no fault: it is counted, and something else is ordered.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from backend.access import actions as access
from backend.access.schemas import AllowlistEntry, AllowlistOrder, RoleOrder
from backend.changes import actions as changes
from backend.changes.schemas import (
    AddDatacenter,
    AnyChange,
    ChangeMachineType,
    ChangeSettings,
    MeasureDisks,
    RemoveDatacenter,
    ReplaceNode,
    RestartNode,
    RollingRestart,
    RotateCertificates,
    Scale,
    StartNode,
    StopNode,
    Upgrade,
)
from backend.clusters import actions as clusters
from backend.clusters.models import Cluster, Node
from backend.clusters.schemas import ClusterOrder
from backend.core.errors import DomainError
from backend.repairs import actions as repairs
from backend.repairs.schemas import RepairOrder, RepairScheduleWish
from provisioner.agent.fake import FakeAgents
from provisioner.tests import chaos_backups, plans
from provisioner.tests.chaos_kinds import CHAOS, PLAN
from provisioner.tests.chaos_tenants import Tenant, operation_of, owner
from provisioner.tests.chaos_world import REGION, SECOND_REGION, SECOND_ZONES, ZONES

TENANTS = 4
# At a time per tenant, so that what is ordered on clusters meets something.
CLUSTERS = 3
# Of the catalogue: the default version can be upgraded to it.
NEWER_VERSION = "5.0.9"
# One that a running engine takes over, and one that needs a restart.
SETTINGS: dict[str, list[int]] = {"read_timeout_ms": [4000, 5000, 6000], "concurrent_reads": [16, 32]}


Order = Callable[[Tenant], str | None]


def chaos(tenant: Tenant) -> str | None:
    return plans.start(*PLAN, kind=CHAOS).id


def create_cluster(tenant: Tenant) -> str | None:
    living = Cluster.objects.filter(organisation_id=tenant.who.organisation_id, deleted_at=None).count()
    if living >= CLUSTERS:
        return None
    tenant.made += 1
    order = ClusterOrder(
        name=f"demo-{tenant.made}",
        engine="cassandra",
        provider="fake",
        region=REGION,
        zones=list(ZONES),
        machine_type="fake.small",
        nodes_per_zone=1,
    )
    return operation_of(clusters.create(tenant.who, order))


def delete_cluster(tenant: Tenant) -> str | None:
    cluster = tenant.serving()
    return cluster and operation_of(clusters.delete(tenant.who, cluster.id))


def rotate_credentials(tenant: Tenant) -> str | None:
    cluster = tenant.serving()
    return cluster and operation_of(clusters.rotate_credentials(tenant.who, cluster.id))


def _change(make: Callable[[Tenant, Cluster], AnyChange]) -> Order:
    """A change of a living cluster, ordered as the API does."""

    def order(tenant: Tenant) -> str | None:
        cluster = tenant.serving()
        return cluster and operation_of(changes.change(tenant.who, cluster.id, make(tenant, cluster)))

    return order


def _node(tenant: Tenant, cluster: Cluster) -> str:
    return tenant.choose.choice(list(Node.objects.filter(cluster=cluster, deleted_at=None).order_by("id"))).id


@_change
def scale_cluster(tenant: Tenant, cluster: Cluster) -> AnyChange:
    """From one node per rack to two, or back."""
    nodes = Node.objects.filter(cluster=cluster, deleted_at=None).count()
    return Scale(kind="scale", nodes_per_zone=1 if nodes > len(ZONES) else 2)


@_change
def replace_node(tenant: Tenant, cluster: Cluster) -> AnyChange:
    return ReplaceNode(kind="replace_node", node_id=_node(tenant, cluster))


@_change
def measure_disks(tenant: Tenant, cluster: Cluster) -> AnyChange:
    return MeasureDisks(kind="measure_disks", node_id=_node(tenant, cluster))


@_change
def restart_node(tenant: Tenant, cluster: Cluster) -> AnyChange:
    return RestartNode(kind="restart_node", node_id=_node(tenant, cluster))


@_change
def rolling_restart(tenant: Tenant, cluster: Cluster) -> AnyChange:
    return RollingRestart(kind="rolling_restart")


@_change
def rotate_certificates(tenant: Tenant, cluster: Cluster) -> AnyChange:
    return RotateCertificates(kind="rotate_certificates")


@_change
def upgrade_cluster(tenant: Tenant, cluster: Cluster) -> AnyChange:
    return Upgrade(kind="upgrade", engine_version=NEWER_VERSION)


@_change
def change_machine_type(tenant: Tenant, cluster: Cluster) -> AnyChange:
    return ChangeMachineType(kind="machine_type", machine_type="fake.large")


@_change
def stop_or_start_node(tenant: Tenant, cluster: Cluster) -> AnyChange:
    """A stopped one is started; else one is stopped."""
    stopped = Node.objects.filter(cluster=cluster, deleted_at=None, stop_wanted=True).first()
    if stopped is not None:
        return StartNode(kind="start_node", node_id=stopped.id)
    return StopNode(kind="stop_node", node_id=_node(tenant, cluster))


@_change
def apply_settings(tenant: Tenant, cluster: Cluster) -> AnyChange:
    """One that a running engine takes over, or one that needs a restart."""
    name, values = tenant.choose.choice(sorted(SETTINGS.items()))
    return ChangeSettings(kind="settings", settings={name: tenant.choose.choice(values)})


@_change
def add_or_remove_datacenter(tenant: Tenant, cluster: Cluster) -> AnyChange:
    second = cluster.datacenters.filter(deleted_at=None, position__gt=0).first()
    if second is not None:
        return RemoveDatacenter(kind="remove_datacenter", datacenter=second.name)
    return AddDatacenter(
        kind="add_datacenter",
        region=SECOND_REGION,
        zones=list(SECOND_ZONES),
        machine_type="fake.small",
        nodes_per_zone=1,
    )


def change_access(tenant: Tenant) -> str | None:
    """A role is made, or one that there is gets another password."""
    cluster = tenant.serving()
    if cluster is None:
        return None
    tenant.made += 1
    return operation_of(access.create_role(tenant.who, cluster.id, RoleOrder(name=f"role_{tenant.made}")))


def change_allowlist(tenant: Tenant) -> str | None:
    cluster = tenant.serving()
    if cluster is None:
        return None
    cidr = f"10.{tenant.choose.randrange(256)}.0.0/16"
    order = AllowlistOrder(entries=[AllowlistEntry(cidr=cidr)] if tenant.choose.random() < 0.7 else [])
    return operation_of(access.replace_allowlist(tenant.who, cluster.id, order))


def repair(tenant: Tenant) -> str | None:
    """All tables of a cluster, at full intensity, at any time."""
    cluster = tenant.serving()
    if cluster is None:
        return None
    repairs.set_schedule(tenant.who, cluster.id, RepairScheduleWish(intensity=100))
    return operation_of(repairs.run_now(tenant.who, cluster.id, RepairOrder(any_time=True)))


@dataclass(frozen=True)
class Line:
    kind: str
    weight: int
    order: Order


MIX = (
    Line(CHAOS, 30, chaos),
    Line("create_cluster", 16, create_cluster),
    Line("delete_cluster", 6, delete_cluster),
    Line("rotate_credentials", 10, rotate_credentials),
    Line("scale_cluster", 5, scale_cluster),
    Line("replace_node", 6, replace_node),
    Line("restart_node", 4, restart_node),
    Line("measure_disks", 1, measure_disks),
    Line("rolling_restart", 3, rolling_restart),
    Line("rotate_certificates", 3, rotate_certificates),
    Line("upgrade_cluster", 2, upgrade_cluster),
    Line("change_machine_type", 1, change_machine_type),
    Line("stop_node", 3, stop_or_start_node),
    Line("apply_settings", 3, apply_settings),
    Line("add_datacenter", 2, add_or_remove_datacenter),
    Line("change_access", 5, change_access),
    Line("change_allowlist", 3, change_allowlist),
    Line("repair", 8, repair),
    Line("backup", 14, chaos_backups.backup),
    Line("verify_backup", 3, chaos_backups.verify_backup),
    Line("purge_backups", 4, chaos_backups.delete_backup),
    Line("restore", 5, chaos_backups.restore),
)


@dataclass
class Customers:
    """All tenants and what they order."""

    choose: random.Random
    agents: FakeAgents
    tenants: list[Tenant] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    ordered: set[str] = field(default_factory=set)

    def move_in(self) -> list[str]:
        """Every tenant orders its first cluster; the ids of those operations."""
        self.tenants = [Tenant(owner(number), self.choose, self.agents) for number in range(TENANTS)]
        self.ordered = {ordered for tenant in self.tenants if (ordered := create_cluster(tenant)) is not None}
        return sorted(self.ordered)

    def order(self) -> str:
        """One order of a kind that is possible now; its operation's id. Errors of the database."""
        while True:
            line = self.choose.choices(MIX, [line.weight for line in MIX])[0]
            try:
                ordered = line.order(self.choose.choice(self.tenants))
            except DomainError as refusal:
                self.refused[f"{line.kind}: {refusal.code}"] += 1
                continue
            # A purge that is open already is the answer to the next order too.
            if ordered is not None and ordered not in self.ordered:
                self.ordered.add(ordered)
                return ordered
