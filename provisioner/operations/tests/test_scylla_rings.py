"""Operations on rings of ScyllaDB: the same kinds, with its documents."""

from collections.abc import Callable

import pytest

from backend.clusters.models import Cluster
from backend.operations.models import Operation
from provisioner.operations.base import OperationCode
from provisioner.operations.tests.cluster_world import world_of
from provisioner.operations.tests.ring_world import RingWorld
from provisioner.operations.tests.test_membership_kinds import every_kind

pytestmark = pytest.mark.django_db(transaction=True)


@every_kind
def test_its_members_change_as_those_of_other_rings(
    code: OperationCode, order: Callable[[RingWorld], Operation]
) -> None:
    def of_scylla(world: RingWorld) -> Operation:
        world.engine = "scylla"
        return order(world)

    with world_of(RingWorld, of_scylla) as world:
        operation = world.start()
        world.finish(operation)
        operation.refresh_from_db()
        assert (operation.kind, operation.state) == (code.kind, "succeeded")
        cluster = Cluster.objects.get(id=world.cluster_id)
        assert (cluster.engine, cluster.engine_version, cluster.state) == ("scylla", "2026.1.8", "active")
