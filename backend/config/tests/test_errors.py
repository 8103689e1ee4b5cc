import json
from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.test import Client

from backend.accounts import queries
from backend.conftest import ApiClient, Tenant, described_api


def error_of(answer) -> dict:
    assert answer["Content-Type"].startswith("application/json")
    assert answer["X-Request-Id"] == answer.json()["error"]["request_id"]
    return answer.json()["error"]


@pytest.mark.parametrize(
    "path", ["/api/v1/nothing", "/api", "/api/v2/members", "/_allauth/x", "/api/v1/", "/api/v1/members/"]
)
def test_an_unknown_address_answers_404_in_our_words(db, path: str):
    answer = Client().get(path)
    assert answer.status_code == 404
    assert error_of(answer)["code"] == "unknown_url"


def test_a_wrong_method_says_which_ones_are_right(tenant: Tenant):
    answer = tenant.api().patch("/tokens", {})
    assert answer.status_code == 405
    assert error_of(answer)["code"] == "method_not_allowed"
    assert set(answer["Allow"].split(", ")) == {"GET", "POST"}


@pytest.mark.parametrize(
    "body", [b"{", b"\xff", b'{"name": NaN}', b"[" * 100_000, b'{"name": "\xed\xa0\x80"}', b'{"name": "\\ud800"}']
)
def test_a_malformed_body_answers_400(tenant: Tenant, body: bytes):
    answer = tenant.api().post("/tokens", body)
    assert answer.status_code == 400
    assert error_of(answer)["code"] == "malformed_body"


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'"text"'])
def test_a_body_of_another_shape_answers_422(tenant: Tenant, body: bytes):
    answer = tenant.api().post("/tokens", body)
    assert answer.status_code == 422
    assert error_of(answer)["code"] == "invalid_field"


def test_a_body_of_more_than_a_mebibyte_answers_413(tenant: Tenant):
    answer = tenant.api().post("/tokens", {"name": "x" * 1024 * 1024})
    assert answer.status_code == 413
    assert error_of(answer)["code"] == "body_too_large"


@pytest.mark.parametrize("path", ["/members?cursor=%00", "/members/%00", "/audit?actor=a%00"])
def test_a_nul_character_answers_400(tenant: Tenant, path: str):
    answer = tenant.api().get(path)
    assert answer.status_code == 400
    assert error_of(answer)["code"] == "nul_character"


def test_a_database_that_is_away_answers_503_and_says_when_to_come_back(tenant: Tenant):
    api = tenant.api()
    with patch.object(queries, "get_organisation", side_effect=OperationalError("connection refused")):
        answer = api.get("/organisation")
    assert answer.status_code == 503
    assert answer["Retry-After"] == "2"
    assert error_of(answer)["code"] == "temporarily_unavailable"


def test_a_database_that_goes_away_during_sign_in_answers_503_too(tenant: Tenant):
    with patch("backend.accounts.authentication.token_identity", side_effect=OperationalError("gone")):
        assert ApiClient(authorization="Bearer rmt_x").get("/organisation").status_code == 503


def test_a_bug_answers_500_without_a_trace_of_it(tenant: Tenant, caplog: pytest.LogCaptureFixture):
    api = tenant.api()
    with patch.object(queries, "get_organisation", side_effect=RuntimeError("the secret inside")):
        answer = api.get("/organisation")
    assert answer.status_code == 500
    assert error_of(answer)["code"] == "internal_error"
    assert "secret inside" not in answer.content.decode()
    assert "the secret inside" in caplog.text


def test_a_bug_outside_the_api_has_the_same_body(db, client: Client):
    client.raise_request_exception = False
    with patch("backend.config.views.MigrationExecutor", side_effect=RuntimeError("boom")):
        answer = client.get("/readyz")
    assert answer.status_code == 500
    assert error_of(answer)["code"] == "internal_error"


def test_a_forged_host_answers_400_but_health_may_be_asked_by_address(db):
    answer = Client().get("/api/v1/session", headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert error_of(answer)["code"] == "bad_request"
    assert Client().get("/healthz", headers={"host": "10.1.2.3"}).status_code == 200


def test_errors_are_json_with_a_hint(db):
    body = json.loads(ApiClient().get("/organisation").content)
    assert set(body["error"]) == {"code", "message", "hint", "docs_url", "request_id"}


def test_an_error_leads_to_its_code_in_the_consoles_reference(db, settings):
    error = error_of(ApiClient().get("/organisation"))
    assert error["docs_url"] == f"{settings.ENV.ringmaster_public_url}/api-reference/errors?q=authentication_required"
    listed = described_api()["components"]["schemas"]["ErrorDetail"]["properties"]["code"]["x-error-codes"]
    assert {"status": 401, "says": error["message"], "hint": error["hint"]} in listed["authentication_required"]
