"""What the API tells of costs: groups sum to the total, and nobody sees another's."""

import csv
import io
import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.costs import queries
from backend.costs.exports import FOCUS
from backend.costs.models import CostDay, CostLine, UsageRecord
from backend.costs.recording import add_to_days
from backend.costs.sharing import Parts, parts_of
from backend.costs.tables import Shares, add_to_tables, shared_tables, tables_of

TODAY = date(2026, 11, 20)


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "today", lambda: TODAY)


def cluster(tenant: Tenant, name: str, *, engine: str = "cassandra", deleted: bool = False, **tags: str) -> Cluster:
    return Cluster.objects.create(
        organisation=tenant.organisation,
        name=name,
        engine=engine,
        engine_version="5.0.5",
        provider="local",
        ring_name=name,
        admin_username="admin",
        options={"tags": tags},
        created_by="x",
        deleted_at=datetime(2026, 11, 2, tzinfo=UTC) if deleted else None,
    )


def spend(
    row: Cluster | str, day: date, *, organisation_id: str, orders: int = 0, items: int = 0, shared: int = 7
) -> None:
    """One machine line; its parts given to two tables and to what is shared."""
    cluster_id = row if isinstance(row, str) else row.id
    whole = parts_of(machines=orders + items + shared)
    CostLine.objects.create(
        organisation_id=organisation_id,
        cluster_id=cluster_id,
        day=day,
        item="machine",
        provider="local",
        region="local-1",
        name="local.small",
        price=20_000,
        quantity=whole.total * 3600 // 20_000,
        micros=whole.total,
        sequence=CostLine.objects.filter(cluster_id=cluster_id, day=day).count(),
    )
    add_to_days({(organisation_id, cluster_id, day): (whole, 0)})
    tables = tables_of(organisation_id, cluster_id, [("shop", "orders"), ("music", "items")])
    rest = shared_tables({(organisation_id, cluster_id)})[organisation_id, cluster_id]
    given = {
        tables["shop", "orders"]: Shares(parts_of(machines=orders), reads=3 * orders, writes=orders),
        tables["music", "items"]: Shares(parts_of(machines=items), reads=items),
    }
    left = whole - sum((each.parts for each in given.values()), Parts())
    add_to_tables({(table, organisation_id, day): each for table, each in {**given, rest: Shares(left)}.items()})


@pytest.fixture
def spent(tenant: Tenant, stranger: Tenant) -> dict[str, Cluster]:
    rows = {
        "orders": cluster(tenant, "orders", team="shop", env="live"),
        "search": cluster(tenant, "search", engine="scylla", team="find"),
        "old": cluster(tenant, "old", deleted=True, team="shop"),
    }
    for number in (*range(20), 30, 45, 51):
        day = TODAY - timedelta(days=number)
        spend(rows["orders"], day, organisation_id=tenant.organisation.id, orders=1_001, items=333 + number)
        spend(rows["search"], day, organisation_id=tenant.organisation.id, orders=50, items=10, shared=1_000)
    spend(rows["old"], date(2026, 11, 1), organisation_id=tenant.organisation.id, orders=9_999)
    spend("", date(2026, 11, 1), organisation_id=tenant.organisation.id)
    foreign = cluster(stranger, "theirs", team="shop")
    spend(foreign, TODAY, organisation_id=stranger.organisation.id, orders=10**9)
    return rows | {"theirs": foreign}


@pytest.fixture
def api(tenant: Tenant) -> ApiClient:
    return tenant.api()


def pages(api: ApiClient, path: str, limit: int = 2) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = api.get(f"{path}&limit={limit}{cursor}")
        assert answer.status_code == 200, answer.content
        body = answer.json()
        items += body["items"]
        if body["next_cursor"] is None:
            return body, items
        cursor = f"&cursor={body['next_cursor']}"


def file(answer: Any) -> str:
    """As a server would send it on, piece by piece."""

    async def all_of_it() -> bytes:
        return b"".join([piece async for piece in answer])

    return async_to_sync(all_of_it)().decode()


def whole(items: Iterable[dict[str, Any]]) -> tuple[int, dict[str, int]]:
    rows = list(items)
    parts = {name: sum(row["parts"][name] for row in rows) for name in rows[0]["parts"]}
    return sum(row["micros"] for row in rows), parts


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("group", ["cluster", "table", "engine", "tag", "day", "month"])
@pytest.mark.parametrize("more", ["", "&tag=team=shop", "&keyspace=shop", "&from=2026-10-01&to=2026-11-01"])
def test_groups_sum_to_the_total_over_all_pages(api: ApiClient, group: str, more: str) -> None:
    of_days = "&from=2026-09-30" if group == "day" and not more.endswith("11-01") else ""
    body, items = pages(api, f"/costs?group={group}&tag_key=team{more}{of_days}", limit=3)
    assert body["groups"] == len(items) > 0
    assert len({item["key"] for item in items}) == len(items)
    assert whole(items) == (body["total"]["micros"], body["total"]["parts"])
    assert body["total"]["micros"] == sum(body["total"]["parts"].values())
    if group not in ("day", "month"):
        assert [item["micros"] for item in items] == sorted((item["micros"] for item in items), reverse=True)


