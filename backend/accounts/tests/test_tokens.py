from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from backend.accounts.models import ApiToken
from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant

ORDER = {"name": "ci", "scopes": ["clusters:read", "members:read"], "expires_in_days": 30}


def test_it_makes_a_token_whose_secret_is_shown_once(tenant: Tenant):
    answer = tenant.api().post("/tokens", ORDER)
    assert answer.status_code == 201
    token, secret = answer.json()["token"], answer.json()["secret"]
    assert secret.startswith("rmt_")
    assert secret.endswith(token["hint"])
    assert token["state"] == "active"
    expires = datetime.fromisoformat(token["expires_at"])
    assert timedelta(days=29) < expires - timezone.now() <= timedelta(days=30)
    assert ApiClient(authorization=f"Bearer {secret}").get("/members").status_code == 200
    stored = str(list(ApiToken.objects.values())) + str(list(AuditRecord.objects.values()))
    assert secret not in stored


def test_it_cannot_hold_what_its_maker_does_not_have(tenant: Tenant):
    operator = tenant.member(Role.OPERATOR)
    answer = tenant.api(operator).post("/tokens", ORDER | {"scopes": ["audit:read", "clusters:read"]})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "scope_above_own"
    assert "audit:read" in answer.json()["error"]["message"]


def test_a_token_cannot_make_a_stronger_token(tenant: Tenant):
    api = tenant.api(scopes=[Permission.TOKENS_WRITE])
    assert api.post("/tokens", ORDER).json()["error"]["code"] == "scope_above_own"


def test_a_viewer_may_not_make_tokens(tenant: Tenant):
    assert tenant.api(tenant.member(Role.VIEWER)).post("/tokens", ORDER).status_code == 403


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": 7}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes.0"),
        ({"expires_in_days": 0}, "expires_in_days"),
        ({"expires_in_days": "3"}, "expires_in_days"),
        ({"expires_in_days": 10**30}, "expires_in_days"),
        ({"admin": True}, "admin"),
    ],
)
def test_it_names_the_field_that_is_wrong(tenant: Tenant, change: dict, field: str):
    answer = tenant.api().post("/tokens", ORDER | change)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("invalid_field", field)
    assert error["fields"][0]["message"]


def test_everybody_sees_their_own_tokens_and_admins_see_all(tenant: Tenant):
    operator, admin = tenant.member(Role.OPERATOR), tenant.member(Role.ADMIN)
    tenant.token()
    mine = tenant.api(operator).get("/tokens").json()["items"]
    assert {item["user_email"] for item in mine} == {operator.email}
    everybodys = tenant.api(admin).get("/tokens").json()["items"]
    assert {item["user_email"] for item in everybodys} == {operator.email, admin.email, tenant.owner.email}
    by_user = {item["user_email"]: item["allowed_actions"][0] for item in everybodys}
    assert by_user[operator.email]["allowed"] is True
    assert by_user[tenant.owner.email]["reason"] == "Only owners may revoke the tokens of owners."


def test_it_revokes_a_token_once_and_for_all(tenant: Tenant):
    made = tenant.api().post("/tokens", ORDER).json()
    api = tenant.api()
    assert api.delete(f"/tokens/{made['token']['id']}").status_code == 204
    assert api.delete(f"/tokens/{made['token']['id']}").status_code == 204
    assert ApiClient(authorization=f"Bearer {made['secret']}").get("/members").status_code == 401
    assert AuditRecord.objects.filter(action="token.revoke").count() == 1


def test_it_does_not_know_the_tokens_of_others(tenant: Tenant, stranger: Tenant):
    tenant.token()
    token = ApiToken.objects.get()
    assert stranger.api().delete(f"/tokens/{token.id}").status_code == 404
    assert tenant.api(tenant.member(Role.OPERATOR)).delete(f"/tokens/{token.id}").status_code == 404


def test_an_admin_may_not_revoke_an_owners_token(tenant: Tenant):
    tenant.token()
    token = ApiToken.objects.get()
    assert tenant.api(tenant.member(Role.ADMIN)).delete(f"/tokens/{token.id}").status_code == 403


def test_a_page_costs_one_query(tenant: Tenant, django_assert_num_queries):
    api = tenant.api()
    api.get("/tokens")
    for _ in range(5):
        tenant.token()
    with django_assert_num_queries(2):
        assert len(api.get("/tokens").json()["items"]) == 6
