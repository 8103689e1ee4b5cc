"""An order beside an open operation is refused, waits or makes way, as the table says, and goes on in its turn."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant
from backend.core.errors import Conflict
from backend.operations import turns
from backend.operations.models import Operation
from backend.operations.tests.conftest import Start

RUNNING = {"state": "running", "started_at": timezone.now()}


def end(operation: Operation, state: str = "succeeded") -> list[str]:
    """As the runner closes it."""
    Operation.objects.filter(id=operation.id).update(state=state, due_at=None)
    with transaction.atomic():
        return turns.settle(operation.cluster_id)


def now(operation: Operation) -> Operation:
    return Operation.objects.get(id=operation.id)


def test_what_the_table_refuses_is_told_why(start: Start):
    first = start(kind="upgrade_cluster", columns=RUNNING)
    with pytest.raises(Conflict) as refused, transaction.atomic():
        start(kind="scale_cluster")
    assert refused.value.code == "operation_in_progress"
    assert first.id in refused.value.message
    assert "only while all nodes are up" in refused.value.message


def test_what_the_table_lets_together_begins_at_once(start: Start):
    start(kind="upgrade_cluster", columns=RUNNING)
    access = start(kind="change_access")
    assert (access.exclusive, access.waits_for, access.due_at is None) == (False, "", False)


def test_what_waits_is_not_due_and_says_for_what(api: ApiClient, start: Start):
    scale = start(kind="scale_cluster", columns=RUNNING)
    backup = start(kind="backup")
    assert backup.due_at is None
    shown = api.get(f"/operations/{backup.id}").json()
    assert shown["state"] == "pending"
    assert shown["eta_seconds"] is None
    assert shown["waits_for"] == {
        "id": scale.id,
        "title": "Change the number of nodes",
        "reason": (
            "A backup compares or copies what the nodes of one ring hold, so it begins when the ring has its new shape."
        ),
    }
    assert api.get(f"/operations/{scale.id}").json()["waits_for"] is None


def test_it_goes_on_when_the_other_has_ended(start: Start):
    scale = start(kind="scale_cluster", columns=RUNNING)
    backup = start(kind="backup")
    with transaction.atomic():
        assert turns.settle("clu_1") == []
    assert end(scale) == [backup.id]
    assert (now(backup).waits_for, now(backup).due_at is None) == ("", False)


def test_other_clusters_do_not_matter(start: Start):
    start("clu_2", kind="scale_cluster", columns=RUNNING)
    assert start("clu_1", kind="backup").waits_for == ""


def test_a_repair_makes_way_for_a_replacement_and_goes_on_afterwards(api: ApiClient, start: Start):
    repair = start(kind="repair", pausable=True, columns=RUNNING)
    replace = start(kind="replace_node")
    assert (replace.waits_for, replace.due_at) == (repair.id, None)
    shown = api.get(f"/operations/{repair.id}").json()
    assert shown["pause_requested"] is True
    assert shown["waits_for"]["id"] == replace.id
    # The runner parks it between two groups.
    Operation.objects.filter(id=repair.id).update(state="paused", due_at=None)
    with transaction.atomic():
        assert turns.settle("clu_1") == [replace.id]
    assert now(repair).state == "paused"
    assert end(replace) == [repair.id]
    repair = now(repair)
    assert (repair.state, repair.pause_requested_at, repair.waits_for) == ("running", None, "")
    assert repair.due_at is not None


def test_a_repair_that_has_not_begun_makes_way_at_once(start: Start):
    repair = start(kind="repair", pausable=True)
    replace = start(kind="replace_node")
    assert now(replace).waits_for == ""
    assert (now(repair).state, now(repair).waits_for, now(repair).due_at) == ("pending", replace.id, None)
    assert end(replace) == [repair.id]


def test_a_repair_that_is_blocked_makes_way_at_once(start: Start):
    repair = start(kind="repair", pausable=True, columns={**RUNNING, "state": "blocked", "due_at": None})
    replace = start(kind="replace_node")
    assert now(replace).due_at is not None
    assert now(repair).state == "paused"


def test_one_that_cannot_be_paused_is_waited_for(start: Start):
    repair = start(kind="repair", columns=RUNNING)
    replace = start(kind="replace_node")
    assert now(repair).pause_requested_at is None
    assert "cannot be paused" in replace.waits_reason
    assert end(repair) == [replace.id]


def test_one_that_need_not_make_way_any_more_simply_goes_on(start: Start):
    repair = start(kind="repair", pausable=True, columns=RUNNING)
    replace = start(kind="replace_node")
    assert now(repair).pause_requested_at is not None
    end(replace, "cancelled")
    assert (now(repair).pause_requested_at, now(repair).waits_for) == (None, "")


def test_who_was_paused_by_a_person_stays_paused(start: Start, api: ApiClient):
    repair = start(kind="repair", pausable=True, columns={**RUNNING, "state": "paused", "due_at": None})
    replace = start(kind="replace_node", columns=RUNNING)
    assert replace.waits_for == ""
    assert end(replace) == []
    assert now(repair).state == "paused"


def test_of_three_that_wait_each_goes_in_its_turn(start: Start):
    scale = start(kind="scale_cluster", columns=RUNNING)
    repair, backup = start(kind="repair", pausable=True), start(kind="backup")
    assert end(scale) == [backup.id]
    assert now(repair).waits_for == backup.id
    assert end(backup) == [repair.id]


def test_a_row_that_somebody_holds_is_left_for_the_next_look(start: Start, transactional_db: None):
    scale = start(kind="scale_cluster", columns=RUNNING)
    backup = start(kind="backup")
    Operation.objects.filter(id=scale.id).update(state="succeeded", due_at=None)
    woken: list[str] = []

    def look() -> None:
        try:
            with transaction.atomic():
                woken.extend(turns.settle("clu_1"))
        finally:
            connection.close()

    with transaction.atomic():
        Operation.objects.select_for_update().get(id=backup.id)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(10)
        assert woken == []
    assert turns.clusters_that_wait(5) == ["clu_1"]
    look()
    assert woken == [backup.id]


@pytest.mark.parametrize("kinds", [("scale_cluster", "upgrade_cluster"), ("repair", "repair")])
def test_of_orders_at_the_same_moment_one_wins(start: Start, transactional_db: None, kinds: tuple[str, str]):
    """Also where no index of the database would keep them apart."""
    outcomes: list[str] = []
    ready = threading.Barrier(4, timeout=10)

    def order(kind: str) -> None:
        try:
            ready.wait()
            start(kind=kind)
            outcomes.append("accepted")
        except Conflict as error:
            outcomes.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=order, args=(kinds[number % 2],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(outcomes) == ["accepted"] + ["operation_in_progress"] * 3


def test_what_is_open_on_a_cluster_that_is_gone_ends_with_it(start: Start, api: ApiClient):
    repair = start(kind="repair", pausable=True, columns={**RUNNING, "state": "paused", "due_at": None})
    delete = start(kind="delete_cluster", columns=RUNNING)
    with transaction.atomic():
        turns.end_the_others(delete)
    shown = api.get(f"/operations/{repair.id}").json()
    assert (shown["state"], shown["reason"]["code"]) == ("cancelled", "cluster-deleted")
    assert now(delete).state == "running"


# What people do


def act(api: ApiClient, operation: Operation, verb: str) -> tuple[int, str]:
    answer = api.post(f"/operations/{operation.id}/{verb}")
    return answer.status_code, answer.json().get("error", {}).get("message", "")


def test_a_waiting_one_can_be_cancelled(api: ApiClient, start: Start):
    start(kind="scale_cluster", columns=RUNNING)
    backup = start(kind="backup")
    assert act(api, backup, "cancel")[0] == 202
    assert now(backup).due_at is not None


def test_pausing_is_noted_and_seen_at_once(api: ApiClient, start: Start):
    until = timezone.now() + timedelta(seconds=40)
    repair = start(kind="repair", pausable=True, columns={**RUNNING, "due_at": until})
    assert act(api, repair, "pause")[0] == 202
    assert now(repair).pause_requested_at is not None
    assert now(repair).due_at < until  # type: ignore[operator]
    assert AuditRecord.objects.get(action="operation.pause").target_id == repair.id
    assert act(api, repair, "resume")[0] == 202
    assert now(repair).pause_requested_at is None


@pytest.mark.parametrize(
    ("columns", "verb", "reason"),
    [
        ({"pausable": False}, "pause", "cannot be paused"),
        ({"state": "paused"}, "pause", "paused already"),
        ({"pause_requested_at": timezone.now()}, "pause", "about to pause"),
        ({"cancel_requested_at": timezone.now()}, "pause", "being cancelled"),
        ({"state": "blocked"}, "pause", "retry or cancel"),
        ({"state": "pending", "waits_for": "op_1"}, "pause", "has not begun"),
        ({"state": "succeeded"}, "pause", "has ended"),
        ({}, "resume", "not paused"),
        ({"state": "paused", "waits_for": "op_1"}, "resume", "by itself"),
        ({"state": "cancelling"}, "resume", "being cancelled"),
        ({"state": "cancelled"}, "resume", "has ended"),
        ({"state": "paused", "attempt": 2}, "retry", "resume it"),
    ],
)
def test_it_says_why_not(api: ApiClient, start: Start, columns: dict[str, Any], verb: str, reason: str):
    repair = start(kind="repair", columns={**RUNNING, "pausable": True, **columns})
    status, message = act(api, repair, verb)
    assert (status, reason in message) == (409, True), message
    shown = api.get(f"/operations/{repair.id}").json()["allowed_actions"]
    assert {action["action"]: action["reason"] for action in shown}[f"{verb}_operation"] == message


def test_what_is_resumed_goes_on(api: ApiClient, start: Start):
    repair = start(kind="repair", pausable=True, columns={**RUNNING, "state": "paused", "due_at": None})
    assert act(api, repair, "resume")[0] == 202
    assert (now(repair).state, now(repair).due_at is None) == ("running", False)


def test_what_is_resumed_while_another_is_in_its_way_waits_for_that(api: ApiClient, start: Start):
    repair = start(kind="repair", pausable=True, columns={**RUNNING, "state": "paused", "due_at": None})
    replace = start(kind="replace_node", columns=RUNNING)
    answer = api.post(f"/operations/{repair.id}/resume").json()
    assert (answer["state"], answer["waits_for"]["id"]) == ("paused", replace.id)
    assert end(replace) == [repair.id]


def test_a_stranger_may_not_even_know_of_pausing(stranger: Tenant, start: Start):
    repair = start(kind="repair", pausable=True, columns=RUNNING)
    assert {act(stranger.api(), repair, verb)[0] for verb in ("pause", "resume")} == {404}
