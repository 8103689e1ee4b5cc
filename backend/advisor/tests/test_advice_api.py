"""Advice from a real Prometheus over the API: listed, dismissed, planned, applied, taken back."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.accounts.states import Permission, Role
from backend.advisor import actions, numbers, reviewing
from backend.advisor.models import AdviceItem, Review, TableChange, TableSchema
from backend.advisor.tests import samples
from backend.advisor.tests.test_spent import spend
from backend.audit.models import AuditRecord
from backend.changes.planning.facts import TableBytes
from backend.clusters.models import Cluster, Node
from backend.clusters.tests.conftest import finish_operations
from backend.conftest import ApiClient, Tenant
from backend.diagnostics.models import Diagnosis
from backend.metrics import store
from backend.operations.models import Operation
from infra.metrics import serving

CLUSTER = "clu_01advice000000000000000000"
NODE = "nod_01advice000000000000000000"
LZ4 = {"class": "org.apache.cassandra.io.compress.LZ4Compressor", "chunk_length_in_kb": "64"}
SHORT = LZ4 | {"chunk_length_in_kb": "4"}


def table(name: str = "orders", **more: Any) -> dict[str, Any]:
    options = {"compression": LZ4, "gc_grace_seconds": 864000, "comment": "", "speculative_retry": "99p"}
    return {
        "keyspace": "shop",
        "table": name,
        "id": f"id of {name}",
        "options": options,
        "columns": [{"name": "id", "kind": "partition_key", "position": 0, "type": "int", "order": "none"}],
        "indexes": [],
        "statement": f"CREATE TABLE shop.{name} (id int PRIMARY KEY);",
    } | more


DESCRIBED = {
    "keyspaces": [{"name": "shop", "class": "NetworkTopologyStrategy", "replication": {"local-local-1": 3}}],
    "tables": [table(), table("people")],
}


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    serving.load(folder, samples.openmetrics(CLUSTER, "org_a", node=NODE))
    with serving.serving(folder) as url:
        yield url


@pytest.fixture
def asked(prometheus: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The store is there; every query that goes to it."""
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": prometheus})
    queries: list[str] = []
    ask = store.PrometheusStore._ask

    def noting(self: store.PrometheusStore, question: store.Instant | store.Range) -> list[store.Series]:
        queries.append(question.query)
        return ask(self, question)

    monkeypatch.setattr(store.PrometheusStore, "_ask", noting)
    return queries


