import logging

import pytest
from django.test import Client

from backend.conftest import ApiClient, Tenant


def lines(caplog: pytest.LogCaptureFixture) -> list[dict]:
    return [record.msg for record in caplog.records if record.name == "ringmaster.request"]


def test_every_answer_carries_a_request_id(db):
    first, second = Client().get("/healthz"), Client().get("/healthz")
    assert first["X-Request-Id"].startswith("req_")
    assert first["X-Request-Id"] != second["X-Request-Id"]


def test_it_keeps_the_callers_own_id(db):
    assert Client().get("/healthz", headers={"X-Request-Id": "build-4711"})["X-Request-Id"] == "build-4711"


@pytest.mark.parametrize("sent", ["short", "x" * 65, "with space", "line\nbreak", "{json}"])
def test_it_replaces_an_id_that_could_do_harm_in_logs(db, sent: str):
    assert Client().get("/healthz", headers={"X-Request-Id": sent})["X-Request-Id"].startswith("req_")


def test_it_writes_one_line_per_request_with_who_asked(tenant: Tenant, caplog: pytest.LogCaptureFixture):
    api = tenant.api()
    with caplog.at_level(logging.INFO):
        answer = api.get("/organisation")
    (line,) = lines(caplog)
    assert (line["method"], line["path"], line["status"]) == ("GET", "/api/v1/organisation", 200)
    assert line["organisation"] == tenant.organisation.id
    assert line["request_id"] == answer["X-Request-Id"]


def test_no_secret_gets_into_the_log(tenant: Tenant, caplog: pytest.LogCaptureFixture):
    secret = tenant.token()
    with caplog.at_level(logging.DEBUG, logger="ringmaster"):
        ApiClient(authorization=f"Bearer {secret}").get("/organisation")
        ApiClient().get("/invitations/by-secret/" + "s3cret" * 8)
        ApiClient().post("/invitations/accept", {"secret": "s3cret" * 8, "password": "pa55word"})
    text = str(lines(caplog))
    assert secret not in text
    assert "s3cret" not in text
    assert "pa55word" not in text


def test_every_answer_tells_the_browser_to_be_careful(db):
    answer = Client().get("/healthz")
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert "Strict-Transport-Security" not in answer  # the public URL of the tests is plain http
