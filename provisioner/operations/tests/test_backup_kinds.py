import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db.models import F

from backend.backups import actions as backups
from backend.backups import location_actions, objects, schedule_actions, vault_keys
from backend.backups.location_queries import purge_plan
from backend.backups.models import Backup, BackupLocation, BackupNode, BackupObject, BackupSchedule
from backend.backups.queries import get_backup
from backend.backups.schemas import BackupScheduleOrder
from backend.operations.models import Operation
from provisioner.agent.bundle_format import object_name
from provisioner.agent.fake import AgentFault
from provisioner.operations import backup_nodes
from provisioner.operations.backup import CODE
from provisioner.operations.backup_manifests import enough
from provisioner.operations.testing import (
    check_every_step_twice,
    check_failing_at_every_step_and_cancelled,
    check_killed_after_every_step,
    check_undo_twice,
)
from provisioner.operations.tests.backup_world import ROWS, BackupWorld, backup_world

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def fresh() -> Iterator[BackupWorld]:
    with backup_world() as world:
        yield world


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with backup_world() as made:
        yield made


def test_every_step_run_twice() -> None:
    check_every_step_twice(CODE, fresh)


def test_killed_after_every_step() -> None:
    check_killed_after_every_step(CODE, fresh)


def test_failing_at_every_step_and_cancelled() -> None:
    check_failing_at_every_step_and_cancelled(CODE, fresh, again=True)


def test_undo_twice() -> None:
    check_undo_twice(CODE, fresh)


def test_a_backup_has_all_files_manifests_and_a_signature(world: BackupWorld) -> None:
    made = world.backed_up()
    assert (made.state, made.bundles, made.missing, made.reason) == ("complete", 3, [], "")
    assert made.bytes == made.new_bytes > 0
    assert len(world.names("objects/")) == 3
    assert len(world.names("manifests/")) == 3 + 2
    assert world.held(lambda held: held.snapshots) == [{}, {}, {}]
    signed = json.loads(world.store.get(f"manifests/{world.cluster_id}/{made.id}/manifest.json"))
    tables = [(table["keyspace"], table["table"]) for table in signed["document"]["tables"]]
    assert tables == [("shop", "empty"), ("shop", "orders")]
    assert signed["document"]["complete"] is True
    # Nothing of the data, and no name of a table, is readable without the key.
    for name in world.names("objects/") + world.names(f"manifests/{world.cluster_id}/{made.id}/nodes"):
        assert b"seven" not in world.store.get(name)


def test_what_is_stored_already_is_not_sent_again(world: BackupWorld) -> None:
    first = world.backed_up()
    again = world.backed_up()
    assert (again.bytes, again.new_bytes) == (first.bytes, 0)
    world.write("orders", {9: "nine"})
    third = world.backed_up()
    assert (third.bundles, 0 < third.new_bytes < third.bytes) == (6, True)
    assert len(world.names("objects/")) == 6


def test_what_somebody_took_away_is_stored_anew(world: BackupWorld) -> None:
    world.backed_up()
    lost = world.names("objects/")[0]
    world.path(lost).unlink()
    BackupObject.objects.update(verified_at=datetime.now(UTC) - timedelta(days=2))
    assert world.backed_up().state == "complete"
    assert lost in world.names("objects/")


def test_only_the_chosen_tables(world: BackupWorld) -> None:
    world.write("empty", {1: "not any more"})
    made = world.backed_up(selection=[{"keyspace": "shop", "table": "empty"}])
    shown = get_backup(world.who, made.id)
    assert [(table["table"], table["bundles"]) for table in shown["tables"]] == [("empty", 3)]


def test_one_of_a_table_that_is_not_there_fails_at_once_and_holds_no_other_up(world: BackupWorld) -> None:
    operation = world.order_backup(selection=[{"keyspace": "shop", "table": "order"}])
    assert world.ended(operation, at_most=5).startswith("cancelled")
    assert (world.backup.state, "There is no shop.order in the cluster." in world.backup.reason) == ("failed", True)
    assert world.held(lambda held: held.snapshots) == [{}, {}, {}]
    assert world.names() == []
    assert world.backed_up().state == "complete"


def test_a_place_that_cannot_be_written_is_told_before_anything_is_done(world: BackupWorld) -> None:
    BackupLocation.objects.filter(id=world.location_id).update(folder=str(world.folder / "absent"))
    assert "There is no folder" in world.ended(world.order_backup())


