"""Roles are read again while somebody looks, from any node that answers."""

import pytest
from django.db.models.functions import Now

from backend.access import actions, queries
from backend.access.models import RoleLifetime, RoleReading
from backend.access.schemas import RoleOrder
from backend.clusters.models import Node
from backend.operations.models import Operation
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.reconcile.roles import end_roles, read_roles

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_looked_at_is_read_and_nothing_else() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        assert read_roles() == 0
        assert queries.list_roles(world.who, world.cluster_id)["items"] == []
        world.agents.kill_engine(Node.objects.filter(cluster_id=world.cluster_id).order_by("position")[0].id)
        assert (read_roles(), read_roles()) == (1, 0)
        assert [role["name"] for role in queries.list_roles(world.who, world.cluster_id)["items"]] == ["admin"]
        RoleReading.objects.update(read_at="2000-01-01T00:00Z")
        assert read_roles() == 1


def test_a_role_that_was_made_for_a_while_is_taken_out_of_the_database() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        order = RoleOrder(name="shell", lifetime_minutes=5)
        made = actions.create_role(world.who, world.cluster_id, order)
        world.finish(Operation.objects.get(id=made["operation"]["id"]))

        def names() -> list[str]:
            return [role["name"] for role in queries.list_roles(world.who, world.cluster_id)["items"]]

        assert (end_roles(), names()) == (0, ["admin", "shell"])
        RoleLifetime.objects.update(expires_at=Now())
        assert end_roles() == 1
        world.finish(Operation.objects.get(kind="change_access", finished_at=None))
        assert (end_roles(), names()) == (0, ["admin"])
        assert not RoleLifetime.objects.exists()
