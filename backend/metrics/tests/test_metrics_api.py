"""The API on a real Prometheus that holds the numbers of two organisations."""

import csv
import io
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.backups.models import Backup, BackupLocation, BackupTable
from backend.clusters.models import Cluster, Datacenter, Node
from backend.clusters.states import ClusterState, NodeState
from backend.conftest import ApiClient, Tenant
from backend.metrics import federation, queries, store, tables
from backend.metrics.table_charts import TABLE_COLUMNS
from backend.metrics.tests import samples
from backend.operations.models import Operation
from backend.operations.states import OperationState
from backend.repairs.models import RepairTable
from infra.metrics import serving


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    for part in samples.openmetrics([(samples.CLUSTER, "org_a"), (samples.FOREIGN, "org_b")]):
        serving.load(folder, part)
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


def cluster_of(tenant: Tenant, cluster_id: str) -> Cluster:
    cluster = Cluster.objects.create(
        id=cluster_id,
        organisation=tenant.organisation,
        name=tenant.organisation.slug,
        engine="cassandra",
        engine_version="5.0.5",
        provider="local",
        ring_name="ring",
        state=ClusterState.ACTIVE,
        admin_username="admin",
        created_by="owner",
    )
    datacenter = Datacenter.objects.create(
        cluster=cluster,
        name="local-local-1",
        region="local-1",
        zones=list(samples.ZONES),
        machine_type="local.small",
        nodes_per_zone=1,
    )
    for position, zone in enumerate(samples.ZONES):
        Node.objects.create(
            id=samples.NODES[position] if cluster_id == samples.CLUSTER else f"nod_{cluster_id[-3:]}{position}",
            cluster=cluster,
            datacenter=datacenter,
            machine_type="local.small",
            name=f"orders-{zone}-1",
            zone=zone,
            position=position,
            state=NodeState.UP,
        )
    return cluster


@pytest.fixture
def cluster(tenant: Tenant) -> Cluster:
    return cluster_of(tenant, samples.CLUSTER)


@pytest.fixture
def api(tenant: Tenant, cluster: Cluster, asked: list[str]) -> ApiClient:
    return tenant.api()


PATH = f"/clusters/{samples.CLUSTER}"
TABLES = f"{PATH}/tables/metrics"


def names(page: dict[str, Any]) -> list[str]:
    return [f"{item['keyspace']}.{item['table']}" for item in page["items"]]


# The page of tables


def test_every_table_has_its_numbers_of_all_nodes_together(api: ApiClient):
    page = api.get(TABLES).json()
    assert names(page) == ["shop.orders", "shop.people", "shop.quiet"]
    orders, _, quiet = page["items"]
    assert orders["numbers"]["reads_per_second"] == pytest.approx(300)
    assert orders["numbers"]["live_bytes"] == 3 * 101_000
    assert orders["numbers"]["read_p99_seconds"] == pytest.approx(0.1)
    assert (quiet["numbers"]["reads_per_second"], quiet["numbers"]["live_bytes"]) == (None, 3000)
    assert page["age_seconds"] < 60
    assert page["note"] is None
    sparkline = orders["sparklines"]["reads_per_second"]
    assert len(sparkline) == len(page["spark_times"])
    assert sparkline[-2] == pytest.approx(300)


def test_the_number_of_queries_does_not_grow_with_tables_or_pages(api: ApiClient, asked: list[str]):
    counts = set()
    for query in ("", "?system=true", "?limit=1", "?sort=-reads_per_second&q=orders"):
        asked.clear()
        assert api.get(f"{TABLES}{query}").status_code == 200
        counts.add(len(asked))
    assert counts == {1 + len(TABLE_COLUMNS) + sum(column.spark for column in TABLE_COLUMNS)}
    assert all(f'cluster="{samples.CLUSTER}"' in query for query in asked)


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("keyspace", ["orders", "people", "quiet"]),
        ("-table", ["quiet", "people", "orders"]),
        ("reads_per_second", ["people", "orders", "quiet"]),
        ("-reads_per_second", ["orders", "people", "quiet"]),
        ("-live_bytes", ["orders", "people", "quiet"]),
    ],
)
def test_tables_are_sorted_and_come_page_by_page(api: ApiClient, sort: str, expected: list[str]):
    found, cursor = [], ""
    while cursor is not None:
        page = api.get(
            f"{TABLES}?limit=1&sort={sort}&sparklines=false" + (f"&cursor={cursor}" if cursor else "")
        ).json()
        found += [item["table"] for item in page["items"]]
        cursor = page["next_cursor"]
        assert page["total"] == 3
    assert found == expected


