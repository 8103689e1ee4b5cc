"""What somebody saw is what they change, or nothing is."""

import threading
from typing import Any

import pytest
from django.db import connection

from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import _catalog, active, api, budget, creating
from backend.config import conditions
from backend.conftest import ApiClient, Tenant, described_api

__all__ = ["_catalog", "active", "api", "budget", "creating"]


def test_a_thing_has_the_same_tag_until_it_is_different(api: ApiClient, active: Cluster):
    tag = api.get(f"/clusters/{active.id}")["ETag"]
    assert api.get(f"/clusters/{active.id}")["ETag"] == tag
    api.patch(f"/clusters/{active.id}", {"name": "renamed"})
    assert api.get(f"/clusters/{active.id}")["ETag"] != tag


def test_who_has_it_already_is_not_sent_it_again(api: ApiClient, active: Cluster):
    tag = api.get(f"/clusters/{active.id}")["ETag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = api.get(f"/clusters/{active.id}", **{"If-None-Match": known})
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", tag)
    assert api.get(f"/clusters/{active.id}", **{"If-None-Match": '"other"'}).status_code == 200


def test_a_change_of_what_is_still_so_is_done(api: ApiClient, active: Cluster):
    tag = api.get(f"/clusters/{active.id}")["ETag"]
    answer = api.patch(f"/clusters/{active.id}", {"name": "renamed"}, **{"If-Match": f'"other", {tag}'})
    assert (answer.status_code, answer.json()["name"]) == (200, "renamed")


@pytest.mark.parametrize("method", ["patch", "delete"])
@pytest.mark.parametrize("tag", ['"other"', "nonsense", "", 'W/"weak"'])
def test_a_change_of_what_is_different_changes_nothing(api: ApiClient, active: Cluster, method: str, tag: str):
    body = [{"name": "renamed"}] if method == "patch" else []
    before = AuditRecord.objects.count()
    answer = getattr(api, method)(f"/clusters/{active.id}", *body, **{"If-Match": tag})
    assert (answer.status_code, answer.json()["error"]["code"]) == (412, "precondition_failed")
    active.refresh_from_db()
    assert (active.name, active.state) == ("orders", "active")
    assert AuditRecord.objects.count() == before


def test_a_weak_tag_never_fits(api: ApiClient, active: Cluster):
    tag = api.get(f"/clusters/{active.id}")["ETag"]
    assert api.patch(f"/clusters/{active.id}", {"name": "renamed"}, **{"If-Match": f"W/{tag}"}).status_code == 412


def test_a_star_fits_whatever_is_there(api: ApiClient, active: Cluster):
    assert api.patch(f"/clusters/{active.id}", {"name": "renamed"}, **{"If-Match": "*"}).status_code == 200
    nowhere = active.id[:-8] + "0" * 8
    assert api.patch(f"/clusters/{nowhere}", {"name": "renamed"}, **{"If-Match": "*"}).status_code == 404


def test_a_stranger_learns_nothing_by_a_condition(active: Cluster, stranger: Tenant):
    answers = [
        stranger.api().patch(f"/clusters/{active.id}", {"name": "mine"}, **headers)
        for headers in ({}, {"If-Match": "*"}, {"If-Match": '"other"'})
    ]
    errors = [answer.json()["error"] | {"request_id": ""} for answer in answers]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert errors[0] == errors[1] == errors[2]


def test_a_condition_where_nothing_can_be_compared_is_refused(api: ApiClient, active: Cluster):
    for send, path in ((api.post, f"/clusters/{active.id}/changes"), (api.delete, "/tokens/tok_nowhere")):
        answer = send(path, **{"If-Match": "*"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "if_match_not_possible")


def test_a_dry_run_keeps_to_the_condition(api: ApiClient, active: Cluster):
    tag = api.get(f"/clusters/{active.id}")["ETag"]
    path = f"/clusters/{active.id}?dry_run=true"
    assert api.patch(path, {"name": "renamed"}, **{"If-Match": tag}).status_code == 204
    assert api.patch(path, {"name": "renamed"}, **{"If-Match": '"other"'}).status_code == 412
    assert api.get(f"/clusters/{active.id}")["ETag"] == tag


def test_a_repeated_change_is_answered_again_although_its_tag_is_old_now(api: ApiClient, active: Cluster):
    tag = api.get(f"/clusters/{active.id}")["ETag"]
    headers = {"If-Match": tag, "Idempotency-Key": "rename-1"}
    for _ in range(2):
        assert api.patch(f"/clusters/{active.id}", {"name": "renamed"}, **headers).status_code == 200
    other = api.patch(f"/clusters/{active.id}", {"name": "renamed"}, **headers | {"If-Match": '"other"'})
    assert other.json()["error"]["code"] == "idempotency_key_reused"


@pytest.mark.django_db(transaction=True)
def test_of_two_who_saw_the_same_one_wins(
    api: ApiClient, active: Cluster, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    tag = api.get(f"/clusters/{active.id}")["ETag"]
    both_came, answers = threading.Barrier(2), list[Any]()
    lock = conditions._lock

    def meet(address: str) -> None:
        both_came.wait(10)
        lock(address)

    monkeypatch.setattr(conditions, "_lock", meet)

    def change(client: ApiClient, name: str) -> None:
        try:
            answers.append(client.patch(f"/clusters/{active.id}", {"name": name}, **{"If-Match": tag}).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=change, args=(tenant.api(), name)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(answers) == [200, 412]


def test_every_change_of_what_can_be_read_alone_takes_a_condition():
    taking = set()
    for path, methods in described_api()["paths"].items():
        for method, operation in methods.items():
            if {"$ref": "#/components/parameters/IfMatch"} in operation["parameters"]:
                assert "ETag" in methods["get"]["responses"]["200"]["headers"], path
                taking.add(f"{method} {path.removeprefix('/api/v1')}")
    assert {
        "patch /clusters/{cluster_id}",
        "put /clusters/{cluster_id}/allowlist",
        "delete /budgets/{budget_id}",
    } <= taking
    assert "put /ceilings" not in taking
    assert len(taking) >= 20
