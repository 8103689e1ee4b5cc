"""The API's description is there for everybody who wants to write a client."""

import json

from django.conf import settings
from django.test import Client


def test_it_is_the_committed_one_and_needs_no_session():
    answer = Client().get("/api/v1/openapi.json")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert answer.json() == json.loads((settings.BASE_DIR / "openapi.json").read_text())


def test_it_cannot_be_written():
    assert Client().post("/api/v1/openapi.json").status_code == 405
