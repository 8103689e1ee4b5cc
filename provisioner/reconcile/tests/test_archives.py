from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.backups import archive_actions, archive_queries, location_actions, objects, restoring
from backend.backups.location_queries import to_purge
from backend.backups.models import ArchiveGap, ArchivePiece, ArchiveStream, BackupObject, LogArchive, Restore
from backend.backups.schemas import LogArchiveOrder, RestoreOrder
from backend.core.errors import Conflict
from backend.operations.models import Operation
from provisioner.agent import fake_archive
from provisioner.agent.fake import AgentFault
from provisioner.operations.restore import CODE
from provisioner.operations.testing import check_every_step_twice, check_killed_after_every_step
from provisioner.operations.tests.backup_world import ROWS, BackupWorld, backup_world
from provisioner.reconcile.archives import look

pytestmark = pytest.mark.django_db(transaction=True)

ORDERS: dict[str, Any] = {"keyspace": "shop", "table": "orders"}


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with backup_world() as made:
        turn_on(made)
        yield made


def turn_on(world: BackupWorld, *, on: bool = True) -> None:
    asked = LogArchiveOrder(enabled=on, keep_days=7, location_id=world.location_id)
    archive_actions.set_archive(world.who, world.cluster_id, asked)
    asked_now(world)


def asked_now(world: BackupWorld) -> None:
    LogArchive.objects.update(looked_at=None)
    look()


def moments(world: BackupWorld) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = archive_queries.get_archive(world.who, world.cluster_id)["restorable"]
    return told


def order(world: BackupWorld, moment: datetime, **wanted: Any) -> RestoreOrder:
    return RestoreOrder.model_validate({"mode": "replace", "tables": [ORDERS], "point_in_time": moment} | wanted)


def restored(world: BackupWorld, moment: datetime, **wanted: Any) -> str:
    started = restoring.start(world.who, world.backup.id, order(world, moment, **wanted))
    return world.ended(Operation.objects.get(id=started["operation"]["id"]))


def test_a_restore_stops_between_two_writes(world: BackupWorld) -> None:
    world.backed_up()
    world.write("orders", {8: "eight"})
    moment = datetime.now(UTC)
    world.write("orders", {8: "changed", 9: "nine"})
    asked_now(world)
    (told,) = moments(world)
    assert told["begins_at"] <= moment <= told["ends_at"]
    world.lose_rows()
    assert restored(world, moment) == "succeeded"
    wanted = ROWS | {8: "eight"}
    assert world.rows() == [{t: f"{v} on {node.zone}" for t, v in wanted.items()} for node in world.nodes]
    made = Restore.objects.get()
    assert (made.state, made.fetched_bytes, made.point_in_time) == ("succeeded", made.bytes, moment)
    assert world.held(lambda held: held.restores) == [{}, {}, {}]


def test_into_a_cluster_of_another_shape(world: BackupWorld) -> None:
    world.backed_up()
    world.write("orders", {8: "eight"})
    moment = datetime.now(UTC)
    world.write("orders", {9: "nine"})
    asked_now(world)
    backup = world.backup
    with world.another_cluster(nodes_per_zone=2) as other:
        started = restoring.start(world.who, backup.id, order(world, moment, mode="cluster", cluster_id=other))
        assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
        assert [sorted(rows) for rows in world.rows()] == [[*sorted(ROWS), 8]] * 6


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_moment_that_is_not_covered_is_refused_and_the_covered_ones_are_told(
    world: BackupWorld, seconds: int
) -> None:
    world.backed_up()
    asked_now(world)
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    said = restoring.plan(world.who, world.backup.id, order(world, moment))
    assert "can be restored" in said["problems"][0]
    with pytest.raises(Conflict):
        restoring.start(world.who, world.backup.id, order(world, moment))


def test_one_node_of_three_may_have_a_gap_and_two_may_not(world: BackupWorld) -> None:
    world.backed_up()
    lost_at = datetime.now(UTC)
    world.write("orders", {8: "eight"})
    for count, node in enumerate(world.nodes[:2]):
        with world.agents.backups_of(node.id) as held:
            fake_archive.lose(held.archive, lost_at, datetime.now(UTC), "a test")
        asked_now(world)
        told = moments(world)
        assert bool(told and told[0]["ends_at"] > lost_at) is (count == 0)
    assert ArchiveGap.objects.count() == 2


def test_a_node_whose_agent_does_not_answer_is_asked_again(world: BackupWorld) -> None:
    world.agents.inject(AgentFault(name="unreachable", call="archive", times=1))
    world.write("orders", {8: "eight"})
    asked_now(world)
    assert ArchivePiece.objects.count() == 2
    asked_now(world)
    asked_now(world)
    assert ArchivePiece.objects.count() == 3


def test_off_is_off_and_what_is_there_can_still_be_used(world: BackupWorld) -> None:
    world.backed_up()
    world.write("orders", {8: "eight"})
    moment = datetime.now(UTC)
    asked_now(world)
    turn_on(world, on=False)
    assert not ArchiveStream.objects.filter(ended_at=None).exists()
    assert world.held(lambda held: held.archive) == [{}, {}, {}]
    (told,) = moments(world)
    assert told["begins_at"] <= moment <= told["ends_at"]
    assert look() == 0


def test_pieces_that_no_backup_can_use_go_with_the_purge(world: BackupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "GRACE", timedelta(0))
    world.write("orders", {8: "eight"})
    asked_now(world)
    world.backed_up()
    world.write("orders", {9: "nine"})
    asked_now(world)
    assert ArchivePiece.objects.count() == 6
    started = location_actions.purge_location(world.who, world.location_id)
    assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
    left = set(ArchivePiece.objects.values_list("object__key", flat=True))
    assert len(left) == 3
    assert left <= set(BackupObject.objects.values_list("key", flat=True))
    assert left <= {name.rpartition("/")[2] for name in world.names("objects/")}
    assert len(world.names("objects/")) == BackupObject.objects.count() == 6 + 3


def test_pieces_are_looked_for_where_no_backup_is_left(world: BackupWorld) -> None:
    assert to_purge(every=timedelta(days=1), at_most=9) == []
    world.write("orders", {8: "eight"})
    asked_now(world)
    assert to_purge(every=timedelta(days=1), at_most=9) == [(world.location_id, world.who.organisation_id)]


def test_clusters_without_an_archive_cost_one_query(django_assert_num_queries: Any) -> None:
    with backup_world(), django_assert_num_queries(1):
        assert look() == 0


def _to_a_moment(world: BackupWorld) -> Operation:
    (told,) = moments(world)
    started = restoring.start(world.who, world.backup.id, order(world, told["ends_at"]))
    return Operation.objects.get(id=started["operation"]["id"])


@contextmanager
def with_logs() -> Iterator[BackupWorld]:
    with backup_world(_to_a_moment) as world:
        turn_on(world)
        world.backed_up()
        world.write("orders", {8: "eight"})
        asked_now(world)
        world.lose_rows()
        world.note()
        yield world


def test_every_step_run_twice() -> None:
    check_every_step_twice(CODE, with_logs)


def test_killed_after_every_step() -> None:
    check_killed_after_every_step(CODE, with_logs)
