"""Roles are read again while somebody looks, from any node that answers."""

import pytest

from backend.access import queries
from backend.access.models import RoleReading
from backend.clusters.models import Node
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.reconcile.roles import read_roles

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
