from typing import Any

import pytest
from django.utils import timezone

from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.catalog.models import EngineVersion
from backend.clusters.models import Cluster, Node
from backend.clusters.tests.conftest import finish_operations
from backend.conftest import ApiClient, Tenant
from backend.diagnostics import actions
from backend.diagnostics.models import Diagnosis
from backend.diagnostics.states import KEPT, MOST_PER_MINUTE, QUESTIONS
from backend.operations.models import Operation

ANSWER = {
    "taken_at": "2026-01-01T00:00:00Z",
    "tables": [{"title": "T", "columns": [{"title": "N", "unit": "count"}], "rows": [[1], [None]], "left": 0}],
    "flame": {"samples": 2, "root": {"name": "all", "samples": 2, "children": [{"name": "f", "samples": 1}]}},
}


@pytest.fixture
def node(active: Cluster) -> Node:
    return Node.objects.filter(cluster=active).order_by("position")[0]


def _ask(api: ApiClient, node: Node, **order: Any) -> Any:
    return api.post(f"/clusters/{node.cluster_id}/nodes/{node.id}/diagnostics", {"question": "status"} | order)


def _code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_question_is_an_operation_that_is_answered(api: ApiClient, node: Node):
    asked = _ask(api, node, question="table-statistics", keyspace="shop", limit=5)
    assert asked.status_code == 202, asked.content
    diagnosis, operation = asked.json()["diagnosis"], asked.json()["operation"]
    assert (diagnosis["state"], diagnosis["operation_id"]) == ("asked", operation["id"])
    assert diagnosis["parameters"] == {"keyspace": "shop", "limit": 5}
    assert Operation.objects.get(id=operation["id"]).parameters["parameters"] == {"keyspace": "shop", "limit": 5}
    where = f"/clusters/{node.cluster_id}/diagnostics/{diagnosis['id']}"
    assert api.get(where).json()["answer"] is None
    assert actions.answered(diagnosis["id"], ANSWER) is None
    shown = api.get(where).json()
    assert shown["state"] == "answered"
    assert shown["answer"]["tables"][0]["rows"] == [[1], [None]]
    assert shown["answer"]["flame"]["root"]["children"][0]["name"] == "f"
    assert (shown["answer"]["log"], shown["answer"]["facts"]) == (None, [])
    # The first end counts.
    actions.not_answered(diagnosis["id"], code="late", message="Late.")
    assert api.get(where).json() == shown


def test_packets_come_with_the_answer_and_a_bad_file_is_not_kept(api: ApiClient, node: Node):
    def answered(**file: Any) -> dict[str, Any]:
        asked = _ask(api, node, question="cql-traffic", seconds=1).json()["diagnosis"]["id"]
        pcap = {"name": "cql.pcap", "media_type": "application/vnd.tcpdump.pcap", "content": "1MOyoQ=="}
        actions.answered(asked, {"taken_at": "2026-01-01T00:00:00Z", "file": pcap | file})
        found: dict[str, Any] = api.get(f"/clusters/{node.cluster_id}/diagnostics/{asked}").json()
        return found

    assert answered()["answer"]["file"]["content"] == "1MOyoQ=="
    for bad in ({"name": "../x.pcap"}, {"media_type": "text/html"}, {"content": "<b>"}, {"content": "A" * 1_500_000}):
        assert answered(**bad)["problem"]["code"] == "answer-unreadable"


def test_it_lists_what_can_be_asked_and_what_was(api: ApiClient, node: Node):
    _ask(api, node)
    shown = api.get(f"/clusters/{node.cluster_id}/diagnostics").json()
    assert [each["question"] for each in shown["questions"]] == list(QUESTIONS)
    assert [(each["title"], each["node_name"]) for each in shown["asked"]] == [("Status", node.name)]
    assert shown["allowed_actions"] == [{"action": "ask_node", "allowed": True, "reason": None}]


def test_it_is_audited(api: ApiClient, node: Node):
    _ask(api, node, question="log", search="password", level="WARN")
    record = AuditRecord.objects.get(action="diagnostics.ask")
    assert (record.target_id, record.after) == (
        node.id,
        {"question": "log", "search": "password", "level": "WARN"},
    )


@pytest.mark.parametrize(
    ("order", "code", "field"),
    [
        ({"keyspace": "shop"}, "parameter_not_taken", "keyspace"),
        ({"question": "ring"}, "parameter_missing", "keyspace"),
        ({"question": "table-statistics", "table": "orders"}, "parameter_missing", "keyspace"),
        ({"question": "table-statistics", "keyspace": "a b"}, "invalid_field", "keyspace"),
        ({"question": "hot-partitions", "seconds": 61}, "invalid_field", "seconds"),
        ({"question": "sstables", "keyspace": "shop"}, "parameter_missing", "table"),
        (
            {"question": "sstables", "keyspace": "shop", "table": "orders", "seconds": 9},
            "parameter_not_taken",
            "seconds",
        ),
        ({"question": "sstables", "keyspace": "shop", "table": "orders", "minutes": 61}, "invalid_field", "minutes"),
        ({"question": "log", "before": "/etc/passwd"}, "invalid_field", "before"),
        ({"question": "log", "level": "LOUD"}, "invalid_field", "level"),
        ({"question": "why"}, "invalid_field", "question"),
    ],
)
def test_what_makes_no_sense_is_refused(api: ApiClient, node: Node, order: dict[str, Any], code: str, field: str):
    answer = _ask(api, node, **order)
    assert _code(answer) == (422, code)
    assert answer.json()["error"]["field"] == field
    assert not Diagnosis.objects.exists()
    assert not Operation.objects.filter(kind="diagnose").exists()


