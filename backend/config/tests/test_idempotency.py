from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from backend.accounts import token_actions
from backend.accounts.models import ApiToken
from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.conftest import Tenant
from backend.core.errors import Forbidden
from backend.core.models import IdempotencyRecord

ORDER = {"name": "ci", "scopes": ["clusters:read"]}
KEY = {"Idempotency-Key": "4711"}


def test_the_same_request_gets_the_same_answer_and_happens_once(tenant: Tenant):
    api = tenant.api()
    first = api.post("/tokens", ORDER, **KEY)
    second = api.post("/tokens", ORDER, **KEY)
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.content == first.content
    assert "Idempotency-Replayed" not in first
    assert second["Idempotency-Replayed"] == "true"
    assert second["X-Request-Id"] != first["X-Request-Id"]
    assert ApiToken.objects.filter(name="ci").count() == 1
    assert AuditRecord.objects.count() == 1


def test_a_secret_in_the_answer_is_not_stored_in_plain(tenant: Tenant):
    secret = tenant.api().post("/tokens", ORDER, **KEY).json()["secret"]
    stored = IdempotencyRecord.objects.get()
    assert secret.encode() not in bytes(stored.ciphertext) + bytes(stored.wrapped_key)


@pytest.mark.parametrize(("path", "body"), [("/tokens", ORDER | {"name": "other"}), ("/invitations", ORDER)])
def test_the_key_for_another_request_is_refused(tenant: Tenant, path: str, body: dict):
    api = tenant.api()
    api.post("/tokens", ORDER, **KEY)
    answer = api.post(path, body, **KEY)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "idempotency_key_reused"


def test_a_refusal_is_remembered_too_and_changed_nothing(tenant: Tenant):
    api = tenant.api(tenant.member(Role.VIEWER))
    first = api.post("/tokens", ORDER, **KEY)
    assert first.status_code == 403
    assert api.post("/tokens", ORDER, **KEY).content == first.content


def test_what_a_refused_request_wrote_is_undone(tenant: Tenant):
    def write_then_refuse(*args: object, **kwargs: object) -> None:
        ApiToken.objects.update(name="half-done")
        raise Forbidden("scope_above_own", "No.")

    api = tenant.api()
    with patch.object(token_actions, "create_token", write_then_refuse):
        assert api.post("/tokens", ORDER, **KEY).status_code == 403
    assert not ApiToken.objects.filter(name="half-done").exists()


def test_our_own_failure_is_not_remembered(tenant: Tenant):
    api = tenant.api()
    with patch.object(token_actions, "create_token", side_effect=OperationalError("gone")):
        assert api.post("/tokens", ORDER, **KEY).status_code == 503
    assert api.post("/tokens", ORDER, **KEY).status_code == 201


def test_keys_belong_to_one_user_of_one_organisation(tenant: Tenant, stranger: Tenant):
    answers = [api.post("/tokens", ORDER, **KEY) for api in (tenant.api(), stranger.api())]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json()["secret"] != answers[1].json()["secret"]


def test_a_key_is_forgotten_after_a_day(tenant: Tenant):
    api = tenant.api()
    first = api.post("/tokens", ORDER, **KEY).json()
    IdempotencyRecord.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api.post("/tokens", ORDER, **KEY).json()["secret"] != first["secret"]
    assert IdempotencyRecord.objects.count() == 1


@pytest.mark.parametrize("key", ["", " ", "with space", "ä", "x" * 256])
def test_an_odd_key_is_refused(tenant: Tenant, key: str):
    answer = tenant.api().post("/tokens", ORDER, **{"Idempotency-Key": key})
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid_idempotency_key"


def test_reading_takes_no_notice_of_it(tenant: Tenant):
    assert tenant.api().get("/tokens", **KEY).status_code == 200
    assert IdempotencyRecord.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_while_the_first_is_running_the_second_is_told_to_wait(tenant: Tenant):
    api = tenant.api()
    owner = f"{tenant.organisation.id}/{tenant.owner.id}/4711"

    def second() -> tuple[int, str]:
        try:
            answer = api.post("/tokens", ORDER, **KEY)
            return answer.status_code, answer.json()["error"]["code"]
        finally:
            connection.close()

    with transaction.atomic(), connection.cursor() as cursor, ThreadPoolExecutor(1) as pool:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [owner])
        assert pool.submit(second).result() == (409, "idempotency_key_in_flight")
    assert api.post("/tokens", ORDER, **KEY).status_code == 201
