from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from backend.backups import drill_progress, drill_queries, drills
from backend.backups.drill_schemas import DrillOrder
from backend.backups.models import Drill, DrillSchedule
from backend.clusters.models import Cluster
from backend.core.errors import Conflict
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.states import OPEN
from provisioner import runner
from provisioner.agent.base import AgentRefused
from provisioner.operations import registry, restore_drill
from provisioner.operations.tests.backup_world import ROWS, BackupWorld, backup_world, killed_after
from provisioner.operations.tests.cluster_world import without_waiting
from provisioner.reconcile import backups as reconcile

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with complete() as made:
        yield made


@contextmanager
def complete() -> Iterator[BackupWorld]:
    """A world with a complete backup of rows that are the same on every node."""
    with backup_world(order) as made:
        made.lose_rows()
        write(made, ROWS)
        made.backed_up()
        made.note()
        yield made


def write(world: BackupWorld, rows: dict[int, str]) -> None:
    for node in world.nodes:
        with world.agents.backups_of(node.id) as held:
            held.write("shop", "orders", rows)


def order(world: BackupWorld, **wanted: Any) -> Operation:
    started = drills.start(world.who, world.cluster_id, DrillOrder.model_validate({"shape": "one"} | wanted))
    return Operation.objects.get(id=started["operation"]["id"])


def driven(operation: Operation, *, until: str = "", at_most: int = 400) -> str:
    """Workers take whatever is due, the drill's and what it has ordered. `until`: a step that has begun."""
    for _ in range(at_most):
        for one in Operation.objects.filter(state__in=OPEN).order_by("id"):
            without_waiting(one)
            runner.run(one.id, find_code=registry.find)
        operation.refresh_from_db()
        if operation.state not in OPEN or operation.steps.filter(name=until, started_at__isnull=False).exists():
            break
    return f"{operation.state} {operation.reason}".strip()


def machines(world: BackupWorld) -> set[str]:
    return {machine.name for machine in world.provider.list_machines(region="fake-1")}


def drill() -> Drill:
    return Drill.objects.latest("id")


def test_a_backup_is_proved_by_restoring_it_and_nothing_is_left(world: BackupWorld) -> None:
    before = machines(world)
    assert driven(order(world)) == "succeeded"
    shown = drill_queries.get_drill(world.who, drill().id)
    assert (shown["state"], shown["reason"], shown["scratch_gone"]) == ("proved", None, True)
    found = {one["table"]: (one["verdict"], one["rows"], one["live_rows"]) for one in shown["tables"]}
    assert found == {"orders": ("equal", len(ROWS), len(ROWS)), "empty": ("equal", 0, 0)}
    assert [one["name"] for one in shown["stages"]] == list(drill_queries.STAGES)
    assert shown["rto_seconds"] > 0
    assert machines(world) == before
    overview = drill_queries.cluster_drills(world.who, world.cluster_id)
    assert (overview["last_proved"]["id"], overview["running"]) == (shown["id"], None)


def test_rows_that_are_missing_in_the_backup_are_found(world: BackupWorld) -> None:
    write(world, {99: "after the backup, and nothing tells when"})
    assert driven(order(world)) == "succeeded"
    assert (drill().state, "the live table has more rows" in drill().reason) == ("failed", True)


def test_a_damaged_object_fails_the_drill_and_its_cluster_goes(world: BackupWorld) -> None:
    before, name = machines(world), world.names("objects/")[0]
    world.path(name).write_bytes(world.path(name).read_bytes()[:-1])
    assert driven(order(world)) == "succeeded"
    assert (drill().state, name.rpartition("/")[2] in drill().reason) == ("failed", True)
    assert machines(world) == before


@pytest.mark.parametrize("step", ["order_cluster", "restore_backup"])
def test_cancelled_in_any_stage_no_machine_is_left(world: BackupWorld, step: str) -> None:
    before = machines(world)
    operation = order(world)
    driven(operation, until=step)
    operations.cancel(world.who, operation.id)
    assert driven(operation) == "cancelled"
    assert drill().state == "cancelled"
    assert machines(world) == before


@pytest.mark.parametrize("step", ["order_cluster", "restore_backup", "read_live", "remove_cluster"])
def test_a_worker_that_is_killed_after_a_step_leaves_nothing(
    world: BackupWorld, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = machines(world)
    killed = killed_after(restore_drill.CODE, step, monkeypatch)
    assert driven(order(world)) == "succeeded"
    assert (drill().state, killed) == ("proved", [step])
    assert machines(world) == before
    assert Cluster.objects.filter(name__startswith="drill-").count() == 1


def test_what_a_drill_has_left_behind_is_swept_away(world: BackupWorld) -> None:
    before = machines(world)
    operation = order(world)
    driven(operation, until="restore_backup")
    # As if somebody had ended it past the runner.
    Operation.objects.filter(id=operation.id).update(state="cancelled", due_at=None)
    drill_progress.cancelled(drill().id)
    assert machines(world) > before
    for _ in range(40):
        reconcile._drill()
        driven(operation, at_most=1)
        for one in Operation.objects.filter(state__in=OPEN):
            without_waiting(one)
            runner.run(one.id, find_code=registry.find)
    assert machines(world) == before


def test_a_scheduled_drill_has_its_turn_once_and_says_why_it_was_passed_over(world: BackupWorld) -> None:
    DrillSchedule.objects.create(
        cluster=world.cluster, interval_minutes=60, shape="one", due_at="2026-01-01T00:00:00Z", created_by="test"
    )
    assert reconcile._drill() == 1
    assert reconcile._drill() == 0
    DrillSchedule.objects.update(due_at="2026-01-01T00:00:00Z")
    assert reconcile._drill() == 0
    assert "under way" in DrillSchedule.objects.get().skipped


def test_without_room_or_backup_it_is_refused_in_words(world: BackupWorld) -> None:
    with pytest.raises(Conflict, match="cannot be ordered"):
        order(world, machine_type="fake.none")
    type(world.backup).objects.update(state="incomplete", missing=["all"])
    said = drills.plan_drill(world.who, world.cluster_id, DrillOrder())
    assert said["problems"] == ["There is no complete backup yet. Make one first."]
    with pytest.raises(Conflict, match="no complete backup"):
        order(world)
    assert not Drill.objects.exists()


def test_an_agent_that_does_not_know_how_to_read_fails_the_drill_and_its_cluster_goes(
    world: BackupWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = machines(world)

    def refused(*_: object) -> None:
        raise AgentRefused("unknown-kind", "There is no job of the kind digest-table.")

    monkeypatch.setattr(restore_drill, "_job", refused)
    assert driven(order(world)) == "succeeded"
    assert (drill().state, "cannot be read" in drill().reason) == ("failed", True)
    assert machines(world) == before


def test_a_drill_that_takes_longer_than_a_day_has_failed_and_its_cluster_goes(world: BackupWorld) -> None:
    before = machines(world)
    operation = order(world)
    driven(operation, until="restore_backup")
    Drill.objects.update(created_at="2026-01-01T00:00:00Z")
    assert driven(operation) == "succeeded"
    assert (drill().state, drill().reason) == ("failed", "It took longer than a day.")
    assert machines(world) == before