def test_it_needs_a_permission_of_its_own(tenant: Tenant, api: ApiClient, node: Node):
    asked = _ask(api, node).json()["diagnosis"]["id"]
    viewer = tenant.api(tenant.member(Role.VIEWER))
    scoped = tenant.api(scopes=[Permission.CLUSTERS_READ, Permission.CLUSTERS_WRITE])
    for somebody in (viewer, scoped):
        assert _ask(somebody, node).status_code == 403
        assert somebody.get(f"/clusters/{node.cluster_id}/diagnostics/{asked}").status_code == 403
        shown = somebody.get(f"/clusters/{node.cluster_id}/diagnostics").json()
        assert shown["allowed_actions"][0]["reason"] == "Your role or token may not ask nodes."
    assert _ask(tenant.api(tenant.member(Role.OPERATOR)), node).status_code == 202


def test_another_organisation_sees_nothing(api: ApiClient, foreign: ApiClient, node: Node):
    asked = _ask(api, node).json()["diagnosis"]["id"]
    assert _code(_ask(foreign, node)) == (404, "cluster_not_found")
    assert _code(foreign.get(f"/clusters/{node.cluster_id}/diagnostics")) == (404, "cluster_not_found")
    assert _code(foreign.get(f"/clusters/{node.cluster_id}/diagnostics/{asked}")) == (404, "cluster_not_found")


def test_a_node_of_another_cluster_is_not_asked(api: ApiClient, node: Node):
    answer = api.post(f"/clusters/{node.cluster_id}/nodes/nod_01/diagnostics", {"question": "status"})
    assert _code(answer) == (404, "node_not_found")


def test_an_organisation_asks_only_so_often(api: ApiClient, node: Node):
    Diagnosis.objects.bulk_create(
        Diagnosis(organisation_id=node.cluster.organisation_id, cluster=node.cluster, node=node, question="status")
        for _ in range(MOST_PER_MINUTE)
    )
    answer = _ask(api, node)
    assert _code(answer) == (429, "too_many_questions")
    assert answer["Retry-After"] == "60"
    Diagnosis.objects.update(asked_at=timezone.now() - KEPT / 2)
    assert _ask(api, node).status_code == 202


def test_a_node_is_sampled_by_one_at_a_time(api: ApiClient, node: Node):
    first = _ask(api, node, question="flame-graph").json()["diagnosis"]["id"]
    assert _code(_ask(api, node, question="hot-partitions", seconds=1)) == (409, "already_sampling")
    assert _ask(api, node).status_code == 202
    actions.not_answered(first, code="x", message="X.")
    assert _ask(api, node, question="hot-partitions", seconds=1).status_code == 202


def test_answers_are_gone_after_a_day(api: ApiClient, node: Node):
    old = _ask(api, node).json()["diagnosis"]["id"]
    finish_operations()
    Diagnosis.objects.update(asked_at=timezone.now() - KEPT)
    assert _code(api.get(f"/clusters/{node.cluster_id}/diagnostics/{old}")) == (404, "diagnosis_not_found")
    _ask(api, node)
    assert not Diagnosis.objects.filter(id=old).exists()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"taken_at": "yesterday"}, "answer-unreadable"),
        (
            {"taken_at": "2026-01-01T00:00:00Z", "facts": [{"label": "x", "unit": "ells", "value": 1}]},
            "answer-unreadable",
        ),
        ({"taken_at": "2026-01-01T00:00:00Z", "notes": ["x" * 3_000_000]}, "answer-too-large"),
    ],
)
def test_a_bad_answer_is_not_kept(api: ApiClient, node: Node, answer: dict[str, Any], code: str):
    asked = _ask(api, node).json()["diagnosis"]["id"]
    assert actions.answered(asked, answer) is not None
    shown = api.get(f"/clusters/{node.cluster_id}/diagnostics/{asked}").json()
    assert (shown["state"], shown["problem"]["code"], shown["answer"]) == ("failed", code, None)


def test_an_engine_that_cannot_be_asked_is_told(api: ApiClient, node: Node):
    EngineVersion.objects.filter(engine="cassandra").update(answers_questions=False)
    assert _code(_ask(api, node)) == (409, "cannot_ask")
    shown = api.get(f"/clusters/{node.cluster_id}/diagnostics").json()
    assert shown["allowed_actions"][0]["reason"] == "Nodes of this engine cannot be asked yet."
