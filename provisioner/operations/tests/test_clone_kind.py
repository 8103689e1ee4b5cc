from collections.abc import Iterator
from typing import Any

import pytest

from backend.backups import cloning, restoring
from backend.backups.clone_schemas import CloneOrder
from backend.backups.models import Backup, Restore
from backend.backups.schemas import RestoreOrder
from backend.clusters.models import Cluster
from backend.core.errors import Conflict, DomainError
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.states import OPEN
from provisioner import runner
from provisioner.operations import clone_cluster, registry
from provisioner.operations.tests.backup_world import ROWS, BackupWorld, backup_world, killed_after
from provisioner.operations.tests.cluster_world import without_waiting

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = ["order_cluster", "restore_backup"]


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with backup_world(order) as made:
        yield made


def new_cluster(world: BackupWorld, **wanted: Any) -> dict[str, Any]:
    return {
        "name": "twin",
        "engine": world.engine,
        "provider": "fake",
        "region": "fake-1",
        "zones": list(world.zones),
        "machine_type": "fake.small",
        "nodes_per_zone": 1,
    } | wanted


def clone_order(world: BackupWorld, **wanted: Any) -> CloneOrder:
    return CloneOrder.model_validate({"new_cluster": new_cluster(world, **wanted), "location_id": world.location_id})


def order(world: BackupWorld, **wanted: Any) -> Operation:
    started = cloning.start(world.who, world.cluster_id, clone_order(world, **wanted))
    return Operation.objects.get(id=started["operation"]["id"])


def driven(operation: Operation, *, until: str = "", at_most: int = 400) -> str:
    """Workers take whatever is due, the clone's and what it has ordered. `until`: a step that has begun."""
    for _ in range(at_most):
        for one in Operation.objects.filter(state__in=OPEN).order_by("id"):
            without_waiting(one)
            runner.run(one.id, find_code=registry.find)
        operation.refresh_from_db()
        if operation.state not in OPEN or operation.steps.filter(name=until, started_at__isnull=False).exists():
            break
    return f"{operation.state} {operation.reason}".strip()


def twin() -> Cluster:
    return Cluster.objects.get(name="twin")


def rows_in_twin(world: BackupWorld) -> list[dict[int, str]]:
    before, world.cluster_id = world.cluster_id, twin().id
    found = world.rows()
    world.cluster_id = before
    return found


def machines(world: BackupWorld) -> set[str]:
    return {machine.name for machine in world.provider.list_machines(region="fake-1")}


def test_a_clone_of_the_same_shape_has_the_rows_node_by_node_and_the_cluster_keeps_its_own(world: BackupWorld) -> None:
    assert driven(order(world)) == "succeeded"
    assert twin().state == "active"
    written = [{token: f"{value} on {node.zone}" for token, value in ROWS.items()} for node in world.nodes]
    assert rows_in_twin(world) == world.rows() == written
    backup = Backup.objects.get()
    assert backup.expires_at is not None
    assert (backup.expires_at - backup.created_at).days in (6, 7)
    assert [one.operation_id for one in Restore.objects.filter(cluster=twin())] != [""]


@pytest.mark.parametrize("step", STEPS)
def test_cancelled_in_any_stage_the_new_cluster_goes_and_the_old_one_stays(world: BackupWorld, step: str) -> None:
    before, rows = machines(world), world.rows()
    operation = order(world)
    driven(operation, until=step)
    operations.cancel(world.who, operation.id)
    assert driven(operation) == "cancelled"
    assert (machines(world), world.rows()) == (before, rows)
    assert not Operation.objects.filter(state__in=OPEN).exists()


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_is_killed_after_a_step_orders_nothing_twice(
    world: BackupWorld, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = killed_after(clone_cluster.CODE, step, monkeypatch)
    assert driven(order(world)) == "succeeded"
    assert killed == [step]
    assert (Cluster.objects.count(), Backup.objects.count(), Restore.objects.count()) == (2, 1, 1)


def test_a_part_that_was_cancelled_stops_the_clone_with_its_name(world: BackupWorld) -> None:
    operation = order(world)
    operations.cancel(world.who, Backup.objects.get().operation_id)
    said = driven(operation)
    assert said.startswith("blocked Back up was cancelled")
    operations.cancel(world.who, operation.id)
    assert driven(operation) == "cancelled"
    assert not Cluster.objects.filter(name="twin").exclude(state="deleted").exists()


def test_what_cannot_be_is_refused_before_anything_is_made(world: BackupWorld) -> None:
    taken = world.cluster.name
    said = cloning.plan_clone(world.who, world.cluster_id, clone_order(world, name=taken))
    assert "cannot be ordered" in said["problems"][0]
    for wanted in ({"name": taken}, {"machine_type": "fake.none"}, {"zones": ["nowhere"]}):
        with pytest.raises(DomainError):
            order(world, **wanted)
    assert not Backup.objects.exists()
    assert not Operation.objects.filter(kind="clone_cluster").exists()


def test_a_backup_is_restored_into_a_cluster_that_is_ordered_for_it(world: BackupWorld) -> None:
    backup = world.backed_up()
    taken = RestoreOrder.model_validate({"mode": "cluster", "new_cluster": new_cluster(world, name=world.cluster.name)})
    assert "cannot be ordered" in restoring.plan(world.who, backup.id, taken)["problems"][0]
    with pytest.raises(Conflict, match="cannot be ordered"):
        restoring.start(world.who, backup.id, taken)
    wanted = RestoreOrder.model_validate({"mode": "cluster", "new_cluster": new_cluster(world)})
    assert restoring.plan(world.who, backup.id, wanted)["problems"] == []
    started = restoring.start(world.who, backup.id, wanted)
    assert driven(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
    assert rows_in_twin(world) == world.rows()