def test_a_scheduled_one_that_cannot_be_made_takes_itself_back_and_says_why(world: BackupWorld) -> None:
    schedule = schedule_actions.create_schedule(
        world.who, world.cluster_id, _schedule(world, selection=[{"keyspace": "nothing"}])
    )
    operation = _ordered_by(world, schedule["id"])
    assert world.ended(operation).startswith("cancelled")
    assert (world.backup.state, "There is no nothing" in world.backup.reason) == ("failed", True)


def test_a_full_disk_is_not_made_fuller(world: BackupWorld) -> None:
    node = world.nodes[0]
    type(node).objects.filter(id=node.id).update(disk_total_bytes=100, disk_free_bytes=4)
    assert "has 4% left" in world.ended(world.order_backup())


def test_another_key_than_the_one_it_began_with_is_refused(world: BackupWorld) -> None:
    operation = world.order_backup()
    Backup.objects.update(key_id="0" * 16)
    assert "encrypted with the key" in world.ended(operation)


@pytest.mark.parametrize(("replicas", "least"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_enough_replicas_meet_every_quorum(replicas: int, least: int) -> None:
    assert enough(replicas) == least
    assert least + (replicas // 2 + 1) > replicas


def test_a_lost_node_leaves_it_complete_where_the_others_have_every_row(
    world: BackupWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_nodes, "PATIENCE", 0.0)
    lost = world.nodes[1]
    world.agents.inject(AgentFault(name="unreachable", node=lost.id))
    made = world.backed_up()
    assert (made.state, lost.name in made.reason) == ("complete", True)
    states = list(BackupNode.objects.filter(backup=made).order_by("name").values_list("state", flat=True))
    assert states == ["written", "lost", "written"]


def test_two_lost_nodes_make_it_incomplete_and_it_says_what_is_missing(
    world: BackupWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_nodes, "PATIENCE", 0.0)
    for node in world.nodes[1:]:
        world.agents.inject(AgentFault(name="unreachable", node=node.id))
    made = world.backed_up()
    assert made.state == "incomplete"
    assert "keyspace shop" in made.missing[0]
    shown = {one["action"]: one["reason"] for one in get_backup(world.who, made.id)["allowed_actions"]}
    assert shown["restore_backup"].startswith("It is incomplete")


def _schedule(world: BackupWorld, **more: object) -> BackupScheduleOrder:
    wanted = {"name": "hourly", "interval_minutes": 60, "keep_count": 2, "location_id": world.location_id}
    return BackupScheduleOrder.model_validate(wanted | more)


def _ordered_by(world: BackupWorld, schedule_id: str) -> Operation:
    from provisioner.reconcile.backups import start_due

    BackupSchedule.objects.filter(id=schedule_id).update(due_at=datetime.now(UTC) - timedelta(seconds=5))
    assert start_due() == 1
    return Operation.objects.filter(cluster_id=world.cluster_id, kind="backup").latest("id")


# Verifying


def _verify(world: BackupWorld) -> str:
    started = backups.verify_backup(world.who, world.backup.id)
    return world.ended(Operation.objects.get(id=started["operation"]["id"]))


def _damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    match how:
        case "flipped":
            path.write_bytes(content[:-3] + bytes([content[-3] ^ 4]) + content[-2:])
        case "cut":
            path.write_bytes(content[:-1])
        case _:
            path.unlink()


def test_a_verification_that_finds_nothing_says_when(world: BackupWorld) -> None:
    world.backed_up()
    assert _verify(world) == "succeeded"
    shown = get_backup(world.who, world.backup.id)
    assert shown["verified_at"] is not None
    assert shown["contents_verified_at"] is not None
    assert shown["damaged"] is None


@pytest.mark.parametrize("how", ["flipped", "cut", "missing"])
@pytest.mark.parametrize("deleted", [False, True])
def test_a_damaged_object_is_named(world: BackupWorld, how: str, deleted: bool) -> None:
    world.backed_up()
    if deleted:
        type(world.cluster).objects.filter(id=world.cluster_id).update(state="deleted")
    name = world.names("objects/")[1]
    _damage(world.path(name), how)
    assert _verify(world) == "succeeded"
    shown = get_backup(world.who, world.backup.id)
    assert object_name(shown["damaged"]) == name
    actions = {one["action"]: one["reason"] for one in shown["allowed_actions"]}
    assert "damaged" in actions["restore_backup"]


@pytest.mark.parametrize("how", ["flipped", "cut", "missing"])
def test_a_damaged_manifest_is_named(world: BackupWorld, how: str) -> None:
    world.backed_up()
    for name in world.names("manifests/"):
        before = world.path(name).read_bytes()
        _damage(world.path(name), how)
        assert _verify(world) == "succeeded"
        assert get_backup(world.who, world.backup.id)["damaged"] == name
        world.path(name).write_bytes(before)
    assert _verify(world) == "succeeded"
    assert get_backup(world.who, world.backup.id)["damaged"] is None


# Purging


def _purge(world: BackupWorld) -> str:
    operation = location_actions.start_purge(
        BackupLocation.objects.get(id=world.location_id), world.who.organisation_id, actor="test"
    )
    return world.ended(operation)


def test_a_deleted_backup_takes_with_it_what_only_it_needs(world: BackupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "GRACE", timedelta(0))
    first = world.backed_up()
    for held in world.nodes:
        with world.agents.backups_of(held.id) as node:
            node.sstables.pop()
    world.write("orders", {9: "nine"})
    second = world.backed_up()
    backups.delete_backup(world.who, first.id)
    plan = purge_plan(world.who, world.location_id)
    assert (plan["backups"], plan["objects"]) == ([first.id], 3)
    assert plan["bytes"] > 0
    assert _purge(world) == "succeeded"
    assert len(world.names("objects/")) == 3
    assert all(second.id in name for name in world.names("manifests/"))
    assert _verify(world) == "succeeded"
    assert get_backup(world.who, second.id)["damaged"] is None
    first.refresh_from_db()
    assert first.state == "deleted"


def test_within_the_grace_nothing_is_deleted_and_the_dry_run_says_so(world: BackupWorld) -> None:
    made = world.backed_up()
    backups.delete_backup(world.who, made.id)
    assert _purge(world) == "succeeded"
    assert world.names("manifests/") == []
    assert len(world.names("objects/")) == 3
    assert purge_plan(world.who, world.location_id)["waiting_objects"] == 3


def test_retention_is_that_of_the_schedule(world: BackupWorld) -> None:
    schedule = schedule_actions.create_schedule(world.who, world.cluster_id, _schedule(world))["id"]
    made = []
    for _ in range(4):
        assert world.ended(_ordered_by(world, schedule)) == "succeeded"
        made.append(world.backup.id)
    assert _purge(world) == "succeeded"
    kept = Backup.objects.filter(state="complete").order_by("id").values_list("id", flat=True)
    assert list(kept) == made[2:]


def test_a_purge_that_was_shot_goes_on(world: BackupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "GRACE", timedelta(0))
    made = world.backed_up()
    backups.delete_backup(world.who, made.id)
    location = BackupLocation.objects.get(id=world.location_id)
    operation = location_actions.start_purge(location, world.who.organisation_id, actor="test")
    # The worker was shot between the store's deletion and ours.
    monkeypatch.setattr(objects, "gone", lambda *_: (_ for _ in ()).throw(RuntimeError("shot")))
    assert "shot" in world.ended(operation, at_most=8)
    assert world.names("objects/") == []
    assert BackupObject.objects.filter(doomed_at__isnull=False).count() == 3
    # What is being deleted is not referred to: a backup that needs it waits.
    again = world.order_backup()
    assert "to be gone" in _message(world, again)
    monkeypatch.undo()
    monkeypatch.setattr(objects, "GRACE", timedelta(0))
    assert world.ended(operation) == "succeeded"
    assert world.ended(again) == "succeeded"
    assert len(world.names("objects/")) == 3


def _message(world: BackupWorld, operation: Operation) -> str:
    world.ended(operation, at_most=12)
    return " ".join(operation.steps.exclude(message="").values_list("message", flat=True))


def test_a_location_is_tried(world: BackupWorld) -> None:
    def check() -> BackupLocation:
        started = location_actions.check_location(world.who, world.location_id)
        assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
        return BackupLocation.objects.get(id=world.location_id)

    assert (check().problem, check().checked_at is not None) == ("", True)
    BackupLocation.objects.filter(id=world.location_id).update(folder=F("folder"), prefix="x")
    assert check().problem == ""
    BackupLocation.objects.filter(id=world.location_id).update(folder=str(world.folder / "absent"))
    assert "There is no folder" in check().problem


def test_the_rows_are_as_they_were(world: BackupWorld) -> None:
    before = world.rows()
    world.backed_up()
    assert world.rows() == before
    assert sorted(before[0]) == sorted(ROWS)
    assert vault_keys.key_id(vault_keys.key_of(world.who.organisation_id)) == world.backup.key_id