def test_pages_of_a_list_show_one_moment_until_it_is_old(api: ApiClient, monkeypatch: pytest.MonkeyPatch):
    moments: set[float] = set()
    ask = store.PrometheusStore._ask

    def noting(self: store.PrometheusStore, question: store.Instant | store.Range) -> list[store.Series]:
        if isinstance(question, store.Instant):
            moments.add(question.at)
        return ask(self, question)

    monkeypatch.setattr(store.PrometheusStore, "_ask", noting)
    page = api.get(f"{TABLES}?limit=1&sort=-live_bytes").json()
    page = api.get(f"{TABLES}?limit=1&sort=-live_bytes&cursor={page['next_cursor']}").json()
    assert len(moments) == 1
    monkeypatch.setattr(queries, "SAME_MOMENT", timedelta(0))
    page = api.get(f"{TABLES}?limit=1&sort=-live_bytes&cursor={page['next_cursor']}").json()
    assert [item["table"] for item in page["items"]] == ["quiet"]
    assert len(moments) == 2


def test_tables_are_found_by_part_of_their_name_and_by_keyspace(api: ApiClient):
    assert names(api.get(f"{TABLES}?q=OP.peo").json()) == ["shop.people"]
    assert names(api.get(f"{TABLES}?keyspace=system_auth").json()) == ["system_auth.roles"]
    assert "system_auth.roles" in names(api.get(f"{TABLES}?system=true").json())
    assert api.get(f"{TABLES}?q=nothing").json()["items"] == []


@pytest.mark.parametrize("query", ["sort=nothing", "cursor=bm8", "cursor=W10", "limit=0", "from=2001-01-01T00:00:00Z"])
def test_what_cannot_be_listed_says_why(api: ApiClient, query: str):
    answer = api.get(f"{TABLES}?{query}")
    assert answer.status_code == 422, answer.content
    assert answer.json()["error"]["field"] in query


def test_tables_tell_when_they_were_repaired_and_backed_up(api: ApiClient, tenant: Tenant, cluster: Cluster):
    day = datetime.now(UTC) - timedelta(days=1)
    facts = {"bytes": 1, "unrepaired_bytes": 0, "replicas": 3, "gc_grace": 864_000, "replication": {"local-local-1": 3}}
    for name in ("orders", "never_measured"):
        RepairTable.objects.create(cluster=cluster, keyspace="shop", name=name, facts=facts, repaired_at=day)
    place = BackupLocation.objects.create(organisation=tenant.organisation, name="p", kind="folder", created_by="owner")
    for age, state in ((3, "complete"), (2, "complete"), (1, "incomplete")):
        backup = Backup.objects.create(
            organisation=tenant.organisation,
            cluster=cluster,
            location=place,
            state=state,
            taken_at=day - timedelta(days=age),
        )
        BackupTable.objects.create(backup=backup, keyspace="shop", name="orders")
    page = api.get(f"{TABLES}?sort=-backed_up_at").json()
    assert names(page) == ["shop.orders", "shop.never_measured", "shop.people", "shop.quiet"]
    orders, never_measured, people, _ = page["items"]
    assert datetime.fromisoformat(orders["backed_up_at"]) == day - timedelta(days=2)
    assert datetime.fromisoformat(orders["protected_until"]) == day + timedelta(days=10)
    assert (orders["protection"], people["protection"], people["repaired_at"]) == ("good", "unknown", None)
    assert never_measured["numbers"]["live_bytes"] is None


