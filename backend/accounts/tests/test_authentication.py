from datetime import timedelta

import pytest
from django.utils import timezone

from backend.accounts.models import ApiToken
from backend.accounts.states import Permission, Role
from backend.conftest import ApiClient, Tenant


def bearer(secret: str) -> ApiClient:
    return ApiClient(authorization=f"Bearer {secret}")


def test_it_asks_who_you_are(db):
    answer = ApiClient().get("/organisation")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "authentication_required"
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("secret", ["rmt_wrong", "wrong", "", "rmt_" + "ä" * 10])
def test_it_refuses_a_wrong_token(db, secret: str):
    answer = bearer(secret).get("/organisation")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_token"


def test_it_refuses_an_expired_token(tenant: Tenant):
    answer = bearer(tenant.token(expires_at=timezone.now())).get("/organisation")
    assert answer.json()["error"]["code"] == "token_expired"


def test_it_refuses_a_revoked_token(tenant: Tenant):
    answer = bearer(tenant.token(revoked_at=timezone.now())).get("/organisation")
    assert answer.json()["error"]["code"] == "token_revoked"


def test_a_removed_members_token_is_dead_at_once(tenant: Tenant):
    user = tenant.member(Role.ADMIN)
    api = tenant.api(user)
    assert api.get("/organisation").status_code == 200
    tenant.membership(user).delete()
    assert api.get("/organisation").status_code == 401


def test_a_disabled_users_token_is_dead_at_once(tenant: Tenant):
    user = tenant.member(Role.ADMIN)
    api = tenant.api(user)
    user.is_active = False
    user.save()
    assert api.get("/organisation").status_code == 401


def test_a_tokens_authority_shrinks_with_its_users_role(tenant: Tenant):
    user = tenant.member(Role.ADMIN)
    api = tenant.api(user)
    assert api.get("/audit").status_code == 200
    membership = tenant.membership(user)
    membership.role = Role.VIEWER
    membership.save()
    answer = api.get("/audit")
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "forbidden"


def test_a_token_cannot_do_more_than_its_scopes(tenant: Tenant):
    answer = tenant.api(scopes=[Permission.CLUSTERS_READ]).get("/audit")
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "missing_scope"


def test_a_token_is_bound_to_its_organisation(tenant: Tenant, stranger: Tenant):
    answer = tenant.api().get("/organisation", **{"Ringmaster-Organisation": stranger.organisation.id})
    assert answer.status_code == 404


def test_a_token_costs_one_query(tenant: Tenant, django_assert_num_queries):
    api = tenant.api()
    api.get("/organisation")  # notes the first use of the token
    with django_assert_num_queries(2):
        api.get("/organisation")


def test_it_notes_the_use_of_a_token_at_most_once_a_minute(tenant: Tenant):
    api = tenant.api()
    api.get("/organisation")
    first = ApiToken.objects.get().last_used_at
    api.get("/organisation")
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    api.get("/organisation")
    assert ApiToken.objects.get().last_used_at > first
