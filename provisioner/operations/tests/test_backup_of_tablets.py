"""Backups and restores of clusters whose engine places data by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from backend.backups import restoring
from backend.backups.models import BackupBundle
from backend.backups.schemas import RestoreOrder
from backend.clusters.models import Node
from backend.operations import actions as operations
from backend.operations.models import Operation
from provisioner import runner
from provisioner.agent.base import AgentRefused
from provisioner.agent.fake import AgentFault
from provisioner.operations import backup_nodes, backup_tablets, names, registry
from provisioner.operations.backup import CODE
from provisioner.operations.base import Outcome, StepCode, StepContext
from provisioner.operations.testing import check_killed_after_every_step
from provisioner.operations.tests.backup_world import ROWS, BackupWorld, backup_world
from provisioner.operations.tests.cluster_world import without_waiting

pytestmark = pytest.mark.django_db(transaction=True)

ONE_STEP = runner.Limits(nap=0, threads=1, budget=0.01)


class ScyllaWorld(BackupWorld):
    def filled(self) -> None:
        self.engine = "scylla"
        super().filled()
        with self.agents.ring_of(self.cluster.ring_name) as membership:
            membership.ring.tablets.append("shop")


@contextmanager
def fresh() -> Iterator[BackupWorld]:
    with backup_world(kind=ScyllaWorld) as world:
        yield world


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with fresh() as made:
        yield made


def _state(world: BackupWorld, node: Node, job: str) -> str:
    """Of a job; "" for one that the node was not given."""
    try:
        return world.agents.client(node_id=node.id, address=node.agent_address).job(job).state
    except AgentRefused:
        return ""


def held(world: BackupWorld) -> int:
    return sum(world.held(lambda node: len(node.holds)))


def until_held(world: BackupWorld) -> Operation:
    operation = world.order_backup()
    for _ in range(20):
        runner.run(operation.id, find_code=registry.find, limits=ONE_STEP)
        if held(world):
            return operation
        without_waiting(operation)
    raise AssertionError("nothing was held")


def test_killed_after_every_step() -> None:
    check_killed_after_every_step(CODE, fresh)


def test_tablets_are_let_go_when_it_is_cancelled(world: BackupWorld) -> None:
    operation = until_held(world)
    operations.cancel(world.who, operation.id)
    assert world.ended(operation).startswith("cancelled")
    assert held(world) == 0


def test_tablets_stand_still_while_snapshots_are_taken_and_no_longer(world: BackupWorld) -> None:
    seen: list[tuple[str, int]] = []

    def watched(name: str, code: StepCode) -> StepCode:
        def do(context: StepContext) -> Outcome:
            seen.append((name, held(world)))
            return code.do(context)

        return replace(code, do=do)

    operation = world.order_backup()
    watching = replace(CODE, steps={name: watched(name, code) for name, code in CODE.steps.items()})
    while runner.run(operation.id, find_code=lambda _: watching).again_in is not None:
        without_waiting(operation)
    assert world.backup.state == "complete"
    assert {count for name, count in seen if name == "take_snapshot"} == {1}
    assert {count for name, count in seen if name not in ("hold_tablets", "take_snapshot", "release_tablets")} == {0}


def test_tablets_are_let_go_although_the_node_that_held_them_is_gone(
    world: BackupWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_nodes, "PATIENCE", 0.0)
    operation = until_held(world)
    holder = next(n for n, holds in zip(world.nodes, world.held(lambda node: len(node.holds)), strict=True) if holds)
    world.agents.inject(AgentFault(name="unreachable", node=holder.id))
    assert world.ended(operation) == "succeeded"
    others = [node for node in world.nodes if node.id != holder.id]
    name = f"{names.job(operation, 'release-tablets')}-anyway"
    # Whichever of the others: nodes come in no order.
    assert sorted(_state(world, node, name) for node in others) == ["", "succeeded"]
    # Which tablets it had is not known any more, so nobody says that all is there.
    assert world.backup.state == "incomplete"
    assert world.backup.missing == [f"The tablets of the keyspace shop that were on {holder.name}."]


def test_a_snapshot_that_was_taken_too_late_is_not_part_of_it(
    world: BackupWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_tablets, "HELD", timedelta(seconds=0))
    made = world.order_backup()
    assert world.ended(made) == "succeeded"
    assert world.backup.state == "incomplete"
    assert {part.reason for part in world.backup.nodes.all()} == {
        "its snapshot was taken after tablets had been let go"
    }


def test_nodes_share_the_files_of_a_restore(world: BackupWorld) -> None:
    world.write("orders", {11: "eleven"})
    made = world.backed_up()
    world.lose_rows()
    plan = restoring.plan(world.who, made.id, RestoreOrder(mode="replace"))
    assert (plan["problems"], plan["repair"]) == ([], False)
    assert "Drop on every node what is not in its ranges" not in plan["steps"]
    assert plan["bytes"] == made.bytes
    started = restoring.start(world.who, made.id, RestoreOrder(mode="replace"))
    assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
    files = BackupBundle.objects.filter(node__backup=made).count()
    taken = world.held(lambda node: [(one.table, str(one.rows)) for one in node.sstables])
    # Each file is loaded by one node, and each node has some; the engine sends the rows to where they belong.
    assert sorted(map(len, taken)) == [files // 3] * 3
    assert len({own for one in taken for own in one}) == files
    assert {token for rows in world.rows() for token in rows} == {*ROWS, 11}
