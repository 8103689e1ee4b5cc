"""Changes of access pass the whole kit, on the fake provider and fake agents."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import bcrypt
import pytest

from backend.access import actions, passwords, queries
from backend.access.models import Allowlist, RolePassword
from backend.access.schemas import AllowlistEntry, AllowlistOrder, Grant, GrantOrder, RoleOrder
from backend.clusters import lifecycle
from backend.clusters.models import Cluster, Node
from backend.operations.models import Operation
from provisioner import runner
from provisioner.operations import change_access, names, registry, testing
from provisioner.operations.base import OperationCode
from provisioner.operations.passwords import steady_hash
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world

pytestmark = pytest.mark.django_db(transaction=True)

SELECT = GrantOrder(resource="data/shop", permissions=["SELECT", "MODIFY"])


def _of(answer: dict[str, Any]) -> Operation:
    return Operation.objects.get(id=answer["operation"]["id"])


def _create(world: ClusterWorld, name: str = "ann") -> Operation:
    order = RoleOrder(name=name, permissions=[Grant(resource="data/shop", permissions=["SELECT"])], member_of=["admin"])
    return _of(actions.create_role(world.who, world.cluster_id, order))


def _update(world: ClusterWorld) -> Operation:
    return _of(actions.update_role(world.who, world.cluster_id, "bob", can_login=False))


def _drop(world: ClusterWorld) -> Operation:
    return _of(actions.delete_role(world.who, world.cluster_id, "bob"))


def _grant(world: ClusterWorld) -> Operation:
    return _of(actions.grant_role(world.who, world.cluster_id, "bob", SELECT))


def _revoke(world: ClusterWorld) -> Operation:
    return _of(actions.revoke_role(world.who, world.cluster_id, "bob", GrantOrder(member_of="admin")))


def _rotate(world: ClusterWorld) -> Operation:
    return _of(actions.rotate_password(world.who, world.cluster_id, "bob"))


def _allowlist(world: ClusterWorld) -> Operation:
    order = AllowlistOrder(entries=[AllowlistEntry(cidr="10.0.0.0/8", description="office")])
    return _of(actions.replace_allowlist(world.who, world.cluster_id, order))


def _read(world: ClusterWorld) -> Operation:
    return _of(actions.refresh_roles(world.who, world.cluster_id))


@dataclass(frozen=True, eq=False)
class Kind:
    code: OperationCode
    order: Callable[[ClusterWorld], Operation]
    with_bob: bool = False

    def begin(self, world: ClusterWorld) -> Operation:
        world.zones = world.zones[:2]
        world.created()
        if self.with_bob and not RolePassword.objects.filter(cluster_id=world.cluster_id, role="bob").exists():
            world.finish(_create(world, "bob"))
            world.note()
        return self.order(world)


KINDS = {
    "create": Kind(change_access.CHANGE_ACCESS, _create),
    "update": Kind(change_access.CHANGE_ACCESS, _update, with_bob=True),
    "drop": Kind(change_access.CHANGE_ACCESS, _drop, with_bob=True),
    "grant": Kind(change_access.CHANGE_ACCESS, _grant, with_bob=True),
    "revoke": Kind(change_access.CHANGE_ACCESS, _revoke, with_bob=True),
    "rotate": Kind(change_access.CHANGE_ACCESS, _rotate, with_bob=True),
    "allowlist": Kind(change_access.CHANGE_ALLOWLIST, _allowlist),
    "read": Kind(change_access.READ_ACCESS, _read),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture
def worlds(kind: Kind) -> testing.Worlds:
    return _worlds(kind)


@cache
def _worlds(kind: Kind) -> testing.Worlds:
    return lambda: cluster_world(kind.begin)


@every_kind
def test_every_step_may_run_twice(kind: Kind, worlds: testing.Worlds) -> None:
    testing.check_every_step_twice(kind.code, worlds)


@every_kind
def test_a_worker_may_die_at_every_step(kind: Kind, worlds: testing.Worlds) -> None:
    testing.check_killed_after_every_step(kind.code, worlds)


@every_kind
def test_every_step_may_fail_and_be_cancelled(kind: Kind, worlds: testing.Worlds) -> None:
    testing.check_failing_at_every_step_and_cancelled(kind.code, worlds, again=True)


@every_kind
def test_every_undo_may_run_twice(kind: Kind, worlds: testing.Worlds) -> None:
    testing.check_undo_twice(kind.code, worlds)


@every_kind
def test_every_planned_step_has_code(kind: Kind) -> None:
    with cluster_world(kind.begin) as world:
        operation = world.start()
        assert set(operation.steps.values_list("name", flat=True)) <= set(kind.code.steps)
        assert registry.find(operation.kind) is kind.code


def test_the_database_has_the_hash_of_the_password_that_is_revealed() -> None:
    with cluster_world(KINDS["create"].begin) as world:
        operation = world.start()
        assert "password" not in str({**operation.parameters, "changes": []})
        world.finish(operation)
        shown = actions.reveal_password(world.who, world.cluster_id, "ann")
        told = world.agents.access(Cluster.objects.get(id=world.cluster_id).ring_name)
        assert bcrypt.checkpw(shown["password"].encode(), told.passwords["ann"].encode())
        listed = queries.list_roles(world.who, world.cluster_id)["items"]
        ann = next(role for role in listed if role["name"] == "ann")
        assert ann["superuser_through"] == "admin"
        assert ann["effective"] == [{"resource": "data/shop", "permission": "SELECT", "sources": ["ann"]}]


def test_a_cancelled_new_password_leaves_the_old_one() -> None:
    with cluster_world(KINDS["rotate"].begin) as world:
        operation = world.start()
        old = passwords.find(world.cluster_id, "bob", "current")
        runner.run(operation.id, find_code=lambda _: None)  # nobody knows how: it is left alone
        Operation.objects.filter(id=operation.id).update(
            cancel_requested_at="2000-01-01T00:00Z", due_at="2000-01-01T00:00Z"
        )
        while runner.run(operation.id, find_code=registry.find).again_in is not None:
            pass
        operation.refresh_from_db()
        assert operation.state == "cancelled"
        assert actions.reveal_password(world.who, world.cluster_id, "bob")["password"] == old
        assert passwords.find(world.cluster_id, "bob", "next") is None


def test_what_the_database_refuses_is_for_a_person_to_decide() -> None:
    with cluster_world(KINDS["read"].begin) as world:
        world.start()
        ghost = GrantOrder(member_of="ghost")
        operation = _of(actions.grant_role(world.who, world.cluster_id, "admin", ghost))
        while runner.run(operation.id, find_code=registry.find).again_in is not None:
            Operation.objects.exclude(due_at=None).update(due_at="2000-01-01T00:00Z")
            for other in Operation.objects.filter(kind="read_access", finished_at=None):
                runner.run(other.id, find_code=registry.find)
        operation.refresh_from_db()
        assert (operation.state, operation.reason_code) == ("blocked", "unknown-role")
        assert "there is no role ghost" in operation.reason


def test_a_list_is_in_force_when_every_node_has_it() -> None:
    with cluster_world(KINDS["allowlist"].begin) as world:
        operation = world.start()
        assert not queries.get_allowlist(world.who, world.cluster_id)["in_force"]
        world.finish(operation)
        assert queries.get_allowlist(world.who, world.cluster_id)["in_force"]
        assert Allowlist.objects.get(cluster_id=world.cluster_id).applied_at is not None


def test_a_list_does_not_wait_for_a_node_that_left_meanwhile() -> None:
    with cluster_world(KINDS["allowlist"].begin) as world:
        operation = world.start()
        gone = Node.objects.filter(cluster_id=world.cluster_id).order_by("position")[0]
        assert world.provider.delete_machine(region="fake-1", name=names.machine(gone))
        lifecycle.node_gone(gone.id)
        world.finish(operation)
        assert operation.steps.get(target=gone.id).message == "it has left the ring meanwhile"


def test_a_dropped_role_takes_its_password_along() -> None:
    with cluster_world(KINDS["drop"].begin) as world:
        world.finish(world.start())
        assert not RolePassword.objects.filter(cluster_id=world.cluster_id).exists()
        assert passwords.find(world.cluster_id, "bob", "current") is None


def test_the_same_password_and_purpose_have_the_same_hash() -> None:
    first, again = (steady_hash(b"secret", purpose="op_1") for _ in range(2))
    assert first == again != steady_hash(b"secret", purpose="op_2")
    assert bcrypt.checkpw(b"secret", first.encode())
