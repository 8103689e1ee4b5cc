"""A tenant who can order, and the shortest ways to a cluster in a wanted state."""

from collections.abc import Callable
from typing import Any

import pytest

from backend.catalog import actions as catalog
from backend.catalog.models import Region
from backend.clusters import lifecycle
from backend.clusters.models import Cluster, Node
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation
from backend.operations.states import OperationState

ORDER: dict[str, Any] = {
    "name": "orders",
    "engine": "cassandra",
    "provider": "local",
    "region": "local-1",
    "zones": ["local-1a", "local-1b", "local-1c"],
    "machine_type": "local.small",
    "nodes_per_zone": 1,
}


@pytest.fixture
def _catalog(db: None) -> None:
    catalog.load(with_tests=True)


@pytest.fixture
def api(tenant: Tenant, _catalog: None) -> ApiClient:
    return tenant.api()


@pytest.fixture
def foreign(stranger: Tenant) -> ApiClient:
    return stranger.api()


@pytest.fixture
def budget(_catalog: None) -> Callable[[int | None], None]:
    """Sets the memory budget of local-1, in MiB."""
    return lambda mib: Region.objects.filter(id="local/local-1").update(memory_budget_mib=mib) and None


def finish_operations() -> None:
    """What the worker writes at the end, for tests that need a cluster and no worker."""
    Operation.objects.filter(finished_at=None).update(state=OperationState.SUCCEEDED, due_at=None, progress=1)


@pytest.fixture
def creating(api: ApiClient) -> Cluster:
    """A cluster that was just ordered."""
    answer = api.post("/clusters", ORDER)
    assert answer.status_code == 202, answer.content
    return Cluster.objects.get()


@pytest.fixture
def active(creating: Cluster) -> Cluster:
    """A cluster of three nodes that was proved."""
    for node in Node.objects.filter(cluster=creating):
        address = f"127.{node.position + 1}.0.1"
        lifecycle.node_machine_ready(
            node.id, machine_id=f"m-{node.position}", address=address, agent_address=f"{address}:7443"
        )
        lifecycle.node_proved(
            node.id, host_id=f"00000000-0000-0000-0000-00000000000{node.position}", engine_version="5.0.5"
        )
    finish_operations()
    assert lifecycle.cluster_active(creating.id)
    creating.refresh_from_db()
    return creating


@pytest.fixture
def deleted(active: Cluster) -> Cluster:
    lifecycle.cluster_deleted(active.id)
    active.refresh_from_db()
    return active
