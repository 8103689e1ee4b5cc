from typing import Any

import pytest
from django.test import Client

from backend.clusters.models import Cluster, Node

PATH = "/metrics/targets"


def targets(**more: Any) -> Any:
    return Client().get(PATH, **more)


def test_prometheus_finds_every_node_with_the_labels_of_its_series(active: Cluster, django_assert_num_queries: Any):
    with django_assert_num_queries(1):
        answer = targets()
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    first, *others = answer.json()
    assert len(others) == 2
    node = active.nodes.get(id=first["labels"]["node"])
    assert first == {
        "targets": [node.agent_address],
        "labels": {
            "organisation": active.organisation_id,
            "cluster": active.id,
            "datacenter": "local-local-1",
            "zone": node.zone,
            "node": node.id,
            "engine": "cassandra",
            "__param_node": node.id,
        },
    }


def test_nodes_without_an_agent_and_deleted_ones_are_left_out(active: Cluster):
    one, two, three = active.nodes.all()
    Node.objects.filter(id=one.id).update(agent_address="")
    Node.objects.filter(id=two.id).update(deleted_at=active.created_at)
    assert [target["labels"]["node"] for target in targets().json()] == [three.id]


@pytest.mark.parametrize(
    "sender",
    [
        {"REMOTE_ADDR": "10.0.0.7"},
        {"HTTP_X_FORWARDED_FOR": "10.0.0.7"},
        {"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": "Bearer rmt_wrong"},
    ],
)
def test_strangers_do_not_learn_of_nodes(active: Cluster, sender: dict[str, str]):
    answer = targets(**sender)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "metrics_not_public")
    assert active.id not in answer.content.decode()


def test_the_metrics_token_opens_it_from_elsewhere(active: Cluster, settings: Any):
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_metrics_token": "secret"})
    answer = targets(REMOTE_ADDR="10.0.0.7", HTTP_AUTHORIZATION="Bearer secret")
    assert len(answer.json()) == 3