def test_one_table_is_told_alone(api: ApiClient, stranger: Tenant, spent: dict[str, Cluster]) -> None:
    cluster_id = spent["orders"].id
    every = api.get(f"/costs?group=table&cluster_id={cluster_id}").json()["items"]
    expected = [item for item in every if (item["table"]["keyspace"], item["table"]["name"]) == ("shop", "orders")]
    asked = f"/costs?group=table&keyspace=shop&table=orders&cluster_id={cluster_id}"
    body = api.get(asked).json()
    assert body["items"] == expected
    assert len(every) > len(expected) == 1
    assert body["total"]["micros"] == expected[0]["micros"] > 0
    assert api.get("/costs?group=table&keyspace=shop&table=items").json()["items"] == []
    assert stranger.api().get(asked).status_code == 404
    answer = api.get("/costs?group=table&table=orders")
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "keyspace")


def test_groups_are_named(api: ApiClient, spent: dict[str, Cluster]) -> None:
    _, items = pages(api, "/costs?group=cluster")
    assert {item["cluster"] and (item["cluster"]["name"], item["cluster"]["deleted"]) for item in items} == {
        ("orders", False),
        ("search", False),
        ("old", True),
        None,
    }
    _, items = pages(api, "/costs?group=tag&tag_key=team")
    assert {item["key"] for item in items} == {"shop", "find", ""}
    _, items = pages(api, "/costs?group=engine")
    assert {item["key"] for item in items} == {"cassandra", "scylla", ""}
    _, items = pages(api, f"/costs?group=table&cluster_id={spent['orders'].id}")
    assert [(item["table"]["name"], item["table"]["shared"]) for item in items] == [
        ("orders", False),
        ("items", False),
        ("", True),
    ]
    orders = items[0]
    assert (orders["micros"], orders["reads"], orders["writes"]) == (20 * 1_001, 60 * 1_001, 20 * 1_001)
    # 0.7 of 20,020 by 80,080 requests: 14,014 (701 each day for 700.7) ÷ 0.08008.
    assert orders["per_million_requests"] == round(20 * 701 * 10**6 / 80_080)


def test_days_of_tables_are_known_for_two_months(api: ApiClient, spent: dict[str, Cluster]) -> None:
    assert api.get("/costs?group=table&from=2026-11-03&to=2026-11-05").json()["total"]["micros"] > 0
    for query in ("group=table&from=2026-08-15&to=2026-11-05", "group=day&keyspace=shop&from=2026-08-01"):
        answer = api.get(f"/costs?{query}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_range")
    assert api.get("/costs?group=table&from=2026-09-01&to=2026-11-01").status_code == 200
    assert api.get("/costs?group=day&from=2026-08-15").status_code == 200


def test_nobody_sees_what_others_spend(api: ApiClient, stranger: Tenant, spent: dict[str, Cluster]) -> None:
    theirs = spent["theirs"].id
    for path in ("/costs?", "/costs/forecast?", "/costs/changes?", "/costs/export?"):
        assert api.get(f"{path}cluster_id={theirs}").status_code == 404
    assert api.get("/costs?group=table&tag=team=shop").json()["total"]["micros"] < 10**6
    export = file(api.get("/costs/export?format=json"))
    assert theirs not in export
    body = stranger.api().get("/costs?group=table").json()
    assert body["total"]["micros"] == 10**9 + 7
    assert {item["cluster"]["id"] for item in body["items"]} == {theirs}


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("group=nothing", "group"),
        ("group=tag", "tag_key"),
        ("from=2026-11-05&to=2026-11-05", "from"),
        ("from=2010-01-01", "from"),
        ("from=yesterday", "from"),
        ("from=1764547200", "from"),
        ("cursor=xyz", "cursor"),
        ("cursor=WzEsICJ4Il0=&group=table", "cursor"),
        ("cursor=W3RydWUsIngiXQ", "cursor"),
        ("tag=team", "tag"),
        ("limit=0", "limit"),
    ],
)
def test_bad_questions_are_answered_with_what_is_wrong(api: ApiClient, query: str, field: str) -> None:
    answer = api.get(f"/costs?{query}")
    assert answer.status_code == 422, answer.content
    assert field in str(answer.json()["error"]["field"])


def test_who_may_not_read_clusters_reads_no_costs(tenant: Tenant) -> None:
    api = tenant.api(scopes=[])
    for path in ("/costs", "/costs/forecast", "/costs/changes", "/costs/invoices/2026-11", "/costs/export", "/usage"):
        assert api.get(path).status_code == 403


@pytest.mark.usefixtures("spent")
def test_an_invoice_is_the_sum_of_its_lines(api: ApiClient) -> None:
    body, items = pages(api, "/costs/invoices/2026-11?")
    assert body["micros"] == sum(item["micros"] for item in items)
    assert body["micros"] == api.get("/costs?from=2026-11-01&to=2026-12-01").json()["total"]["micros"]
    assert body["lines"] == len(items) == 4
    assert items[-1]["unit"] == "hours"
    assert api.get("/costs/invoices/2026-13").status_code == 422
    assert api.get("/costs/invoices/2026-11?cursor=2").status_code == 422


