"""What clusters could cost less, over the API: the largest first, with a sum that counts nothing twice."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.accounts.states import Permission, Role
from backend.advisor import reviewing
from backend.advisor.models import AdviceItem, Review
from backend.advisor.queries import due_reviews
from backend.backups.models import BackupLocation
from backend.backups.tests.test_backups_api import finished
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant

NOW = datetime.now(UTC)
WORDS: dict[str, Any] = {
    "finding": "Nobody asked.",
    "evidence": [{"label": "Requests", "value": 0, "unit": "count", "chart": ""}],
    "gain": "",
    "figure": "",
    "cost": "",
    "statement": "",
    "change": None,
    "why_by_hand": "x",
    "formula": "1 + 1",
}


def cluster(tenant: Tenant, name: str, *, deleted: bool = False) -> Cluster:
    return Cluster.objects.create(
        organisation=tenant.organisation,
        name=name,
        engine="cassandra",
        engine_version="5.0.5",
        provider="local",
        ring_name=name,
        admin_username="admin",
        created_by="x",
        deleted_at=NOW - timedelta(days=90) if deleted else None,
    )


def saving(row: Cluster, rule: str, micros: int, **more: Any) -> AdviceItem:
    return AdviceItem.objects.create(
        cluster=row,
        rule=rule,
        severity="hint",
        words=WORDS,
        saving_micros=micros,
        **{"first_seen_at": NOW, "last_seen_at": NOW} | more,
    )


@pytest.fixture
def api(tenant: Tenant) -> ApiClient:
    return tenant.api()


def test_they_come_by_money_page_by_page(api: ApiClient, tenant: Tenant):
    row = cluster(tenant, "orders")
    for number, micros in enumerate((5, 9, 5, 7, 5)):
        saving(row, "cold-table", micros, keyspace="shop", table=f"t{number}")
    saving(row, "tombstones", 0)
    found: list[dict[str, Any]] = []
    cursor = ""
    for expected in (2, 2, 1):
        page = api.get(f"/costs/savings?limit=2{cursor}").json()
        assert (len(page["items"]), page["micros"], page["count"], page["currency"]) == (expected, 31, 5, "USD")
        found += page["items"]
        cursor = f"&cursor={page['next_cursor']}"
    assert page["next_cursor"] is None
    assert [each["micros"] for each in found] == [9, 7, 5, 5, 5]
    assert len({each["id"] for each in found}) == 5
    first = found[0]
    assert first["cluster"] == {"id": row.id, "name": "orders", "deleted": False}
    assert (first["keyspace"], first["table"], first["title"], first["formula"]) == (
        "shop",
        "t1",
        "Cold table",
        "1 + 1",
    )
    assert first["evidence"] == WORDS["evidence"]


def test_what_excludes_another_is_counted_once(api: ApiClient, tenant: Tenant):
    one, other, cold = (cluster(tenant, name) for name in ("one", "other", "cold"))
    saving(one, "under-used", 100, subject="dc1")
    saving(one, "newer-machines", 130, subject="dc1")
    saving(one, "reservation", 40, subject="dc2")
    # A part of what its machines cost.
    saving(one, "cold-table", 60, table="a")
    saving(one, "overdue-backups", 7, subject="Archive")
    saving(one, "overdue-backups", 8, subject="Other")
    saving(other, "idle-cluster", 1000)
    saving(cold, "cold-table", 3, table="a")
    saving(cold, "cold-table", 4, table="b")
    saving(cold, "reservation", 5, subject="dc1")
    assert api.get("/costs/savings").json()["micros"] == 130 + 40 + 7 + 8 + 1000 + 7


def test_what_was_dismissed_or_is_over_is_not_listed(api: ApiClient, tenant: Tenant):
    row = cluster(tenant, "orders")
    saving(row, "idle-cluster", 1, over_at=NOW)
    saving(row, "reservation", 2, dismissed_at=NOW)
    saving(row, "under-used", 4, dismissed_at=NOW, dismissed_until=NOW - timedelta(days=1))
    page = api.get("/costs/savings").json()
    assert ([each["micros"] for each in page["items"]], page["micros"], page["count"]) == ([4], 4, 1)


def test_of_deleted_clusters_only_their_backups_cost(api: ApiClient, tenant: Tenant):
    gone = cluster(tenant, "gone", deleted=True)
    saving(gone, "idle-cluster", 100)
    saving(gone, "overdue-backups", 9, subject="Archive")
    page = api.get("/costs/savings").json()
    assert [(each["micros"], each["cluster"]["deleted"]) for each in page["items"]] == [(9, True)]


def test_nobody_sees_what_others_could_save(api: ApiClient, tenant: Tenant, stranger: Tenant):
    saving(cluster(tenant, "orders"), "idle-cluster", 100)
    assert stranger.api().get("/costs/savings").json() == {
        "currency": "USD",
        "micros": 0,
        "count": 0,
        "items": [],
        "next_cursor": None,
    }


def test_it_needs_permission_to_read_clusters(api: ApiClient, tenant: Tenant):
    assert tenant.api(tenant.member(Role.VIEWER)).get("/costs/savings").status_code == 200
    assert tenant.api(scopes=[Permission.PRICES_WRITE]).get("/costs/savings").status_code == 403
    assert ApiClient().get("/costs/savings").status_code == 401


@pytest.mark.parametrize("asked", ["limit=0", "limit=201", "cursor=x", "cursor=WzEsMl0", "cursor=WyJhIiwiYiJd"])
def test_bad_pages_are_refused(api: ApiClient, asked: str):
    answer = api.get(f"/costs/savings?{asked}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_field")


def test_backups_of_a_deleted_cluster_are_looked_at_until_they_are_gone(api: ApiClient, tenant: Tenant, settings: Any):
    """Without any metrics: there are none of a cluster that is gone."""
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": ""})
    gone = cluster(tenant, "gone", deleted=True)
    never = cluster(tenant, "never", deleted=True)
    place = BackupLocation.objects.create(
        organisation=None, name="This installation", kind="folder", folder="/nowhere", created_by="test"
    )
    backup = finished(gone, place, taken_at=NOW - timedelta(days=100))
    old = saving(gone, "idle-cluster", 100)
    assert reviewing.make_missing_reviews() == 1
    assert [each.cluster_id for each in due_reviews(9)] == [gone.id]
    reviewing.review_or_tell(gone.id)
    review = Review.objects.get()
    assert (review.problem, review.due_at > NOW + timedelta(hours=5)) == ("", True)
    # It went with the cluster; and the backup holds no bytes, so it costs nothing.
    assert AdviceItem.objects.get(id=old.id).over_at is not None
    assert not AdviceItem.objects.filter(over_at=None).exists()
    Review.objects.update(due_at=NOW)
    assert len(due_reviews(9)) == 1
    backup.delete()
    assert due_reviews(9) == []
    assert never.id not in Review.objects.values_list("cluster_id", flat=True)
