from typing import Any

import pytest

from backend.clusters.models import Cluster, Node
from backend.clusters.tests.conftest import _catalog, active, api, creating, foreign
from backend.conftest import ApiClient
from backend.tuning import actions
from backend.tuning.models import NodeTuning
from backend.tuning.states import CHECK_TITLES, STEP_TITLES, advice

__all__ = ["_catalog", "active", "api", "creating", "foreign"]


def report(scheduler: str = "none", *, error: str = "", checked_at: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    failed = {"code": error, "message": "The disks are blank."}
    return {
        "checked_at": checked_at,
        "environment": "machine",
        "provider": "aws",
        "machine_type": "i3.8xlarge",
        "engine": "scylla",
        "pins": {"cpus": 32, "irq": "0,16", "shards": "1-15,17-31", "n_shards": 30},
        "io": None,
        "checks": [
            {
                "name": "scheduler",
                "status": "pass" if scheduler == "none" else "fail",
                "found": scheduler,
                "wanted": "none",
                "cost": "CPU and latency",
                "reason": "",
            },
            {
                "name": "brand-new",
                "status": "not-applicable",
                "found": "",
                "wanted": "",
                "cost": "",
                "reason": "This is no container.",
            },
        ],
        "first_boot": {
            "state": "failed" if error else "succeeded",
            "started_at": "2026-01-01T00:00:00Z",
            "duration_ms": 1200,
            "steps": [
                {
                    "name": "disk-decision",
                    "state": "failed" if error else "succeeded",
                    "duration_ms": 1200,
                    "attempts": 1,
                    "message": "",
                    "error": failed if error else None,
                }
            ],
        },
        "warnings": [{"code": "io-unknown", "message": "Nothing is known of the disks."}],
    }


def node_of(cluster: Cluster) -> Node:
    return cluster.nodes.all()[0]


def shown(api: ApiClient, node: Node) -> dict[str, Any]:
    answer = api.get(f"/clusters/{node.cluster_id}/nodes/{node.id}/tuning")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_before_the_agent_was_asked_there_is_none(api: ApiClient, creating: Cluster):
    assert shown(api, node_of(creating)) == {"checked_at": None, "report": None, "disks": None}


def test_it_shows_the_report_with_titles(api: ApiClient, active: Cluster):
    actions.reported(node_of(active).id, report())
    found = shown(api, node_of(active))
    assert found["checked_at"] is not None
    told = found["report"]
    assert [(check["title"], check["status"], check["drifted"]) for check in told["checks"]] == [
        ("I/O scheduler", "pass", False),
        ("Brand new", "not-applicable", False),
    ]
    assert told["pins"]["n_shards"] == 30
    assert told["first_boot"]["steps"][0] == told["first_boot"]["steps"][0] | {
        "title": "Decide about the disks",
        "state": "succeeded",
        "duration_ms": 1200,
        "error": None,
    }


def test_a_failed_first_boot_says_what_to_do(api: ApiClient, active: Cluster):
    actions.reported(node_of(active).id, report(error="local-data-lost"))
    error = shown(api, node_of(active))["report"]["first_boot"]["steps"][0]["error"]
    assert (error["code"], error["message"]) == ("local-data-lost", "The disks are blank.")
    assert "Nothing was formatted" in error["hint"]
    assert advice("a-code-of-tomorrow").hint


def test_what_passed_and_fails_later_has_drifted_until_it_passes(api: ApiClient, active: Cluster):
    node = node_of(active)
    actions.reported(node.id, report("mq-deadline"))
    assert not shown(api, node)["report"]["checks"][0]["drifted"]
    actions.reported(node.id, report())
    actions.reported(node.id, report("mq-deadline"))
    assert shown(api, node)["report"]["checks"][0]["drifted"]
    actions.reported(node.id, report())
    assert not shown(api, node)["report"]["checks"][0]["drifted"]


def test_another_machine_begins_anew(api: ApiClient, active: Cluster):
    node = node_of(active)
    actions.reported(node.id, report())
    Node.objects.filter(id=node.id).update(generation=2)
    assert shown(api, node)["report"] is None
    actions.reported(node.id, report("mq-deadline"))
    assert not shown(api, node)["report"]["checks"][0]["drifted"]


def test_the_same_report_again_only_renews_the_time(active: Cluster, django_assert_num_queries: Any):
    node = node_of(active)
    actions.reported(node.id, report())
    before = NodeTuning.objects.get(node_id=node.id)
    actions.reported(node.id, report(checked_at="2026-02-02T00:00:00Z"))
    after = NodeTuning.objects.get(node_id=node.id)
    assert (after.report, after.passed) == (before.report, before.passed)
    assert after.checked_at > before.checked_at
    with django_assert_num_queries(1):
        actions.still_so([node.id])


@pytest.mark.parametrize("path", ["", "/tuning"])
def test_nobody_sees_another_tenants_node(api: ApiClient, foreign: ApiClient, active: Cluster, path: str):
    node = node_of(active)
    assert api.get(f"/clusters/{active.id}/nodes/{node.id}{path}").status_code == 200
    assert foreign.get(f"/clusters/{active.id}/nodes/{node.id}{path}").status_code == 404
    assert api.get(f"/clusters/clu_0/nodes/{node.id}{path}").status_code == 404
    unknown = api.get(f"/clusters/{active.id}/nodes/nod_0{path}")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "node_not_found")


def test_every_name_has_a_title():
    assert all(title and title[0].isupper() for title in (CHECK_TITLES | STEP_TITLES).values())


def measurement(reads: float, verdict: str = "stable") -> dict[str, Any]:
    figure = {"median": reads, "rounds": [reads], "spread": 0.01, "verdict": verdict, "agreed": True}
    names = ("read_iops", "read_bandwidth", "write_iops", "write_bandwidth")
    told = {"engine": "io_uring", "verdict": verdict, "warnings": [], "seconds": 80.0}
    return told | {"measured_at": "2026-01-01T00:00:00Z"} | dict.fromkeys(names, figure)


def test_disks_that_were_measured_stand_beside_the_median_of_the_cluster(api: ApiClient, active: Cluster):
    first, second, third = active.nodes.order_by("position")
    actions.measured(first.id, measurement(100.0))
    actions.measured(second.id, measurement(300.0))
    actions.measured(third.id, measurement(9000.0, "noisy"))
    disks = shown(api, first)["disks"]
    assert (disks["verdict"], disks["figures"]["read_iops"]["median"]) == ("stable", 100.0)
    assert (disks["cluster"]["nodes"], disks["cluster"]["read_iops"]) == (2, 200)
    assert shown(api, third)["disks"]["verdict"] == "noisy"


def test_noisy_disks_have_no_median_and_those_of_an_earlier_machine_are_forgotten(api: ApiClient, active: Cluster):
    node = node_of(active)
    actions.measured(node.id, measurement(100.0, "noisy"))
    assert shown(api, node)["disks"]["cluster"] is None
    Node.objects.filter(id=node.id).update(generation=2)
    assert shown(api, node)["disks"] is None
