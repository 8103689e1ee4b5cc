"""Who asks too often is told when to come back, and nobody else notices."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from django.test import Client
from prometheus_client import REGISTRY

from backend.accounts.models import Invitation
from backend.accounts.states import Role
from backend.config import rate_limits
from backend.config.environment import RateLimit
from backend.conftest import PASSWORD, ApiClient, Tenant

Limit = Callable[..., None]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Limit:
    def of(*, caller: RateLimit | None = None, organisation: RateLimit | None = None, **others: object) -> None:
        given = {"ringmaster_rate_limit_caller": caller, "ringmaster_rate_limit_organisation": organisation, **others}
        monkeypatch.setattr(settings, "ENV", settings.ENV.model_copy(update=given))

    return of


# So slow that nothing comes back during a test.
THREE = RateLimit(per_second=0.01, burst=3)
FIVE = RateLimit(per_second=0.01, burst=5)


def test_every_answer_to_somebody_says_what_is_left(tenant: Tenant, limit: Limit):
    limit(caller=THREE, organisation=FIVE)
    api = tenant.api()
    for left, path, status in ((2, "/organisation", 200), (1, "/clusters/clu_nowhere", 404)):
        answer = api.get(path)
        assert answer.status_code == status
        assert answer["RateLimit-Policy"] == '"caller";q=3;w=300, "organisation";q=5;w=500'
        assert answer["RateLimit"].startswith(f'"caller";r={left};t=')


def test_too_many_requests_are_refused_before_anything_is_done(tenant: Tenant, limit: Limit):
    limit(caller=THREE)
    api = tenant.api()
    order = {"email": "new@acme.example", "role": "viewer"}
    for _ in range(3):
        assert api.get("/organisation").status_code == 200
    refused = api.post("/invitations", order, **{"Idempotency-Key": "invite-1"})
    assert refused.status_code == 429
    assert 95 <= int(refused["Retry-After"]) <= 100
    error = refused.json()["error"]
    assert error["code"] == "rate_limited"
    assert error["hint"].startswith(f"Wait {refused['Retry-After']} s")
    assert refused["RateLimit"].startswith('"caller";r=0;')
    assert not Invitation.objects.exists()
    # And the refusal is not what the key stands for.
    limit(caller=None)
    assert api.post("/invitations", order, **{"Idempotency-Key": "invite-1"}).status_code == 201


def test_requests_come_back_with_time(tenant: Tenant, limit: Limit):
    limit(caller=RateLimit(per_second=10, burst=1))
    api = tenant.api()
    assert [api.get("/organisation").status_code for _ in range(2)] == [200, 429]
    time.sleep(0.15)
    assert api.get("/organisation").status_code == 200


def test_tokens_have_budgets_of_their_own_and_the_organisation_has_one_for_all(tenant: Tenant, limit: Limit):
    limit(caller=THREE, organisation=FIVE)
    first, second = tenant.api(), tenant.api()
    assert [first.get("/organisation").status_code for _ in range(4)] == [200, 200, 200, 429]
    # What was refused was not taken from the organisation either: two are left of five.
    assert [second.get("/organisation").status_code for _ in range(3)] == [200, 200, 429]
    assert second.get("/organisation").json()["error"]["message"].startswith("Your organisation")


def test_an_organisation_does_not_use_anothers_budget(tenant: Tenant, stranger: Tenant, limit: Limit):
    limit(organisation=THREE)
    assert [tenant.api().get("/organisation").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [stranger.api().get("/organisation").status_code for _ in range(4)] == [200, 200, 200, 429]


def test_a_person_has_one_budget_in_all_their_sessions(tenant: Tenant, limit: Limit):
    limit(caller=THREE)
    member = tenant.member(Role.VIEWER)
    answers: list[Any] = []
    for _ in range(2):
        client = Client()
        assert client.login(email=member.email, password=PASSWORD)
        answers += [ApiClient(client=client).get("/organisation").status_code for _ in range(2)]
    assert answers == [200, 200, 200, 429]


def test_those_who_are_not_known_and_probes_are_not_counted(tenant: Tenant, limit: Limit):
    limit(caller=RateLimit(0.01, 1))
    for path in ("/api/v1/session", "/healthz", "/readyz", "/metrics"):
        for _ in range(2):
            answer = Client().get(path)
            assert answer.status_code == 200
            assert "RateLimit" not in answer


@pytest.fixture
def elsewhere() -> Iterator[None]:
    """Redis is asked anew, before and after."""
    rate_limits._script.cache_clear()
    yield
    rate_limits._script.cache_clear()
    rate_limits._Pause.until = 0.0


def test_everybody_is_let_through_and_counted_while_redis_is_away(tenant: Tenant, limit: Limit, elsewhere: None):
    limit(caller=RateLimit(0.01, 1), redis_url="unix:///nowhere/redis.sock")
    before = REGISTRY.get_sample_value("ringmaster_rate_limit_failures_total") or 0
    api = tenant.api()
    for _ in range(3):
        answer = api.get("/organisation")
        assert answer.status_code == 200
        assert "RateLimit" not in answer
    assert REGISTRY.get_sample_value("ringmaster_rate_limit_failures_total") == before + 3


def test_buckets_that_are_full_again_are_forgotten(tenant: Tenant, limit: Limit):
    limit(organisation=RateLimit(per_second=2, burst=1))
    tenant.api().get("/organisation")
    with redis.from_url(settings.ENV.redis_url) as store:
        (key,) = store.keys(f"*:rate:{tenant.organisation.id}")
        assert 0 < store.pttl(key) <= 501
        time.sleep(0.6)
        assert not store.exists(key)


def test_the_defaults_allow_two_hundred_at_once_and_fifty_a_second():
    fields = type(settings.ENV).model_fields
    assert fields["ringmaster_rate_limit_caller"].default == RateLimit(50, 200)
    assert fields["ringmaster_rate_limit_organisation"].default == RateLimit(200, 1000)
    assert RateLimit(50, 200).window == 4
