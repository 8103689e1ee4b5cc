"""What a backup needs is never deleted, whatever comes between."""

import itertools
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.backups import objects
from backend.backups.models import Backup, BackupBundle, BackupLocation, BackupNode, BackupObject
from backend.backups.objects import BeingDeleted, Bundle, StoredObject
from backend.backups.states import BackupState
from backend.backups.tests.test_backups_api import finished
from backend.clusters.models import Cluster

NOW = timedelta(0)
_number = itertools.count(1)
_KEYS = st.sets(st.integers(0, 7), min_size=1, max_size=4)
_WHICH = st.integers(0, 3)
_STEPS = st.one_of(
    st.tuples(st.just("begin")),
    st.tuples(st.just("refer"), _WHICH, _KEYS),
    st.tuples(st.just("upload"), _WHICH, st.integers(1, 8)),
    st.tuples(st.just("complete"), _WHICH),
    st.tuples(st.just("delete"), _WHICH),
    st.tuples(st.just("mark")),
    st.tuples(st.just("doom")),
    st.tuples(st.just("delete from the store")),
    st.tuples(st.just("forget what is gone")),
)


def key(number: int) -> str:
    return f"{number:064x}"


def bundle(number: int, *, table: str = "orders", name: str = "") -> Bundle:
    return Bundle(
        key=key(number),
        keyspace="shop",
        table=table,
        table_id="t",
        sstable=name or f"nb-{number}-big",
        bytes=10 + number,
        min_token=-5,
        max_token=5,
    )


def stored(number: int) -> StoredObject:
    return StoredObject(key=key(number), stored_bytes=20 + number, sha256="0" * 64)


@dataclass
class World:
    """A location with its store, and one purge that goes on step by step: it may stand still anywhere."""

    cluster: Cluster
    location: BackupLocation
    store: set[str] = field(default_factory=set)
    backups: list[Backup] = field(default_factory=list)
    doomed: list[str] = field(default_factory=list)

    def begin(self) -> None:
        if len(self.backups) < 4:
            backup = finished(self.cluster, self.location, state=BackupState.RUNNING)
            node = self.cluster.nodes.order_by("position")[0]
            BackupNode.objects.create(
                backup=backup, node=node, name=node.name, datacenter="dc", rack="r", state="snapshot"
            )
            self.backups.append(backup)

    def running(self, which: int) -> BackupNode | None:
        if which >= len(self.backups):
            return None
        return BackupNode.objects.filter(backup=self.backups[which], backup__state=BackupState.RUNNING).first()

    def refer(self, which: int, numbers: set[int]) -> None:
        if (node := self.running(which)) is not None:
            page = [bundle(number, name=f"{node.cursor}-{number}") for number in sorted(numbers)]
            try:
                objects.refer(node.id, page, after=node.cursor, cursor=f"{len(node.cursor)}-{node.bundles}")
            except BeingDeleted:
                # It waits until they are gone.
                assert self.doomed or BackupObject.objects.filter(doomed_at__isnull=False).exists()

    def upload(self, which: int, at_most: int) -> None:
        if (node := self.running(which)) is not None:
            wanted = objects.to_upload(node.id, at_most=at_most, most_bytes=1 << 30)
            self.store |= {one.key for one in wanted}
            objects.stored(node.id, [stored(int(one.key, 16)) for one in wanted])

    def complete(self, which: int) -> None:
        node = self.running(which)
        if node is not None and not objects.to_upload(node.id, at_most=1, most_bytes=1):
            Backup.objects.filter(id=self.backups[which].id).update(state=BackupState.COMPLETE)

    def delete(self, which: int) -> None:
        if which < len(self.backups):
            Backup.objects.filter(id=self.backups[which].id).update(state=BackupState.DELETED)
            while not objects.forget_bundles(self.backups[which]):
                pass

    def mark(self) -> None:
        objects.mark(self.location, self.cluster.organisation_id)

    def doom(self) -> None:
        self.doomed = objects.doom(self.location, self.cluster.organisation_id, grace=NOW)

    def delete_from_the_store(self) -> None:
        self.store -= set(self.doomed)

    def forget_what_is_gone(self) -> None:
        if not self.store & set(self.doomed):
            objects.gone(self.location, self.cluster.organisation_id, self.doomed)
            self.doomed = []

    def check(self) -> None:
        complete = BackupBundle.objects.filter(
            node__backup__in=self.backups, node__backup__state=BackupState.COMPLETE
        ).values_list("object__key", flat=True)
        assert set(complete) <= self.store
        said = BackupObject.objects.filter(location=self.location, stored_at__isnull=False, doomed_at=None)
        assert set(said.values_list("key", flat=True)) <= self.store


