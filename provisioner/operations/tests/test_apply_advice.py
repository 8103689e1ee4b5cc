"""Applying advice passes the whole kit, on fake agents, with the schema that was read by the reconciler."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from backend.advisor import actions, reviewing
from backend.advisor.models import AdviceItem, Review, TableChange, TableSchema
from backend.advisor.schemas import ApplyOrder, UndoOrder
from backend.clusters.models import Cluster
from backend.operations.models import Operation
from provisioner import runner
from provisioner.agent import fake_schema
from provisioner.operations import apply_advice, registry, testing
from provisioner.operations.tests.cluster_world import ClusterWorld, without_waiting, world_of
from provisioner.reconcile import advice

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = {"compression": fake_schema.OPTIONS["compression"]}
AFTER = {"compression": fake_schema.OPTIONS["compression"] | {"chunk_length_in_kb": "4"}}


class AdviceWorld(ClusterWorld):
    @property
    def ring(self) -> str:
        return Cluster.objects.get(id=self.cluster_id).ring_name

    @property
    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = self.agents.table(self.ring, "shop", "orders")["options"]
        return found

    def snapshot(self) -> object:
        changes = TableChange.objects.filter(cluster_id=self.cluster_id).order_by("id")
        return (
            super().snapshot(),
            self.agents.table(self.ring, "shop", "orders"),
            list(changes.values_list("rule", "state", "before", "after", "rewrite")),
            list(TableSchema.objects.filter(cluster_id=self.cluster_id).values_list("name", "options")),
        )

    def _things(self) -> list[str]:
        applying = TableChange.objects.filter(cluster_id=self.cluster_id, state="applying").count()
        options = json.dumps(self.options, sort_keys=True)
        return [*super()._things(), f"options {options}", *(["a change under way"] * applying)]


def _ready(world: AdviceWorld) -> AdviceItem:
    world.zones = world.zones[:2]
    world.finish(world.create())
    world.agents.create_table(world.ring, "shop", "orders", replication={"fake-fake-1": 2})
    world.note()
    Review.objects.create(cluster_id=world.cluster_id, due_at=datetime.now(UTC))
    assert advice._read_schema(Cluster.objects.get(id=world.cluster_id)) == ""
    now = datetime.now(UTC)
    words = {"finding": "F", "evidence": [], "gain": "", "figure": "", "cost": "", "statement": "", "why_by_hand": ""}
    return AdviceItem.objects.create(
        cluster_id=world.cluster_id,
        rule="chunk-length",
        keyspace="shop",
        table="orders",
        severity="warning",
        words=words | {"change": {"before": BEFORE, "after": AFTER, "rewrite": True}},
        first_seen_at=now,
        last_seen_at=now,
    )


def _apply(world: AdviceWorld, *, rewrite: bool = True) -> Operation:
    item = _ready(world)
    started = actions.apply(world.who, world.cluster_id, item.id, ApplyOrder(rewrite=rewrite))
    return Operation.objects.get(id=started["operation"]["id"])


def _undo(world: AdviceWorld) -> Operation:
    world.finish(_apply(world, rewrite=False))
    world.note()
    done = TableChange.objects.get(cluster_id=world.cluster_id)
    started = actions.undo(world.who, world.cluster_id, done.id, UndoOrder())
    return Operation.objects.get(id=started["operation"]["id"])


def _worlds(begin: Callable[[AdviceWorld], Operation]) -> Callable[[], AbstractContextManager[AdviceWorld]]:
    @contextmanager
    def fresh() -> Iterator[AdviceWorld]:
        with world_of(AdviceWorld, begin) as world:
            yield world

    return fresh


WORLDS = {"apply": _worlds(_apply), "undo": _worlds(_undo)}
each = pytest.mark.parametrize("worlds", WORLDS.values(), ids=WORLDS.keys())


@each
def test_every_step_may_run_twice(worlds: testing.Worlds) -> None:
    testing.check_every_step_twice(apply_advice.CODE, worlds)


@each
def test_a_worker_may_die_at_every_step(worlds: testing.Worlds) -> None:
    testing.check_killed_after_every_step(apply_advice.CODE, worlds)


@each
def test_every_step_may_fail_and_be_cancelled(worlds: testing.Worlds) -> None:
    testing.check_failing_at_every_step_and_cancelled(apply_advice.CODE, worlds)


@each
def test_every_undo_may_run_twice(worlds: testing.Worlds) -> None:
    testing.check_undo_twice(apply_advice.CODE, worlds)


def test_options_are_set_files_rewritten_and_the_way_back_is_kept() -> None:
    with world_of(AdviceWorld, _apply) as world:
        world.finish(world.start())
        assert world.options["compression"] == AFTER["compression"]
        assert world.agents.table(world.ring, "shop", "orders")["rewritten"]["compression"] == AFTER["compression"]
        done = TableChange.objects.get(cluster_id=world.cluster_id)
        assert (done.state, done.before, done.after) == ("applied", BEFORE, AFTER)
        # What was set is known at once.
        row = TableSchema.objects.get(cluster_id=world.cluster_id, name="orders")
        assert row.options["compression"] == AFTER["compression"]
        started = actions.undo(world.who, world.cluster_id, done.id, UndoOrder())
        world.finish(Operation.objects.get(id=started["operation"]["id"]))
        assert world.options["compression"] == BEFORE["compression"]
        assert sorted(TableChange.objects.values_list("state", flat=True)) == ["applied", "undone"]


def test_options_that_somebody_else_changed_stay_as_they_are() -> None:
    with world_of(AdviceWorld, _apply) as world:
        operation = world.start()
        other = {"class": "org.apache.cassandra.io.compress.ZstdCompressor"}
        world.agents.set_table_options(world.ring, "shop", "orders", compression=other)
        runner.run(operation.id, find_code=registry.find)
        operation.refresh_from_db()
        assert (operation.state, operation.reason_code) == ("blocked", "options-differ")
        Operation.objects.filter(id=operation.id).update(
            cancel_requested_at="2000-01-01T00:00Z", due_at=datetime.now(UTC)
        )
        while runner.run(operation.id, find_code=registry.find).again_in is not None:
            without_waiting(operation)
        assert world.options["compression"] == other
        assert TableChange.objects.get(cluster_id=world.cluster_id).state == "cancelled"


def test_a_cluster_is_looked_at_and_told_when_metrics_are_away() -> None:
    with world_of(AdviceWorld, _apply) as world:
        _ready(world)
        Review.objects.filter(cluster_id=world.cluster_id).update(due_at="2000-01-01T00:00Z")
        assert advice.review_clusters() == 1
        review = Review.objects.get(cluster_id=world.cluster_id)
        assert review.schema_read_at is not None
        assert review.problem == "This installation has no store of metrics."
        assert AdviceItem.objects.get(cluster_id=world.cluster_id).over_at is None
        assert advice.review_clusters() == 0


def test_a_table_that_is_gone_is_forgotten() -> None:
    with world_of(AdviceWorld, _apply) as world:
        _ready(world)
        reviewing.schema_read(world.cluster_id, {"keyspaces": [], "tables": []})
        assert not TableSchema.objects.filter(cluster_id=world.cluster_id).exists()
