"""Two changes at the same moment: one is made, the other is told which."""

import threading
from typing import Any

import pytest
from django.db import connections

from backend.catalog import actions as catalog
from backend.catalog.models import Region
from backend.clusters.models import Cluster, Node
from backend.clusters.states import ClusterState, NodeState
from backend.clusters.tests.conftest import ORDER, finish_operations
from backend.conftest import ApiClient


@pytest.fixture
def clusters(transactional_db: None, make_tenant: Any) -> tuple[ApiClient, list[Cluster]]:
    """Two of three nodes each, and room for exactly three more."""
    catalog.load(with_tests=True)
    api = make_tenant("acme").api()
    for name in ("orders", "carts"):
        assert api.post("/clusters", ORDER | {"name": name}).status_code == 202
    finish_operations()
    Cluster.objects.update(state=ClusterState.ACTIVE)
    Node.objects.update(state=NodeState.UP)
    Region.objects.filter(id="local/local-1").update(memory_budget_mib=9 * 600)
    return api, list(Cluster.objects.order_by("id"))


def at_once(tasks: list[Any]) -> list[Any]:
    answers: list[Any] = []

    def run(task: Any) -> None:
        try:
            answers.append(task())
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[task]) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


def test_of_two_changes_of_a_cluster_one_is_made(clusters: tuple[ApiClient, list[Cluster]]):
    api, (first, _) = clusters
    path = f"/clusters/{first.id}/changes"
    answers = at_once([lambda: ApiClient(**api.headers).post(path, {"kind": "scale", "nodes_per_zone": 2})] * 3)
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409]
    assert Node.objects.filter(cluster=first).count() == 6


def test_two_clusters_do_not_both_take_the_last_room(clusters: tuple[ApiClient, list[Cluster]]):
    api, both = clusters
    answers = at_once(
        [
            lambda cluster=cluster: ApiClient(**api.headers).post(
                f"/clusters/{cluster.id}/changes", {"kind": "scale", "nodes_per_zone": 2}
            )
            for cluster in both
        ]
    )
    assert sorted(answer.status_code for answer in answers) == [202, 409]
    refused = next(answer for answer in answers if answer.status_code == 409)
    assert refused.json()["error"]["code"] == "not_enough_memory"
    assert Node.objects.count() == 9