# Charts


def test_a_dashboard_is_split_by_node_with_names_people_know(api: ApiClient):
    answer = api.get(f"{PATH}/metrics?dashboard=overview&chart=requests&chart=nodes-up&by=node").json()
    requests, up = answer["charts"]
    assert [line["name"] for line in requests["series"]] == [f"orders-{zone}-1 read" for zone in samples.ZONES]
    assert len(up["series"]) == 3
    line = requests["series"][0]
    assert len(line["values"]) == len(answer["times"])
    assert line["values"][-4] == pytest.approx(20)
    assert (answer["resolution"], answer["step_seconds"]) == ("raw", 15)


def test_a_dashboard_can_be_of_one_node_or_one_zone(api: ApiClient):
    one = api.get(f"{PATH}/metrics?chart=requests&node_id={samples.NODES[1]}").json()
    zone = api.get(f"{PATH}/metrics?chart=requests&zone=local-1a").json()
    whole = api.get(f"{PATH}/metrics?chart=requests").json()
    assert one["charts"][0]["series"][0]["values"][-4] == pytest.approx(20)
    assert zone["charts"][0]["series"][0]["values"][-4] == pytest.approx(20)
    assert whole["charts"][0]["series"][0]["values"][-4] == pytest.approx(60)
    assert api.get(f"{PATH}/metrics?node_id=nod_nothing").json()["error"]["code"] == "node_not_found"


def test_the_dashboard_of_a_table_is_what_the_table_answers(api: ApiClient):
    ends = datetime.now(UTC).strftime("to=%Y-%m-%dT%H:%M:%SZ")
    answers = [
        api.get(f"{PATH}/metrics?dashboard=table&keyspace=shop&table=orders&{ends}"),
        api.get(f"{PATH}/tables/shop/orders/metrics?{ends}"),
    ]
    shown = [answer.json() | {"age_seconds": 0} for answer in answers]
    assert answers[0].status_code == 200
    assert shown[0] == shown[1]
    live = api.get(f"{PATH}/metrics?dashboard=table&keyspace=shop&table=orders&chart=table-operations").json()
    assert [len(live["charts"]), live["charts"][0]["id"]] == [1, "table-operations"]
    assert live["charts"][0]["series"]


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ("dashboard=table", "keyspace"),
        ("dashboard=table&keyspace=shop", "table"),
        ("dashboard=table&keyspace=shop&table=orders&by=zone", "by"),
        ("dashboard=table&keyspace=shop&table=orders&node_id=nod_x", "node_id"),
        ("dashboard=table&keyspace=shop&table=orders&zone=z", "zone"),
        ("dashboard=overview&keyspace=shop", "keyspace"),
        ("table=orders", "table"),
    ],
)
def test_a_table_is_named_for_its_own_dashboard_and_for_no_other(api: ApiClient, wanted: str, field: str):
    answer = api.get(f"{PATH}/metrics?{wanted}")
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


