"""The facts that usage is made from: machines, and the bytes of backups."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.db import connection
from django.db.models.functions import Now

from backend.backups.models import Backup, BackupBundle, BackupLocation, BackupNode, BackupObject, BackupTable
from backend.clusters import lifecycle
from backend.clusters.models import Cluster, MachineLife, Node
from backend.conftest import Tenant
from backend.costs.models import HeldBytes
from backend.costs.observing import observe_backups
from backend.costs.tests.test_closing import BEGIN, World
from backend.prices.states import GIB

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tenant: Tenant) -> World:
    return World(tenant)


def ready(node: Node) -> None:
    lifecycle.node_machine_ready(node.id, machine_id=f"m-{node.id}", address="127.0.0.1", agent_address="127.0.0.1:1")


def lives(node: Node) -> list[tuple[int, str, bool]]:
    rows = MachineLife.objects.filter(node=node).order_by("generation")
    return [(row.generation, row.machine_type, row.ended_at is not None) for row in rows]


def test_a_machine_begins_once_and_ends_once(world: World) -> None:
    node = world.node()
    ready(node)
    first = MachineLife.objects.get(node=node)
    ready(node)
    assert MachineLife.objects.get(node=node).began_at == first.began_at
    lifecycle.node_gone(node.id)
    ended = MachineLife.objects.get(node=node)
    assert ended.ended_at is not None
    assert ended.ended_at >= ended.began_at
    lifecycle.node_gone(node.id)
    # Late news of a node that has ended begins nothing.
    ready(node)
    assert MachineLife.objects.get(node=node).ended_at == ended.ended_at
    assert (ended.organisation_id, ended.provider, ended.region) == (world.organisation.id, "local", "local-1")


def test_each_machine_of_a_node_has_its_own_life(world: World) -> None:
    node = world.node()
    ready(node)
    lifecycle.node_starts_anew(node.id, reason="again")
    assert lives(node) == [(1, "local.small", False)]
    lifecycle.node_without_machine(node.id)
    Node.objects.filter(id=node.id).update(machine_type="local.medium")
    ready(node)
    assert lives(node) == [(1, "local.small", True), (2, "local.medium", False)]


def test_the_machines_of_a_deleted_cluster_have_ended(world: World) -> None:
    nodes = [world.node(), world.node()]
    for node in nodes:
        ready(node)
    lifecycle.cluster_deleted(world.cluster.id)
    assert [lives(node) for node in nodes] == [[(1, "local.small", True)]] * 2


def test_a_boot_disk_is_metered_where_one_is_ordered_with_a_machine(world: World) -> None:
    node, elsewhere = world.node(), world.node()
    ready(elsewhere)
    Cluster.objects.filter(id=world.cluster.id).update(provider="gcp")
    ready(node)
    here = MachineLife.objects.get(node=node)
    assert (here.disk_class, here.disk_bytes, here.disk_began_at) == ("pd-balanced", 30 * GIB, here.began_at)
    without = MachineLife.objects.get(node=elsewhere)
    assert (without.disk_class, without.disk_bytes, without.disk_began_at) == ("", 0, None)


def test_bytes_of_backups_begin_anew_when_their_number_changes(world: World) -> None:
    location = BackupLocation.objects.create(
        organisation=world.organisation, name="here", kind="folder", folder="/x", created_by="x"
    )
    backup = Backup.objects.create(
        organisation=world.organisation,
        cluster=world.cluster,
        cluster_name="orders",
        location=location,
        engine="cassandra",
        engine_version="5.0.5",
        created_by="x",
    )

    def kept(key: str, count: int, *, needed: bool) -> BackupObject:
        found = BackupObject.objects.create(
            location=location,
            organisation=world.organisation,
            key=key,
            bytes=count,
            stored_bytes=count,
            stored_at=backup.created_at,
        )
        if needed:
            table = BackupTable.objects.create(backup=backup, keyspace="shop", name=key)
            node = BackupNode.objects.create(backup=backup, node=world.node())
            for sstable in ("nb-1", "nb-2"):
                BackupBundle.objects.create(
                    node=node, table=table, object=found, sstable=sstable, min_token=0, max_token=1
                )
        return found

    def now() -> dict[str, int]:
        return {row.cluster_id: row.bytes for row in HeldBytes.objects.filter(ended_at=None)}

    assert observe_backups() == 0
    kept("a", 100, needed=True)
    orphan = kept("b", 7, needed=False)
    assert observe_backups() == 2
    # An object counts once, however many refer to it.
    assert now() == {world.cluster.id: 100, "": 7}
    assert observe_backups() == 0
    kept("c", 50, needed=True)
    orphan.delete()
    assert observe_backups() == 2
    assert now() == {world.cluster.id: 150}
    ended, begun = HeldBytes.objects.filter(cluster_id=world.cluster.id).order_by("id")
    assert (ended.ended_at, ended.bytes, begun.bytes) == (begun.began_at, 100, 150)


def test_an_installation_that_had_machines_before_meters_them_from_its_update_on(world: World) -> None:
    runs, ended, without = world.node(), world.node(), world.node()
    Node.objects.filter(id__in=[runs.id, ended.id]).update(machine_id="m-1", generation=3)
    Node.objects.filter(id=ended.id).update(deleted_at=Now())
    migration = import_module("backend.clusters.migrations.0010_machines_that_run")
    with connection.cursor() as cursor:
        cursor.execute(migration._RUNNING)
    assert [lives(node) for node in (runs, ended, without)] == [[(3, "local.small", False)], [], []]


def test_boot_disks_of_machines_that_run_are_metered_from_the_update_on(world: World) -> None:
    long_ago = BEGIN
    lives = {
        provider: MachineLife.objects.create(
            node=world.node(),
            generation=1,
            organisation=world.organisation,
            cluster=world.cluster,
            provider=provider,
            region="x",
            zone="x-1",
            machine_type="x",
            began_at=long_ago,
        )
        for provider in ("aws", "gcp", "local")
    }
    ended = world.machine(long_ago, long_ago + timedelta(days=1))
    MachineLife.objects.filter(id=ended.id).update(provider="aws")
    migration = import_module("backend.clusters.migrations.0013_boot_disks")
    with connection.cursor() as cursor:
        cursor.execute(migration.RUNNING)
        cursor.execute("SELECT now()")
        now = cursor.fetchone()[0]
    found = {
        row.provider: (row.disk_class, row.disk_bytes, row.disk_began_at)
        for row in MachineLife.objects.filter(id__in=[life.id for life in lives.values()])
    }
    assert found == {"aws": ("gp3", 30 * GIB, now), "gcp": ("pd-balanced", 30 * GIB, now), "local": ("", 0, None)}
    assert MachineLife.objects.get(id=ended.id).disk_began_at is None
