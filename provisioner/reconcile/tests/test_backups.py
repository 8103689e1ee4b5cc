from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import transaction

from backend.backups import objects
from backend.backups.models import BackupObject
from backend.operations import turns
from backend.operations.models import Operation
from provisioner import runner
from provisioner.agent.fake import AgentFault
from provisioner.operations import registry
from provisioner.operations.tests.backup_world import BackupWorld, backup_world
from provisioner.operations.tests.cluster_world import without_waiting
from provisioner.reconcile.backups import see_to_backups

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with backup_world() as made:
        yield made


def _begun(world: BackupWorld) -> Operation:
    """A backup that has stored something, and does not know it yet."""
    world.agents.inject(AgentFault(name="reply-lost", job_kind="upload-bundles", times=1))
    operation = world.order_backup()
    runner.run(operation.id, find_code=registry.find)
    assert world.names("objects/")
    return operation


def _reconciled(world: BackupWorld) -> None:
    see_to_backups()
    for purge in Operation.objects.filter(kind="purge_backups", state="pending"):
        assert world.ended(purge) == "succeeded"


def test_a_backup_whose_cluster_was_deleted_meanwhile_leaves_nothing_in_the_store(
    world: BackupWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "GRACE", timedelta(0))
    operation = _begun(world)
    Operation.objects.filter(id=operation.id).update(state="paused")
    with transaction.atomic():
        turns.end_the_others(Operation(id="op_deletion", cluster_id=world.cluster_id, kind="delete_cluster"))
    assert world.backup.state == "running"
    _reconciled(world)
    assert (world.backup.state, world.backup.reason) == ("deleted", "The cluster was deleted while it was made.")
    assert world.names() == []
    assert not BackupObject.objects.filter(location_id=world.location_id).exists()


def test_one_that_is_being_made_is_left_alone(world: BackupWorld) -> None:
    operation = _begun(world)
    _reconciled(world)
    assert world.backup.state == "running"
    without_waiting(operation)
    assert world.ended(operation) == "succeeded"