@pytest.mark.parametrize("dashboard", ["overview", "cql", "lwt-cdc", "cpu-io", "os", "errors"])
def test_every_dashboard_is_answered_in_both_resolutions(api: ApiClient, dashboard: str):
    for by in ("cluster", "node"):
        assert api.get(f"{PATH}/metrics?dashboard={dashboard}&by={by}").status_code == 200
    begins = (datetime.now(UTC) - timedelta(days=20)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert api.get(f"{PATH}/metrics?dashboard={dashboard}&from={begins}").json()["resolution"] == "rolled-up"


def test_percentiles_of_a_table_are_those_of_its_nodes_together(api: ApiClient):
    """A third of the reads takes 1 ms, a third up to 10, a third up to 100: p50 is in the middle of the second."""
    answer = api.get(f"{PATH}/tables/shop/orders/metrics?chart=table-read-latency").json()
    lines = {line["name"]: line["values"][-4] for line in answer["charts"][0]["series"]}
    assert lines["p50"] == pytest.approx(0.0055)
    assert lines["p99"] == pytest.approx(0.01 + 0.09 * 0.97)


def test_days_are_read_from_what_was_kept(api: ApiClient):
    begins = (datetime.now(UTC) - timedelta(seconds=samples.KEPT_AGO + 3600)).strftime("%Y-%m-%dT%H:%M:%SZ")
    answer = api.get(f"{PATH}/tables/shop/orders/metrics?chart=table-operations&from={begins}").json()
    assert (answer["resolution"], answer["step_seconds"] % 300) == ("rolled-up", 0)
    assert answer["charts"][0]["series"][0]["values"][1] == pytest.approx(samples.FIRST_READS + 100)


def test_names_of_tables_are_text_and_nothing_else(api: ApiClient, asked: list[str]):
    evil = '"} or ringmaster_table_live_bytes{cluster="' + samples.FOREIGN
    answer = api.get(f"{PATH}/tables/shop/{evil}/metrics?chart=table-size")
    assert answer.json()["charts"][0]["series"] == []
    assert all(f'cluster="{samples.CLUSTER}"' in query for query in asked)


def test_operations_of_the_time_are_told_as_events(api: ApiClient, tenant: Tenant, cluster: Cluster):
    now = datetime.now(UTC)
    for kind, began, ended in (("repair", 30, 20), ("rolling_restart", 10, None), ("upgrade_cluster", 300, 200)):
        Operation.objects.create(
            organisation=tenant.organisation,
            kind=kind,
            cluster_id=cluster.id,
            state=OperationState.RUNNING if ended is None else OperationState.SUCCEEDED,
            expected_seconds=1,
            exclusive=ended is None,
            started_at=now - timedelta(minutes=began),
            finished_at=None if ended is None else now - timedelta(minutes=ended),
        )
    events = api.get(f"{PATH}/metrics?chart=load").json()["events"]
    assert [event["kind"] for event in events] == ["repair", "rolling_restart"]
    assert events[0]["title"] == "Repair"


def test_charts_come_as_csv_too(api: ApiClient):
    answer = api.get(f"{PATH}/metrics?chart=requests&by=zone&format=csv")
    assert answer["Content-Type"].startswith("text/csv")
    rows = list(csv.reader(io.StringIO(answer.content.decode())))
    assert rows[0] == ["time", *(f"Requests of clients: {zone} read (per second)" for zone in samples.ZONES)]
    assert float(rows[-4][1]) == pytest.approx(20)
    by_header = api.get(f"{TABLES}?limit=1", accept="text/csv")
    assert len(by_header.content.decode().splitlines()) == 4


@pytest.mark.parametrize("chart", ["nothing", "table-size"])
def test_an_unknown_chart_names_those_that_there_are(api: ApiClient, chart: str):
    error = api.get(f"{PATH}/metrics?chart={chart}").json()["error"]
    assert (error["code"], "read-latency" in error["hint"]) == ("unknown_chart", True)


def test_the_catalogue_says_what_can_be_asked_for(api: ApiClient):
    catalogue = api.get("/metrics/catalogue").json()
    assert catalogue["dashboards"][0]["id"] == "overview"
    assert {"id": "reads_per_second", "title": "Reads", "unit": "per second", "sparkline": True} in catalogue[
        "table_columns"
    ]


# Whose numbers they are, and when there are none


def test_metrics_of_others_do_not_exist(stranger: Tenant, cluster: Cluster, asked: list[str]):
    foreign = stranger.api()
    for path in (f"{PATH}/metrics", TABLES, f"{PATH}/tables/shop/orders/metrics"):
        answer = foreign.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "cluster_not_found")
    assert asked == []


def test_a_cluster_without_numbers_says_so(tenant: Tenant, asked: list[str]):
    cluster_of(tenant, "clu_01metrics00000000000000000z")
    page = tenant.api().get("/clusters/clu_01metrics00000000000000000z/tables/metrics").json()
    assert (page["items"], page["newest_at"]) == ([], None)
    assert "No numbers came" in page["note"]


