"""A dry run of any write answers as the write would, and leaves nothing."""

from typing import Any

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from backend.accounts.models import User
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster, Node
from backend.clusters.tests.conftest import _catalog, active, api, budget, creating
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation

__all__ = ["_catalog", "active", "api", "budget", "creating"]

ORDER = {
    "name": "rehearsed",
    "engine": "cassandra",
    "provider": "local",
    "region": "local-1",
    "zones": ["local-1a"],
    "machine_type": "local.small",
    "nodes_per_zone": 1,
}


def rows() -> list[Any]:
    return [
        *Cluster.objects.order_by("id").values_list(),
        *Node.objects.order_by("id").values_list(),
        *Operation.objects.order_by("id").values_list(),
        *AuditRecord.objects.order_by("id").values_list(),
    ]


def test_what_would_succeed_says_so_and_leaves_nothing(
    api: ApiClient, active: Cluster, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
):
    before = rows()
    with django_capture_on_commit_callbacks() as messages:
        for method, path, body, status in (
            ("post", "/clusters", ORDER, 202),
            ("patch", f"/clusters/{active.id}", {"name": "renamed"}, 200),
            ("post", f"/clusters/{active.id}/changes", {"kind": "rolling_restart"}, 202),
            ("delete", f"/clusters/{active.id}", None, 202),
        ):
            answer = getattr(api, method)(f"{path}?dry_run=true", *([body] if body is not None else []))
            assert (answer.status_code, answer.content) == (204, b""), path
            assert answer.headers["Ringmaster-Dry-Run"] == f"would answer {status}"
    assert rows() == before
    assert messages == []


def test_what_would_be_refused_is_refused_in_the_same_words(api: ApiClient, active: Cluster):
    before = rows()
    for path, body in (("/clusters", ORDER | {"zones": ["mars"]}), (f"/clusters/{active.id}/changes", {"kind": "x"})):
        rehearsed, real = api.post(f"{path}?dry_run=true", body), api.post(path, body)
        assert rehearsed.status_code == real.status_code == 422
        words = [answer.json()["error"] | {"request_id": ""} for answer in (rehearsed, real)]
        assert words[0] == words[1]
    assert rows() == before


def test_a_secret_is_not_shown_by_a_dry_run(api: ApiClient, active: Cluster):
    answer = api.post(f"/clusters/{active.id}/credentials/reveal?dry_run=true")
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize("word", ["yes", "1", ""])
def test_only_true_and_false_are_words(api: ApiClient, active: Cluster, word: str):
    answer = api.patch(f"/clusters/{active.id}?dry_run={word}", {"name": "renamed"})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "dry_run"


def test_false_does_it(api: ApiClient, active: Cluster):
    assert api.patch(f"/clusters/{active.id}?dry_run=false", {"name": "renamed"}).json()["name"] == "renamed"


def test_a_password_that_is_wrong_is_counted_so_accepting_has_none(tenant: Tenant):
    invited = tenant.api().post("/invitations", {"email": "new@acme.example", "role": "viewer"}).json()
    body = {"secret": invited["url"].rpartition("/")[2], "name": "New", "password": "long enough for an account"}
    answer = ApiClient().post("/invitations/accept?dry_run=true", body)
    assert answer.json()["error"]["code"] == "dry_run_not_possible"
    assert not User.objects.filter(email="new@acme.example").exists()


def test_a_key_of_a_dry_run_is_not_used_up(api: ApiClient, active: Cluster):
    key = {"Idempotency-Key": "rehearsal-1"}
    assert api.patch(f"/clusters/{active.id}?dry_run=true", {"name": "renamed"}, **key).status_code == 204
    assert api.patch(f"/clusters/{active.id}", {"name": "renamed"}, **key).json()["name"] == "renamed"