@pytest.fixture
def cluster(active: Cluster, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """One that serves, whose numbers are those of the samples, and whose schema was read."""
    real = numbers.read
    monkeypatch.setattr("backend.advisor.gathering.numbers.read", lambda _, **more: real(CLUSTER, **more))
    Cluster.objects.filter(id=active.id).update(active_at=datetime.now(UTC))
    Review.objects.create(cluster=active, due_at=datetime.now(UTC))
    reviewing.schema_read(active.id, DESCRIBED)
    return active


@pytest.fixture
def advice(cluster: Cluster) -> AdviceItem:
    reviewing.review(cluster.id)
    return AdviceItem.objects.get(cluster=cluster, rule="chunk-length")


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def at(item: AdviceItem, *more: str) -> str:
    return "/".join([f"/clusters/{item.cluster_id}/advice/{item.id}", *more])


def test_advice_comes_with_its_numbers_and_its_source(api: ApiClient, advice: AdviceItem):
    shown = api.get(f"/clusters/{advice.cluster_id}/advice").json()
    (one,) = [each for each in shown["items"] if each["rule"] == "chunk-length"]
    assert (one["keyspace"], one["table"], one["severity"]) == ("shop", "orders", "warning")
    evidence = {each["label"]: each["value"] for each in one["evidence"]}
    assert evidence["Reads of one partition"] == pytest.approx(50, rel=0.2)
    assert "from 1 MiB to 16 MiB" in one["cost"]
    assert one["figure"]["url"].startswith("https://thelastpickle.com/")
    assert one["change"] == {"before": {"compression": LZ4}, "after": {"compression": SHORT}, "rewrite": True}
    assert [each["allowed"] for each in one["allowed_actions"]] == [True, True]
    assert shown["counts"]["warning"] >= 1
    assert shown["review"]["window_seconds"] == 1800
    assert api.get(at(advice)).json() == one


def test_what_it_could_cost_less_is_advice_too_and_on_the_organisations_list(
    api: ApiClient, foreign: ApiClient, cluster: Cluster
):
    for day in range(1, 15):
        spend(cluster, day, today=datetime.now(UTC).date())
    reviewing.review(cluster.id)
    (idle,) = [
        each for each in api.get(f"/clusters/{cluster.id}/advice").json()["items"] if each["rule"] == "idle-cluster"
    ]
    # 14 × 0.9 dollars in 336 hours.
    assert idle["saving_micros"] == 27_375_000
    assert idle["formula"] == "12.60 USD ÷ 14 days ÷ 24 h × 730 h"
    assert code(api.post(f"/clusters/{cluster.id}/advice/{idle['id']}/apply", {})) == (409, "left_to_people")
    listed = api.get("/costs/savings").json()
    assert (listed["micros"], [each["id"] for each in listed["items"]]) == (27_375_000, [idle["id"]])
    assert foreign.get("/costs/savings").json()["items"] == []
    spend(cluster, 3, reads=20_000, today=datetime.now(UTC).date())
    reviewing.review(cluster.id)
    assert api.get("/costs/savings").json()["micros"] == 0


def test_an_engine_whose_tables_are_not_described_is_told_what_it_could_cost_less(api: ApiClient, cluster: Cluster):
    for day in range(1, 15):
        spend(cluster, day, today=datetime.now(UTC).date())
    reviewing.review_or_tell(cluster.id, without_schema="Tables of this engine cannot be described yet.")
    shown = api.get(f"/clusters/{cluster.id}/advice").json()
    assert [each["rule"] for each in shown["items"]] == ["idle-cluster"]
    assert shown["review"]["problem"] == "Tables of this engine cannot be described yet."


def test_the_questions_to_the_store_do_not_grow_with_tables(cluster: Cluster, asked: list[str]):
    reviewing.review(cluster.id)
    first = len(asked)
    more = DESCRIBED | {"tables": [table(f"t{number}") for number in range(300)]}
    reviewing.schema_read(cluster.id, more)
    reviewing.review(cluster.id)
    assert len(asked) == 2 * first
    assert all(f'cluster="{CLUSTER}"' in query for query in asked)
    assert AdviceItem.objects.get(cluster=cluster, rule="many-tables").over_at is None


def test_what_is_rolled_up_can_be_asked_for_too(cluster: Cluster, asked: list[str]):
    Cluster.objects.filter(id=cluster.id).update(active_at=datetime.now(UTC) - timedelta(days=30))
    reviewing.review(cluster.id)
    assert any("quantile_over_time(0.95" in query for query in asked)
    # Nothing was rolled up, so nothing is known of reads.
    assert not AdviceItem.objects.filter(cluster=cluster, rule="chunk-length").exists()


def test_it_disappears_when_it_is_true_no_longer_and_comes_back(api: ApiClient, advice: AdviceItem):
    fits = DESCRIBED | {"tables": [table(options={"compression": SHORT})]}
    reviewing.schema_read(advice.cluster_id, fits)
    reviewing.review(advice.cluster_id)
    listed = api.get(f"/clusters/{advice.cluster_id}/advice?table=orders").json()
    assert [each["rule"] for each in listed["items"]] == []
    assert api.get(at(advice)).json()["over_at"] is not None
    assert code(api.post(at(advice, "apply"), {})) == (409, "cannot_apply")
    reviewing.schema_read(advice.cluster_id, DESCRIBED)
    reviewing.review(advice.cluster_id)
    again = AdviceItem.objects.get(id=advice.id)
    assert again.over_at is None
    assert again.first_seen_at > advice.first_seen_at


def test_it_stays_when_metrics_are_away(api: ApiClient, advice: AdviceItem, settings: Any):
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": ""})
    reviewing.review_or_tell(advice.cluster_id)
    listed = api.get(f"/clusters/{advice.cluster_id}/advice").json()
    assert listed["review"]["problem"] == "This installation has no store of metrics."
    assert advice.id in [each["id"] for each in listed["items"]]


def test_answers_of_nodes_are_evidence(cluster: Cluster):
    columns = ["Table", "Needs ALLOW FILTERING", "Times"]
    slow = [["shop.orders", True, 9], ["shop.orders", True, 3], ["shop.people", False, 50]]
    hot = [["shop.people", "id:secret", 900], ["shop.people", "id:2", 100]]
    node = Node.objects.filter(cluster=cluster).order_by("position")[0]
    for question, answer in (
        ("slow-queries", {"tables": [{"title": "Slow", "columns": [{"title": t} for t in columns], "rows": slow}]}),
        (
            "hot-partitions",
            {
                "facts": [{"label": "Watched for", "value": 10}],
                "tables": [
                    {"title": "Most read", "columns": [{"title": t} for t in ("Table", "What", "Reads")], "rows": hot}
                ],
            },
        ),
    ):
        Diagnosis.objects.create(
            organisation_id=cluster.organisation_id,
            cluster=cluster,
            node=node,
            question=question,
            state="answered",
            answer=answer,
            operation_id="op_1",
            asked_by="ann",
        )
    reviewing.review(cluster.id)
    found = {row.rule: row for row in AdviceItem.objects.filter(cluster=cluster)}
    assert (found["filtering"].table, found["hot-partitions"].table) == ("orders", "people")
    assert "12 slow reads" in found["filtering"].words["finding"]
    # Keys are data: they need a permission that reading advice does not.
    assert "secret" not in str(found["hot-partitions"].words)
    Diagnosis.objects.update(asked_at=datetime.now(UTC) - timedelta(days=2))
    reviewing.review(cluster.id)
    assert AdviceItem.objects.get(cluster=cluster, rule="filtering").over_at is not None


def test_the_list_is_filtered_and_comes_in_pages(api: ApiClient, advice: AdviceItem):
    now = datetime.now(UTC)
    AdviceItem.objects.bulk_create(
        AdviceItem(
            cluster_id=advice.cluster_id,
            rule="tombstones",
            keyspace="shop",
            table=f"t{number}",
            severity="hint",
            words=advice.words,
            first_seen_at=now,
            last_seen_at=now,
        )
        for number in range(5)
    )
    where = f"/clusters/{advice.cluster_id}/advice"
    seen, cursor = [], ""
    while cursor is not None:
        page = api.get(f"{where}?severity=hint&limit=2{cursor and f'&cursor={cursor}'}").json()
        seen += [each["table"] for each in page["items"]]
        cursor = page["next_cursor"]
    assert sorted(seen) == [f"t{number}" for number in range(5)]
    assert len(api.get(f"{where}?keyspace=shop&table=t3").json()["items"]) == 1
    assert code(api.get(f"{where}?severity=loud")) == (422, "invalid_field")
    assert code(api.get(f"{where}?keyspace=a%20b")) == (422, "invalid_field")


def test_what_is_dismissed_is_not_listed_until_then(api: ApiClient, advice: AdviceItem):
    until = datetime.now(UTC) + timedelta(days=7)
    order = {"reason": "We know.", "until": until.isoformat()}
    shown = api.put(at(advice, "dismissal"), order)
    assert shown.status_code == 200, shown.content
    assert shown.json()["dismissal"]["reason"] == "We know."
    where = f"/clusters/{advice.cluster_id}/advice"
    assert advice.id not in [each["id"] for each in api.get(where).json()["items"]]
    assert [each["id"] for each in api.get(f"{where}?dismissed=true").json()["items"]] == [advice.id]
    assert AuditRecord.objects.get(action="advice.dismiss").after["reason"] == "We know."
    reviewing.review(advice.cluster_id)
    assert api.get(at(advice)).json()["dismissal"] is not None
    AdviceItem.objects.filter(id=advice.id).update(dismissed_until=datetime.now(UTC) - timedelta(seconds=1))
    assert advice.id in [each["id"] for each in api.get(where).json()["items"]]
    assert api.delete(at(advice, "dismissal")).json()["dismissal"] is None
    assert AuditRecord.objects.filter(action="advice.restore").count() == 1


@pytest.mark.parametrize(
    ("order", "field"),
    [
        ({}, "reason"),
        ({"reason": "x"}, "reason"),
        ({"reason": "two\nlines"}, "reason"),
        ({"reason": "We know.", "until": "2001-01-01T00:00:00Z"}, "until"),
        ({"reason": "We know.", "until": "2100-01-01T00:00:00"}, "until"),
    ],
)
def test_a_bad_dismissal_changes_nothing(api: ApiClient, advice: AdviceItem, order: dict[str, Any], field: str):
    answer = api.put(at(advice, "dismissal"), order)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert AdviceItem.objects.get(id=advice.id).dismissed_at is None
    assert not AuditRecord.objects.filter(action="advice.dismiss").exists()


def test_plan_and_apply_take_one_body_and_the_way_back_is_kept(api: ApiClient, advice: AdviceItem):
    order = {"rewrite": True}
    plan = api.post(at(advice, "plan"), order).json()
    assert (plan["possible"], plan["before"], plan["after"]) == (True, {"compression": LZ4}, {"compression": SHORT})
    assert "'chunk_length_in_kb': '4'" in plan["statement"]
    assert "'chunk_length_in_kb': '64'" in plan["way_back"]
    assert len(plan["steps"]) == 1 + Node.objects.filter(cluster_id=advice.cluster_id).count()
    assert not TableChange.objects.exists()
    started = api.post(at(advice, "apply"), order)
    assert started.status_code == 202, started.content
    change = started.json()["change"]
    assert (change["state"], change["rewrite"], change["after"]) == ("applying", True, {"compression": SHORT})
    operation = Operation.objects.get(id=started.json()["operation"]["id"])
    assert next(step.title for step in operation.steps.order_by("position")) == "Set options of shop.orders"
    record = AuditRecord.objects.get(action="advice.apply")
    assert record.after == {"table": "shop.orders", "compression": SHORT}
    # While it is under way, once is enough.
    assert code(api.post(at(advice, "apply"), {})) == (409, "cannot_apply")
    assert api.post(at(advice, "plan"), {}).json()["reason"] == "Its options are being changed right now."
    finish_operations()
    TableChange.objects.update(state="applied")
    listed = api.get(f"/clusters/{advice.cluster_id}/table-changes?table=orders").json()["items"]
    assert [each["id"] for each in listed] == [change["id"]]
    back = f"/clusters/{advice.cluster_id}/table-changes/{change['id']}/undo"
    assert "'chunk_length_in_kb': '64'" in api.post(f"{back}/plan", {}).json()["statement"]
    undone = api.post(back, {})
    assert undone.status_code == 202, undone.content
    assert (undone.json()["change"]["undoes"], undone.json()["change"]["after"]) == (change["id"], {"compression": LZ4})
    assert code(api.post(back, {})) == (409, "cannot_undo")


def test_writing_anew_takes_as_long_as_the_table_is_large_on_each_node(
    api: ApiClient, advice: AdviceItem, monkeypatch: pytest.MonkeyPatch
):
    nodes = list(Node.objects.filter(cluster_id=advice.cluster_id))
    sizes = TableBytes(on_disk={node.id: 64 * 2**20 * 100 for node in nodes}, in_memory={})
    monkeypatch.setattr(
        actions, "table_bytes", lambda *of: sizes if of == (advice.cluster_id, "shop", "orders") else None
    )
    plan = api.post(at(advice, "plan"), {"rewrite": True}).json()
    assert plan["expected_seconds"] == 5 + 102 * len(nodes)
    assert not any("no numbers" in note for note in plan["notes"])
    Cluster.objects.update(settings={"compaction_throughput_mib": 16})
    assert api.post(at(advice, "plan"), {"rewrite": True}).json()["expected_seconds"] == 5 + 402 * len(nodes)
    assert api.post(at(advice, "plan"), {}).json()["expected_seconds"] == 5
    started = api.post(at(advice, "apply"), {"rewrite": True}).json()["operation"]
    assert Operation.objects.get(id=started["id"]).expected_seconds == 5 + 402 * len(nodes)


def test_a_plan_says_when_the_size_of_the_table_is_not_known(
    api: ApiClient, advice: AdviceItem, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(actions, "table_bytes", lambda *of: None)
    plan = api.post(at(advice, "plan"), {"rewrite": True}).json()
    assert plan["expected_seconds"] == 5 + 2 * Node.objects.filter(cluster_id=advice.cluster_id).count()
    assert "There are no numbers of shop.orders: how long that takes is not known." in plan["notes"]


def test_options_that_changed_meanwhile_are_not_touched(api: ApiClient, advice: AdviceItem):
    TableSchema.objects.filter(name="orders").update(options={"compression": LZ4 | {"chunk_length_in_kb": "16"}})
    assert api.post(at(advice, "plan"), {}).json()["reason"] == "compression of shop.orders changed meanwhile."
    answer = api.post(at(advice, "apply"), {})
    assert code(answer) == (409, "options_changed")
    TableSchema.objects.filter(name="orders").delete()
    assert code(api.post(at(advice, "apply"), {})) == (404, "table_not_described")
    assert not TableChange.objects.exists()
    assert not Operation.objects.filter(kind="apply_advice").exists()


def test_what_is_left_to_people_is_not_applied(api: ApiClient, advice: AdviceItem):
    words = advice.words | {"change": None, "why_by_hand": "A primary key cannot be altered."}
    AdviceItem.objects.filter(id=advice.id).update(words=words)
    for verb in ("plan", "apply"):
        assert code(api.post(at(advice, verb), {})) == (409, "left_to_people")
    assert api.get(at(advice)).json()["allowed_actions"][0]["reason"].startswith("It is left to you.")


def test_it_needs_permission_to_change(tenant: Tenant, advice: AdviceItem):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    scoped = tenant.api(scopes=[Permission.CLUSTERS_READ])
    review = f"/clusters/{advice.cluster_id}/advice/review"
    for somebody in (viewer, scoped):
        assert somebody.get(at(advice)).status_code == 200
        assert somebody.post(at(advice, "plan"), {}).json()["reason"] == "Your role or token may not change clusters."
        for answer in (
            somebody.post(at(advice, "apply"), {}),
            somebody.put(at(advice, "dismissal"), {"reason": "We know."}),
            somebody.delete(at(advice, "dismissal")),
            somebody.post(review, {}),
        ):
            assert answer.status_code == 403
    assert tenant.api(tenant.member(Role.OPERATOR)).post(review, {}).status_code == 202


def test_another_organisation_sees_nothing(foreign: ApiClient, advice: AdviceItem):
    where = f"/clusters/{advice.cluster_id}"
    for answer in (
        foreign.get(f"{where}/advice"),
        foreign.get(at(advice)),
        foreign.post(at(advice, "plan"), {}),
        foreign.post(at(advice, "apply"), {}),
        foreign.put(at(advice, "dismissal"), {"reason": "We know."}),
        foreign.get(f"{where}/table-changes"),
        foreign.post(f"{where}/table-changes/tch_1/undo", {}),
        foreign.post(f"{where}/advice/review", {}),
        foreign.get(f"{where}/tables/shop/orders/schema"),
    ):
        assert code(answer) == (404, "cluster_not_found")


def test_somebody_may_ask_for_a_look(api: ApiClient, cluster: Cluster):
    Review.objects.update(due_at=datetime.now(UTC) + timedelta(hours=1))
    where = f"/clusters/{cluster.id}/advice/review"
    assert api.post(where, {}).json()["waiting"] is True
    assert api.post(where, {}).json()["waiting"] is True
    assert AuditRecord.objects.filter(action="advice.review").count() == 1
    assert Review.objects.get().due_at <= datetime.now(UTC)
    reviewing.review(cluster.id)
    assert api.get(f"/clusters/{cluster.id}/advice").json()["review"]["waiting"] is False


def test_a_table_tells_how_it_is_made_and_set(api: ApiClient, cluster: Cluster):
    shown = api.get(f"/clusters/{cluster.id}/tables/shop/orders/schema").json()
    assert shown["statement"] == "CREATE TABLE shop.orders (id int PRIMARY KEY);"
    options = {each["name"]: each for each in shown["options"]}
    assert options["compression"]["usual"]["chunk_length_in_kb"] == "16"
    assert (options["compression"]["is_usual"], options["gc_grace_seconds"]["is_usual"]) == (False, True)
    assert code(api.get(f"/clusters/{cluster.id}/tables/shop/nothing/schema")) == (404, "table_not_described")


def test_every_serving_cluster_is_looked_at(active: Cluster):
    assert reviewing.make_missing_reviews() == 1
    assert reviewing.make_missing_reviews() == 0
    assert Review.objects.get().cluster_id == active.id