@pytest.fixture
def world(active: Cluster) -> World:
    return World(active, _location())


def _location() -> BackupLocation:
    return BackupLocation.objects.create(
        organisation=None, name=f"Place {next(_number)}", kind="folder", folder="/nowhere", created_by="test"
    )


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_STEPS, max_size=40))
def test_no_object_that_a_complete_backup_needs_is_ever_deleted(active: Cluster, steps: list[tuple[object, ...]]):
    BackupLocation.objects.update(kind="s3")
    BackupLocation.objects.filter(organisation=None).update(deleted_at=active.created_at)
    world = World(active, _location())
    for name, *given_ in steps:
        getattr(world, str(name).replace(" ", "_"))(*given_)
        world.check()
    # What nobody needs goes in the end, and nothing else.
    for number, backup in enumerate(world.backups):
        backup.refresh_from_db()
        if backup.state == BackupState.RUNNING:
            world.delete(number)
    for _ in range(4):
        world.mark()
        world.doom()
        world.delete_from_the_store()
        world.forget_what_is_gone()
        world.check()
    needed = BackupBundle.objects.filter(node__backup__in=world.backups).values_list("object__key", flat=True)
    assert world.store == set(needed)
    assert set(BackupObject.objects.filter(location=world.location).values_list("key", flat=True)) == set(needed)


def test_a_page_that_is_told_twice_is_written_once(world: World):
    world.begin()
    node = world.running(0)
    assert node is not None
    for _ in range(2):
        objects.refer(node.id, [bundle(1), bundle(2)], after="", cursor="2")
    objects.refer(node.id, [bundle(3)], after="2", cursor="3")
    node.refresh_from_db()
    assert (node.bundles, node.bytes, node.new_bytes) == (3, 36, 36)


def test_what_another_backup_has_stored_is_not_uploaded_again(world: World):
    world.begin()
    world.refer(0, {1, 2})
    world.upload(0, 10)
    world.begin()
    world.refer(1, {2, 3})
    node = world.running(1)
    assert node is not None
    assert [one.key for one in objects.to_upload(node.id, at_most=10, most_bytes=1 << 30)] == [key(3)]
    assert node.new_bytes == 13


def test_what_is_damaged_is_uploaded_again_and_is_well_then(world: World):
    world.begin()
    world.refer(0, {1})
    world.upload(0, 10)
    objects.looked_at(BackupObject.objects.values_list("id", flat=True), bad={key(1): "content"}, contents=True)
    # The right size does not make it well.
    objects.looked_at(BackupObject.objects.values_list("id", flat=True), bad={}, contents=False)
    assert BackupObject.objects.get().bad == "content"
    world.begin()
    world.refer(1, {1})
    world.upload(1, 10)
    assert BackupObject.objects.get().bad == ""


def test_a_batch_has_at_least_one_object_and_then_not_too_many_bytes(world: World):
    world.begin()
    world.refer(0, {1, 2, 3})
    node = world.running(0)
    assert node is not None
    assert len(objects.to_upload(node.id, at_most=10, most_bytes=1)) == 1
    assert len(objects.to_upload(node.id, at_most=10, most_bytes=23)) == 2
    assert len(objects.to_upload(node.id, at_most=2, most_bytes=1 << 30)) == 2


def test_thousands_of_sstables(world: World):
    world.begin()
    node = world.running(0)
    assert node is not None
    after = ""
    for first in range(0, 10_000, 1000):
        page = [bundle(number) for number in range(first, first + 1000)]
        objects.refer(node.id, page, after=after, cursor=str(first))
        after = str(first)
    node.refresh_from_db()
    assert node.bundles == 10_000
    assert len(objects.to_upload(node.id, at_most=1000, most_bytes=1 << 40)) == 1000
    while not objects.forget_bundles(world.backups[0]):
        pass
    assert objects.mark(world.location, world.cluster.organisation_id) == 10_000