def test_a_line_that_is_written_between_two_pages_of_an_invoice_moves_none(
    api: ApiClient, tenant: Tenant, spent: dict[str, Cluster]
) -> None:
    everything = [item["name"] + str(item["cluster"]) for item in api.get("/costs/invoices/2026-11").json()["items"]]
    first = api.get("/costs/invoices/2026-11?limit=2").json()
    spend("", date(2026, 11, 3), organisation_id=tenant.organisation.id)
    CostLine.objects.filter(cluster_id="", day=date(2026, 11, 3)).update(price=None)
    rest = api.get(f"/costs/invoices/2026-11?cursor={first['next_cursor']}").json()
    assert rest["lines"] == first["lines"] + 1
    assert [item["name"] + str(item["cluster"]) for item in first["items"] + rest["items"]] == everything


@pytest.mark.usefixtures("spent")
def test_exports_hold_every_line(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.costs.exports._PIECE", 7)
    total = api.get("/costs?from=2026-09-01&to=2026-11-21").json()["total"]["micros"]

    def export(wanted: str) -> str:
        answer = api.get(f"/costs/export?from=2026-09-01&to=2026-11-21&format={wanted}")
        assert answer.status_code == 200
        return file(answer)

    rows = list(csv.DictReader(io.StringIO(export("csv"))))
    assert sum(int(row["micros"]) for row in rows) == total
    lines = json.loads(export("json"))["lines"]
    assert [line["micros"] for line in lines] == [int(row["micros"]) for row in rows]
    assert lines[0]["tags"] in ({"team": "shop", "env": "live"}, {"team": "find"})
    focus = list(csv.DictReader(io.StringIO(export("focus"))))
    assert list(focus[0]) == list(FOCUS)
    assert sum(round(float(row["BilledCost"]) * 10**6) for row in focus) == total
    assert {row["BillingCurrency"] for row in focus} == {"USD"}
    assert focus[0]["BillingPeriodEnd"] == "2026-10-01T00:00:00Z"
    assert json.loads(export("json"))["currency"] == "USD"


def test_an_export_of_nothing_is_a_file(api: ApiClient) -> None:
    assert json.loads(file(api.get("/costs/export?format=json"))) == {"currency": "USD", "lines": []}


def test_what_looks_like_a_formula_is_none(tenant: Tenant, api: ApiClient) -> None:
    row = cluster(tenant, "x", note="=1+1")
    Cluster.objects.filter(id=row.id).update(name="=SUM(A1)")
    spend(row, TODAY, organisation_id=tenant.organisation.id)
    (line,) = csv.DictReader(io.StringIO(file(api.get("/costs/export"))))
    assert line["cluster"] == "'=SUM(A1)"


def test_usage_records_are_listed_in_order(tenant: Tenant, stranger: Tenant, api: ApiClient) -> None:
    begin = datetime(2026, 11, 3, tzinfo=UTC)
    for owner in (tenant, stranger):
        for number in range(7):
            UsageRecord.objects.create(
                organisation=owner.organisation,
                cluster_id="clu_01m00000000000000000000000",
                fact=f"machine/{owner.organisation.id}/{number}",
                item="machine",
                provider="local",
                hour=begin - timedelta(hours=number % 3),
                unit_seconds=3600,
                sequence=0,
            )
    _, items = pages(api, "/usage?from=2026-11-01&to=2026-11-05")
    assert len({item["id"] for item in items}) == len(items) == 7
    assert [item["hour"] for item in items] == sorted(item["hour"] for item in items)
    foreign = UsageRecord.objects.filter(organisation=stranger.organisation).values_list("id", flat=True)[0]
    assert api.get(f"/usage?cursor={foreign}").status_code == 422


def test_usage_of_a_cluster_that_is_unknown_or_another_tenants_is_not_found(
    stranger: Tenant, api: ApiClient, spent: dict[str, Cluster]
) -> None:
    own = next(iter(spent.values())).id
    assert api.get(f"/usage?cluster_id={own}").status_code == 200
    for client, cluster_id in ((api, "clu_01m00000000000000000000000"), (stranger.api(), own)):
        answer = client.get(f"/usage?cluster_id={cluster_id}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "cluster_not_found")


def test_an_organisation_that_spent_nothing_has_a_report(api: ApiClient) -> None:
    for group in ("cluster", "table", "day"):
        body = api.get(f"/costs?group={group}").json()
        assert (body["items"], body["groups"], body["total"]["micros"]) == ([], 0, 0)
    assert CostDay.objects.count() == 0
    assert api.get("/costs/forecast").json()["forecast"] == 0
    assert api.get("/costs/changes").json()["items"] == []
    assert api.get("/costs/invoices/2026-01").json()["items"] == []
