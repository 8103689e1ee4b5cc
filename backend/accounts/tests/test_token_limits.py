"""Where API tokens may be used from, and how long they live."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from backend.accounts.models import ApiToken
from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant

TOKEN = {"name": "ci", "scopes": ["clusters:read", "members:read"]}


def program(tenant: Tenant, *ranges: str, address: str) -> ApiClient:
    answer = tenant.api().post("/tokens", TOKEN | {"source_ranges": list(ranges)})
    assert answer.json()["token"]["source_ranges"] == list(ranges)
    client = Client(enforce_csrf_checks=True, raise_request_exception=False, REMOTE_ADDR=address)
    return ApiClient(client=client, authorization=f"Bearer {answer.json()['secret']}")


@pytest.mark.parametrize(
    ("ranges", "address", "status"),
    [
        ([], "198.51.100.7", 200),
        (["203.0.113.0/24"], "203.0.113.200", 200),
        (["203.0.113.0/24"], "203.0.114.1", 401),
        (["203.0.113.0/24", "2001:db8::/32"], "2001:db8:1::1", 200),
        (["203.0.113.0/24"], "2001:db8::1", 401),
        (["203.0.113.0/24"], "::ffff:203.0.113.9", 200),
        (["203.0.113.7/32"], "", 401),
    ],
)
def test_a_token_works_from_its_ranges_only(tenant: Tenant, ranges: list[str], address: str, status: int):
    answer = program(tenant, *ranges, address=address).get("/members")
    assert answer.status_code == status


def test_a_refusal_says_the_address_seen_and_is_written_down_once(tenant: Tenant):
    theirs = program(tenant, "203.0.113.0/24", address="198.51.100.7")
    for _ in range(3):
        error = theirs.get("/members").json()["error"]
        assert error["code"] == "source_address_refused"
        assert "198.51.100.7" in error["message"]
    record = AuditRecord.objects.get(action="token.refuse")
    assert (record.source_address, record.after["source_ranges"]) == ("198.51.100.7", ["203.0.113.0/24"])
    assert ApiToken.objects.get(name="ci").last_used_at is None


def test_a_range_costs_no_query(tenant: Tenant, django_assert_num_queries: Any):
    theirs = program(tenant, "203.0.113.0/24", address="203.0.113.1")
    theirs.get("/members")
    with django_assert_num_queries(2):
        assert theirs.get("/members").status_code == 200


@pytest.mark.parametrize("bad", ["203.0.113.1/24", "nowhere", "", "203.0.113.0/33"])
def test_a_bad_range_is_refused(tenant: Tenant, bad: str):
    answer = tenant.api().post("/tokens", TOKEN | {"source_ranges": [bad]})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "source_ranges.0")


def days_left(token: dict[str, Any]) -> int | None:
    if token["expires_at"] is None:
        return None
    return round((datetime.fromisoformat(token["expires_at"]) - timezone.now()) / timedelta(days=1))


def test_the_organisation_says_how_long_tokens_live(tenant: Tenant):
    api = tenant.api()
    assert days_left(api.post("/tokens", TOKEN).json()["token"]) is None
    settings = {"token_days_default": 30, "token_days_max": 90}
    assert api.patch("/organisation/access-settings", settings).json() == settings | {
        "deletes_need_two": False,
        "password_sign_in": True,
        "second_factor_required": False,
    }
    assert days_left(api.post("/tokens", TOKEN).json()["token"]) == 30
    assert days_left(api.post("/tokens", TOKEN | {"expires_in_days": 90}).json()["token"]) == 90
    for days in (91, None):
        refused = api.post("/tokens", TOKEN | {"expires_in_days": days})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "token_lives_too_long")
    api.patch("/organisation/access-settings", {"token_days_default": None})
    assert days_left(api.post("/tokens", TOKEN).json()["token"]) == 90
    record = AuditRecord.objects.get(action="organisation.change_access", after={"token_days_default": None})
    assert record.before == {"token_days_default": 30}


def test_settings_that_contradict_each_other_are_refused(tenant: Tenant):
    api = tenant.api()
    bad = api.patch("/organisation/access-settings", {"token_days_default": 30, "token_days_max": 7})
    assert (bad.status_code, bad.json()["error"]["code"]) == (422, "default_above_maximum")
    assert api.get("/organisation/access-settings").json()["token_days_max"] is None


def test_members_read_the_settings_and_only_who_may_change_members_changes_them(tenant: Tenant, stranger: Tenant):
    stranger.api().patch("/organisation/access-settings", {"token_days_max": 7})
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.get("/organisation/access-settings").json()["token_days_max"] is None
    assert viewer.patch("/organisation/access-settings", {"token_days_max": 7}).status_code == 403
