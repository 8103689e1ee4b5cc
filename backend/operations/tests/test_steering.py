"""Cancel and retry: what people may do to an operation."""

from datetime import timedelta

import pytest
from django.utils import timezone

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation
from backend.operations.tests.conftest import Start, set_steps


def test_a_cancel_is_noted_and_seen_at_once(api: ApiClient, start: Start):
    operation = start(columns={"state": "blocked", "due_at": None, "nudged_at": None})
    answer = api.post(f"/operations/{operation.id}/cancel")
    assert answer.status_code == 202
    assert answer.json()["cancel_requested"] is True
    operation.refresh_from_db()
    assert operation.cancel_requested_at is not None
    assert operation.due_at is not None
    assert AuditRecord.objects.get(action="operation.cancel").target_id == operation.id


def test_a_worker_that_holds_it_is_not_hurried(api: ApiClient, start: Start):
    until = timezone.now() + timedelta(seconds=8)
    operation = start(columns={"state": "running", "due_at": until, "lease_until": until})
    assert api.post(f"/operations/{operation.id}/cancel").status_code == 202
    operation.refresh_from_db()
    assert operation.due_at == until


def test_cancelling_twice_is_refused(api: ApiClient, start: Start):
    operation = start()
    api.post(f"/operations/{operation.id}/cancel")
    answer = api.post(f"/operations/{operation.id}/cancel")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_cancellable")
    assert "already" in answer.json()["error"]["message"]


def test_past_its_last_point_it_is_refused(api: ApiClient, start: Start):
    operation = start(cancellable_until="boot", columns={"state": "running"})
    set_steps(operation, "done", "running")
    answer = api.post(f"/operations/{operation.id}/cancel")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_cancellable")
    operation.refresh_from_db()
    assert operation.cancel_requested_at is None


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_what_is_over_is_over(api: ApiClient, start: Start, state: str, verb: str):
    operation = start(columns={"state": state, "due_at": None})
    assert api.post(f"/operations/{operation.id}/{verb}").status_code == 409
    operation.refresh_from_db()
    assert operation.due_at is None


@pytest.mark.parametrize("columns", [{"state": "blocked", "due_at": None}, {"state": "running", "attempt": 3}])
def test_what_does_not_move_is_tried_again_at_once(api: ApiClient, start: Start, columns: dict[str, object]):
    operation = start(columns=columns)
    for _ in range(2):
        assert api.post(f"/operations/{operation.id}/retry").status_code == 202
    operation.refresh_from_db()
    assert operation.retry_requested_at is not None
    assert operation.due_at is not None
    assert AuditRecord.objects.filter(action="operation.retry").exists()


def test_there_is_nothing_to_retry_while_it_moves(api: ApiClient, start: Start):
    answer = api.post(f"/operations/{start(columns={'state': 'running'}).id}/retry")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_retryable")


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_a_viewer_may_not(tenant: Tenant, start: Start, verb: str):
    operation = start(columns={"state": "blocked"})
    answer = tenant.api(tenant.member(Role.VIEWER)).post(f"/operations/{operation.id}/{verb}")
    assert answer.status_code == 403
    assert Operation.objects.get().cancel_requested_at is None


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_a_stranger_may_not_even_know(stranger: Tenant, start: Start, verb: str):
    operation = start(columns={"state": "blocked"})
    assert stranger.api().post(f"/operations/{operation.id}/{verb}").status_code == 404