def test_a_store_that_is_away_is_told_with_what_to_do(tenant: Tenant, cluster: Cluster, settings: Any):
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": "http://127.0.0.1:1"})
    answer = tenant.api().get(TABLES)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "metrics_unavailable")
    assert answer["Retry-After"] == "15"
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": ""})
    answer = tenant.api().get(TABLES)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "metrics_not_configured")
    assert "RINGMASTER_PROMETHEUS_URL" in answer.json()["error"]["hint"]


# For a Prometheus of the users


def federate(token: str, cluster_id: str = samples.CLUSTER, query: str = "") -> Any:
    client = ApiClient(authorization=f"Bearer {token}")
    return client.get(f"/clusters/{cluster_id}/metrics/federate{query}")


def test_a_prometheus_of_the_users_gets_their_series_in_its_own_format(api: ApiClient):
    answer = api.post(f"{PATH}/metrics/token")
    assert answer.status_code == 201
    found = federate(answer.json()["secret"])
    assert found["Content-Type"].startswith("text/plain; version=0.0.4")
    content = found.content.decode()
    assert subprocess.run(["promtool", "check", "metrics"], input=content, text=True, check=False).returncode == 0
    assert "# TYPE ringmaster_table_read_latency_seconds histogram" in content
    assert samples.FOREIGN not in content
    assert "organisation" not in content
    only_nodes = federate(answer.json()["secret"], query="?scope=node").content.decode()
    assert ("ringmaster_node_engine_up" in only_nodes, "ringmaster_table" in only_nodes) == (True, False)


def test_a_metrics_token_opens_its_own_clusters_numbers_only(api: ApiClient, stranger: Tenant):
    cluster_of(stranger, samples.FOREIGN)
    secret = api.post(f"{PATH}/metrics/token").json()["secret"]
    assert federate(secret, samples.FOREIGN).status_code == 404
    assert ApiClient(authorization=f"Bearer {secret}").get(PATH).status_code == 401
    assert federate(stranger.token()).status_code == 404
    assert stranger.api().post(f"{PATH}/metrics/token").status_code == 404


def test_a_new_token_ends_the_old_one_and_a_revoked_one_is_dead(api: ApiClient, tenant: Tenant):
    first = api.post(f"{PATH}/metrics/token").json()
    second = api.post(f"{PATH}/metrics/token").json()
    assert (federate(first["secret"]).status_code, federate(second["secret"]).status_code) == (401, 200)
    shown = api.get(f"{PATH}/metrics/token").json()
    assert (shown["exists"], shown["hint"]) == (True, second["secret"][-4:])
    assert api.delete(f"{PATH}/metrics/token").status_code == 204
    assert federate(second["secret"]).status_code == 401
    assert api.delete(f"{PATH}/metrics/token").status_code == 404
    actions = AuditRecord.objects.filter(target_id=samples.CLUSTER).values_list("action", flat=True)
    assert sorted(actions) == ["metrics.create_token", "metrics.create_token", "metrics.revoke_token"]
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.post(f"{PATH}/metrics/token").status_code == 403


def test_it_may_be_asked_so_often_and_no_more(api: ApiClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(federation, "_seconds", lambda: 1_000_000_030.0)
    token = tenant.token()
    statuses = [federate(token).status_code for _ in range(federation.PER_MINUTE)]
    assert set(statuses) == {200}
    refused = federate(token)
    assert (refused.status_code, refused["Retry-After"]) == (429, "51")


def test_the_size_of_a_table_is_told_by_node(asked: list[str]):
    found = tables.table_bytes(samples.CLUSTER, "shop", "orders")
    assert found is not None
    assert found.on_disk == dict.fromkeys(samples.NODES, 101_000)
    assert len(asked) == 2
    assert tables.table_bytes(samples.CLUSTER, "shop", "nothing") is None


def test_without_a_store_the_size_of_a_table_is_not_known(settings: Any):
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": "http://127.0.0.1:1"})
    assert tables.table_bytes(samples.CLUSTER, "shop", "orders") is None
