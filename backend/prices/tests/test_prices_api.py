from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant
from backend.prices import actions
from backend.prices.models import Price
from backend.prices.published import Published, record, record_failure
from backend.prices.queries import coming_hour, price_book
from backend.prices.states import Item, Term

ORDER: dict[str, Any] = {
    "provider": "aws",
    "region": "eu-west-1",
    "item": "machine",
    "name": "i3.metal",
    "micros": 5_500_000,
    "source": "our contract",
    "source_date": "2026-11-01",
}


@pytest.fixture
def admin(tenant: Tenant) -> ApiClient:
    actions.load()
    tenant.owner.platform_admin = True
    tenant.owner.save()
    return tenant.api()


def refused(answer: Any) -> tuple[int, str, str | None]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error.get("field")


def test_loading_twice_adds_nothing_and_a_new_figure_begins_with_the_coming_hour(db, monkeypatch):
    assert actions.load() > 120
    assert actions.load() == 0
    at = datetime(2026, 8, 1, tzinfo=UTC)
    found = price_book("aws").find("aws", "us-east-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=at)
    assert found is not None
    assert (found.micros, found.listed.source_date and str(found.listed.source_date)) == (4_992_000, "2026-07-06")

    files = actions._from_files()
    for row in files:
        row.micros = (row.micros or 0) + (row.name == "i3.metal" and row.term == "on_demand")
    monkeypatch.setattr(actions, "_from_files", lambda: [Price(**_columns(row)) for row in files])
    assert [actions.load(), actions.load()] == [1, 0]
    book = price_book("aws")
    assert book.find("aws", "us-east-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=at).micros == 4_992_000  # type: ignore[union-attr]
    later = book.find("aws", "us-east-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=coming_hour())
    assert later is not None
    assert later.micros == 4_992_001


def _columns(row: Price) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in Price._meta.concrete_fields if field.name != "id"}


def test_every_list_price_says_where_it_is_from_or_that_it_is_assumed(db):
    actions.load()
    assert all(row.source for row in Price.objects.all())
    assert all(row.assumption or row.source_date for row in Price.objects.all())
    assert all(row.assumption for row in Price.objects.filter(provider="local"))


def test_an_uploaded_price_counts_from_the_coming_hour(admin: ApiClient, stranger: Tenant) -> None:
    answer = admin.post("/prices", {"prices": [ORDER]})
    assert answer.status_code == 201, answer.content
    (price,) = answer.json()["items"]
    assert (price["origin"], price["term"], price["micros"]) == ("operator", "on_demand", 5_500_000)
    assert datetime.fromisoformat(price["valid_from"]) == coming_hour()
    record = AuditRecord.objects.get(action="price.upload")
    assert record.target_name == "aws eu-west-1 machine i3.metal on_demand"
    shown = stranger.api().get("/prices?provider=aws&origin=operator").json()["items"]
    assert [each["id"] for each in shown] == [price["id"]]
    assert shown[0]["allowed_actions"][0]["allowed"] is False


def test_an_upload_is_all_or_nothing_and_never_about_the_past(admin: ApiClient) -> None:
    before = Price.objects.count()
    for change, expected in (
        ({"valid_from": "2026-01-01T00:00:00Z"}, (422, "price_begin", "prices.1.valid_from")),
        ({"valid_from": "2090-01-01T00:30:00Z"}, (422, "price_begin", "prices.1.valid_from")),
        ({"valid_from": "2090-01-01T00:00:00"}, (422, "invalid_field", "prices.1.valid_from")),
        ({"valid_from": "0001-01-01T00:00:00+14:00"}, (422, "invalid_field", "prices.1.valid_from")),
        ({"micros": -1}, (422, "invalid_field", "prices.1.micros")),
        ({"micros": 1.5}, (422, "invalid_field", "prices.1.micros")),
        ({"micros": 10**18}, (422, "invalid_field", "prices.1.micros")),
        ({"item": "gold"}, (422, "invalid_field", "prices.1.item")),
        ({"item": "traffic_out"}, (422, "invalid_field", "prices.1")),
        ({"name": ""}, (422, "invalid_field", "prices.1")),
        ({"item": "block_storage", "term": "spot"}, (422, "invalid_field", "prices.1")),
        ({}, (409, "price_known", None)),
    ):
        body = {"prices": [ORDER, ORDER | change]}
        assert refused(admin.post("/prices", body)) == expected
        assert Price.objects.count() == before
    assert refused(admin.post("/prices", {"prices": []}))[0] == 422


def test_only_people_who_run_the_installation_change_prices(admin: ApiClient, tenant: Tenant, stranger: Tenant) -> None:
    (price,) = admin.post("/prices", {"prices": [ORDER]}).json()["items"]
    scoped = tenant.api(scopes=[Permission.CLUSTERS_READ])
    for api in (stranger.api(), tenant.api(tenant.member(Role.ADMIN)), scoped):
        assert api.post("/prices", {"prices": [ORDER]}).status_code == 403
        assert api.delete(f"/prices/{price['id']}").status_code == 403
    assert tenant.api(scopes=[Permission.PRICES_WRITE]).delete(f"/prices/{price['id']}").status_code == 204
    assert ApiClient().get("/prices").status_code == 401


def test_a_price_that_has_not_begun_is_removed(admin: ApiClient) -> None:
    (price,) = admin.post("/prices", {"prices": [ORDER]}).json()["items"]
    assert admin.delete(f"/prices/{price['id']}").status_code == 204
    assert not Price.objects.filter(origin="operator").exists()
    assert refused(admin.delete(f"/prices/{price['id']}")) == (404, "price_not_found", None)
    assert AuditRecord.objects.get(action="price.take_back").before["micros"] == 5_500_000  # type: ignore[index]


def test_a_price_in_force_ends_at_the_coming_hour(admin: ApiClient) -> None:
    begun = Price.objects.create(
        provider="aws",
        item="machine",
        name="i3.metal",
        term="on_demand",
        origin="operator",
        micros=7,
        valid_from=coming_hour() - timedelta(hours=2),
    )

    def at(moment: datetime) -> int:
        found = price_book("aws").find("aws", "us-east-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=moment)
        assert found is not None
        return found.micros

    assert admin.delete(f"/prices/{begun.id}").status_code == 204
    assert at(coming_hour() - timedelta(seconds=1)) == 7
    assert at(coming_hour()) == 4_992_000
    assert refused(admin.delete(f"/prices/{begun.id}")) == (409, "price_not_yours", None)
    listed = Price.objects.filter(origin="list").values_list("id", flat=True)[0]
    assert refused(admin.delete(f"/prices/{listed}")) == (409, "price_not_yours", None)


def test_the_database_keeps_what_is_past(db):
    actions.load()
    row = Price.objects.all()[0]
    for change in (
        lambda: Price.objects.filter(id=row.id).update(micros=1),
        lambda: Price.objects.filter(id=row.id).delete(),
    ):
        with pytest.raises(DatabaseError, match="never"), transaction.atomic():
            change()


def test_prices_are_listed_page_by_page(admin: ApiClient) -> None:
    seen: list[str] = []
    path = "/prices?limit=50&provider=aws&item=machine"
    answer = admin.get(path).json()
    while True:
        seen += [each["id"] for each in answer["items"]]
        if answer["next_cursor"] is None:
            break
        answer = admin.get(f"{path}&cursor={answer['next_cursor']}").json()
    assert len(seen) == len(set(seen)) == Price.objects.filter(provider="aws", item="machine").count()
    assert seen == sorted(seen, reverse=True)


@pytest.mark.django_db(transaction=True)
def test_a_test_that_commits_prices_can_be_cleaned_up_after():
    assert actions.load() > 0


@pytest.mark.django_db(transaction=True)
def test_nothing_is_left_of_the_test_before():
    assert not Price.objects.exists()


def test_a_price_that_was_published_goes_before_what_came_with_the_product_and_after_the_operators(
    admin: ApiClient,
) -> None:
    metal = Published(item=Item.MACHINE, name="i3.metal", term=Term.ON_DEMAND, micros=5_100_000)
    assert record("aws", "us-east-1", [metal], source="AWS Price List Query API") == 1
    assert _metal() == 5_100_000
    assert admin.post("/prices", {"prices": [ORDER | {"region": "us-east-1"}]}).status_code == 201
    assert _metal() == 5_500_000
    assert actions.load() == 0


def _metal() -> int | None:
    found = price_book("aws").find("aws", "us-east-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=coming_hour())
    return found and found.micros


def test_everybody_sees_when_price_lists_were_read(admin: ApiClient, stranger: Tenant) -> None:
    assert admin.get("/price-lists").json() == {"items": [], "next_cursor": None}
    for region in ("us-east-1", "eu-west-1"):
        record("aws", region, [Published(item=Item.BLOCK_STORAGE, name="gp3", micros=80_000)], source="AWS")
    record_failure("aws", "eu-west-1", "It lacks pricing:GetProducts.", hint="Allow it.")
    first = stranger.api().get("/price-lists?limit=1").json()
    (newest,) = first["items"]
    assert (newest["region"], newest["prices"]) == ("eu-west-1", 1)
    assert newest["error"] == {"message": "It lacks pricing:GetProducts.", "hint": "Allow it."}
    (other,) = stranger.api().get(f"/price-lists?cursor={first['next_cursor']}").json()["items"]
    assert (other["region"], other["error"], other["doubtful"]) == ("us-east-1", None, [])
    assert ApiClient().get("/price-lists").status_code == 401
