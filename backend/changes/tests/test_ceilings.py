"""A change goes no further than a ceiling; what does not make it worse goes on and says so."""

from typing import Any

import pytest

from backend.catalog.models import Region
from backend.changes.tests.test_change_together import at_once, clusters
from backend.clusters.models import Ceiling, Cluster, Node
from backend.clusters.states import NodeState
from backend.conftest import ApiClient
from backend.operations.models import Operation
from backend.prices import actions as prices

__all__ = ["clusters"]

SCALE = {"kind": "scale", "nodes_per_zone": 2}
SMALL, MEDIUM = 14_600_000, 21_900_000


def ceiling(cluster: Cluster, *, own: bool = False, **columns: Any) -> Ceiling:
    return Ceiling.objects.create(
        organisation=cluster.organisation, cluster=cluster if own else None, changed_by="x", **columns
    )


@pytest.mark.parametrize(("own", "whose"), [(False, "the organisation"), (True, "the cluster orders")])
def test_a_scale_out_beyond_the_nodes_is_refused_by_plan_and_change(
    api: ApiClient, active: Cluster, own: bool, whose: str
):
    ceiling(active, own=own, nodes=5)
    said = f"The ceiling of {whose} is 5 nodes: it has 3 now and would have 6."
    plan = api.post(f"/clusters/{active.id}/plan", SCALE).json()
    assert (plan["possible"], plan["changes"][0]["reason"]) == (False, said)
    answer = api.post(f"/clusters/{active.id}/changes", SCALE)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["message"]) == (409, "node_ceiling_reached", said)
    assert Node.objects.count() == 3
    Ceiling.objects.update(nodes=6)
    assert api.post(f"/clusters/{active.id}/changes", SCALE).status_code == 202


def test_dearer_machines_beyond_the_money_are_refused_and_cheaper_ones_are_not(api: ApiClient, active: Cluster):
    prices.load()
    row = ceiling(active, own=True, micros_per_month=3 * MEDIUM - 1)
    larger = {"kind": "machine_type", "machine_type": "local.medium"}
    answer = api.post(f"/clusters/{active.id}/changes", larger)
    assert (answer.status_code, answer.json()["error"]["message"]) == (
        409,
        "The ceiling of the cluster orders is 65.70 dollars a month: its machines come to 43.80 now and would come to "
        "65.70.",
    )
    Node.objects.update(machine_type="local.medium")
    Ceiling.objects.filter(id=row.id).update(micros_per_month=SMALL, nodes=1)
    smaller = {"kind": "machine_type", "machine_type": "local.small"}
    plan = api.post(f"/clusters/{active.id}/plan", smaller).json()
    assert plan["possible"]
    assert plan["changes"][0]["warnings"][-2:] == [
        "The ceiling of the cluster orders is 1 node, and it has 3.",
        "The ceiling of the cluster orders is 14.60 dollars a month, and its machines come to 43.80.",
    ]


def test_a_dead_node_is_replaced_below_and_above_the_ceiling(api: ApiClient, active: Cluster):
    victim = active.nodes.first()
    assert victim is not None
    Node.objects.filter(id=victim.id).update(state=NodeState.DOWN)
    change = {"kind": "replace_node", "node_id": victim.id}
    row = ceiling(active, nodes=3)
    warnings = api.post(f"/clusters/{active.id}/plan", change).json()["changes"][0]["warnings"]
    assert not any("ceiling" in warning for warning in warnings)
    Ceiling.objects.filter(id=row.id).update(nodes=2)
    plan = api.post(f"/clusters/{active.id}/plan", change).json()["changes"][0]
    assert plan["warnings"][-1] == "The ceiling of the organisation is 2 nodes, and it has 3."
    assert api.post(f"/clusters/{active.id}/changes", change).status_code == 202


def test_two_clusters_do_not_both_take_what_is_left(clusters: tuple[ApiClient, list[Cluster]]):
    api, both = clusters
    Region.objects.filter(id="local/local-1").update(memory_budget_mib=None)
    ceiling(both[0], nodes=9)
    answers = at_once(
        [lambda each=each: ApiClient(**api.headers).post(f"/clusters/{each.id}/changes", SCALE) for each in both]
    )
    assert sorted(answer.status_code for answer in answers) == [202, 409]
    refused = next(answer for answer in answers if answer.status_code == 409)
    assert refused.json()["error"]["code"] == "node_ceiling_reached"
    assert Node.objects.count() == 9
    assert Operation.objects.filter(kind="scale_cluster").count() == 1
