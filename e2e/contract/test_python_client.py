"""The Python client over a real connection: what the API answers is what the client's models say it is."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import ringmaster
from ringmaster import Ringmaster

from e2e.contract.server import Api, serving_api

DESCRIPTION = Path(__file__).resolve().parents[2] / "backend" / "openapi.json"
_PATHS = {"month": "2026-01"}
# What the organisations of these tests have none of.
_NOT_THERE = {
    "get_image",
    "get_invitation_offer",
    "plan_take_over",
}
# Of people who are signed in to the console, and no token's.
_OF_SESSIONS = {"list_sessions"}
_QUERIES = {"get_capacity": {"provider": "local", "region": "local-1"}}


def reading() -> list[tuple[str, list[str]]]:
    """Every operation that reads, with the names in its path; the stream of events is another test's."""
    paths = json.loads(DESCRIPTION.read_text())["paths"]
    found = [
        (item["get"]["operationId"], [one["name"] for one in item["get"]["parameters"] if one.get("in") == "path"])
        for item in paths.values()
        if "get" in item
    ]
    return sorted(one for one in found if one[0] not in _OF_SESSIONS | {"stream_events"})


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """One of its own: the one that the other tests share is changed by them, and may have lost what is read here."""
    with serving_api() as running:
        yield running


@pytest.fixture
def client(api: Api) -> Ringmaster:
    return Ringmaster(api.url, api.tenants.owner_token)


def test_all_that_can_be_read_fits_its_model(api: Api, client: Ringmaster) -> None:
    read = set()
    for operation, names in reading():
        arguments = [(_PATHS | api.tenants.ids).get(name, "nothing") for name in names]
        try:
            getattr(client, operation)(*arguments, **_QUERIES.get(operation, {}))
        except (ringmaster.NotFound, ringmaster.Conflict, ringmaster.Invalid):
            continue
        read.add(operation)
    lacking = set(dict(reading())) - read - _NOT_THERE
    assert not lacking, f"{sorted(lacking)}: let e2e/contract/tenants.py make one of it, and name its id there"


def test_a_change_is_heard_of(api: Api, client: Ringmaster) -> None:
    heard = threading.Event()

    def change() -> None:
        while not heard.wait(0.3):
            for protected in (True, False):
                client.update_cluster(api.tenants.ids["cluster_id"], {"termination_protection": protected})

    changer = threading.Thread(target=change)
    changer.start()
    try:
        events = client.stream_events()
        event = next(one for one in events if one.name == "cluster")
    finally:
        heard.set()
        changer.join(20)
    assert event.data["id"] == api.tenants.ids["cluster_id"]
