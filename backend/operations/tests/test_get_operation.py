from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from backend.accounts.states import Role
from backend.conftest import ApiClient, Tenant
from backend.operations.models import OperationStep
from backend.operations.tests.conftest import Start, set_steps


def reasons(shown: dict[str, Any]) -> dict[str, str | None]:
    return {action["action"]: action["reason"] for action in shown["allowed_actions"]}


def test_what_was_just_asked_for(api: ApiClient, start: Start):
    shown = api.get(f"/operations/{start().id}").json()
    assert shown == shown | {
        "title": "Create cluster",
        "cluster_id": "clu_1",
        "cluster_name": "demo",
        "state": "pending",
        "progress": 0,
        "reason": None,
        "eta_seconds": 20,
        "current": None,
        "steps_done": 0,
        "steps_total": 5,
        "started_at": None,
        "cancel_requested": False,
    }
    assert shown["elapsed_seconds"] >= 0
    assert [step["title"] for step in shown["steps"]][:2] == ["Prepare the network", "Start the machine"]
    assert shown["steps"][1]["target_title"] == "demo-1"


def test_what_is_being_done(api: ApiClient, start: Start):
    operation = start(columns={"state": "running", "progress": 0.25})
    set_steps(operation, "done", "running", "running", "done")
    now = timezone.now()
    OperationStep.objects.filter(operation=operation, position=0).update(
        started_at=now - timedelta(seconds=9), finished_at=now - timedelta(seconds=7)
    )
    OperationStep.objects.filter(operation=operation, position=1).update(started_at=now - timedelta(seconds=7))
    shown = api.get(f"/operations/{operation.id}").json()
    assert shown["current"] == "Start the machine on demo-1 and 1 more"
    assert (shown["steps_done"], shown["eta_seconds"]) == (2, 15)
    assert shown["steps"][0]["duration_seconds"] == pytest.approx(2, abs=0.01)
    assert shown["steps"][1]["duration_seconds"] >= 7
    assert shown["steps"][4]["duration_seconds"] is None


def test_one_step_alone_is_named_alone(api: ApiClient, start: Start):
    operation = start(columns={"state": "running"})
    set_steps(operation, "done", "done", "done", "running")
    assert api.get(f"/operations/{operation.id}").json()["current"] == "Start the machine on demo-3"


def test_what_is_undone(api: ApiClient, start: Start):
    operation = start(columns={"state": "cancelling", "cancel_requested_at": timezone.now()})
    set_steps(operation, "undoing", "undone", "undone", "undone", "skipped")
    shown = api.get(f"/operations/{operation.id}").json()
    assert shown["current"] == "Undo: Prepare the network"
    assert shown["eta_seconds"] is None
    assert shown["cancel_requested"] is True
    assert reasons(shown)["cancel_operation"] == "It is being cancelled already."


def test_what_needs_a_person(api: ApiClient, start: Start):
    columns = {"state": "blocked", "reason_code": "out-of-capacity", "reason": "No machine.", "reason_hint": "Retry."}
    shown = api.get(f"/operations/{start(columns=columns).id}").json()
    assert shown["reason"] == {"code": "out-of-capacity", "message": "No machine.", "hint": "Retry."}
    assert reasons(shown) == {
        "cancel_operation": None,
        "retry_operation": None,
        "pause_operation": "This kind of operation cannot be paused.",
        "resume_operation": "It is not paused.",
    }


@pytest.mark.parametrize(
    ("columns", "steps", "cancel", "retry"),
    [
        ({"state": "pending"}, (), None, "Nothing has failed"),
        ({"state": "running", "attempt": 2}, ("running",), None, None),
        ({"state": "running", "cancellable_until": 1}, ("running",), None, "Nothing has failed"),
        ({"state": "running", "cancellable_until": 1}, ("done", "running"), "too far", "Nothing has failed"),
        ({"state": "succeeded"}, (), "succeeded already", "order it anew"),
        ({"state": "cancelled"}, (), "was cancelled already", "order it anew"),
    ],
)
def test_it_says_what_may_be_done_and_why_not(
    api: ApiClient,
    start: Start,
    columns: dict[str, Any],
    steps: tuple[str, ...],
    cancel: str | None,
    retry: str | None,
):
    operation = start(columns=columns)
    set_steps(operation, *steps)
    shown = reasons(api.get(f"/operations/{operation.id}").json())
    for action, expected in (("cancel_operation", cancel), ("retry_operation", retry)):
        assert (expected is None) == (shown[action] is None)
        assert (expected or "") in (shown[action] or "")


def test_a_viewer_may_look_and_no_more(tenant: Tenant, start: Start):
    shown = tenant.api(tenant.member(Role.VIEWER)).get(f"/operations/{start().id}").json()
    assert all("role or token" in str(reason) for reason in reasons(shown).values())


def test_what_is_over_has_its_time(api: ApiClient, start: Start):
    operation = start(columns={"state": "succeeded", "finished_at": timezone.now() + timedelta(seconds=12)})
    shown = api.get(f"/operations/{operation.id}").json()
    assert shown["elapsed_seconds"] == pytest.approx(12, abs=1)
    assert (shown["eta_seconds"], shown["current"]) == (None, None)


def test_another_organisations_is_not_found(stranger: Tenant, start: Start):
    answer = stranger.api().get(f"/operations/{start().id}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "operation_not_found")


def test_what_the_step_at_hand_tells_goes_before_the_usual_time(api: ApiClient, start: Start):
    operation = start(columns={"state": "running", "progress": 0.6})
    set_steps(operation, "done", "running", "running", "done")
    now = timezone.now()
    OperationStep.objects.filter(operation=operation, position=1).update(eta_at=now + timedelta(seconds=300))
    OperationStep.objects.filter(operation=operation, position=2).update(eta_at=now - timedelta(seconds=5))
    # And a fifth of the usual 20 seconds for the step that has not begun.
    assert api.get(f"/operations/{operation.id}").json()["eta_seconds"] == pytest.approx(304, abs=3)
