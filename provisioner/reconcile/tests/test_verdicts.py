"""What a look means: every situation of a node, with what its agent, its neighbours and its provider say."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.findings.states import Severity
from provisioner.agent.base import Disk, Peer, RingStatus, Status
from provisioner.reconcile import signs
from provisioner.reconcile.looks import Look, MachineFact
from provisioner.reconcile.verdicts import all_is_well, judge

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def status(address: str = "a", *, peers: dict[str, bool] | None = None, **fields: Any) -> Status:
    ring = RingStatus(
        host_id=address,
        datacenter="dc",
        rack="r",
        schema_version="1",
        tokens=(),
        peers=tuple(
            Peer(address=peer, host_id=peer, datacenter="dc", rack="r", schema_version="1", up=up)
            for peer, up in (peers or {}).items()
        ),
    )
    usual: dict[str, Any] = {
        "node_id": address,
        "agent_version": "1",
        "engine_state": "running",
        "engine_version": "5",
        "cql_ready": True,
        "restarts": 0,
        "last_error": "",
        "ring": ring,
        "mode": "NORMAL",
    }
    return Status(**usual | fields)


def node(**fields: Any) -> Node:
    return Node(**{"id": "nod_a", "name": "demo-a-1", "address": "a", "state": NodeState.UP} | fields)


STOPPED: dict[str, Any] = {"engine_state": "stopped", "cql_ready": False, "ring": None, "mode": ""}


@pytest.mark.parametrize(
    ("row", "seen", "state"),
    [
        ({}, status(), NodeState.UP),
        ({}, status(mode="JOINING"), NodeState.JOINING),
        ({}, status(mode="LEAVING"), NodeState.LEAVING),
        ({}, status(cql_ready=False), NodeState.DOWN),
        ({}, status(**STOPPED), NodeState.DOWN),
        ({}, status(**STOPPED | {"engine_state": "starting"}), NodeState.DOWN),
        ({}, status(**STOPPED | {"engine_state": "failed"}), NodeState.DOWN),
        ({"stop_wanted": True}, status(**STOPPED), NodeState.STOPPED),
        ({"stop_wanted": True}, status(), NodeState.UP),
        ({"stop_wanted": True}, status(**STOPPED | {"engine_state": "failed"}), NodeState.DOWN),
        ({}, status(**STOPPED, local_data_lost=True), NodeState.DATA_LOST),
        ({"stop_wanted": True}, status(**STOPPED, local_data_lost=True), NodeState.DATA_LOST),
    ],
)
def test_an_agent_that_answers_is_believed(row: dict[str, Any], seen: Status, state: NodeState) -> None:
    assert judge(Look(node=node(**row), status=seen), [seen]).state is state


@pytest.mark.parametrize(
    ("opinions", "machine", "state"),
    [
        ([], MachineFact.UNKNOWN, NodeState.UNOBSERVED),
        ([], MachineFact.RUNNING, NodeState.UNOBSERVED),
        ([], MachineFact.STARTING, NodeState.UNOBSERVED),
        ([], MachineFact.STOPPED, NodeState.DOWN),
        ([], MachineFact.GONE, NodeState.DOWN),
        ([True, True], MachineFact.STOPPED, NodeState.DOWN),
        ([False], MachineFact.RUNNING, NodeState.UNOBSERVED),
        ([False, True], MachineFact.RUNNING, NodeState.UNOBSERVED),
        ([False, False], MachineFact.RUNNING, NodeState.DOWN),
        ([False, False, True], MachineFact.RUNNING, NodeState.DOWN),
        ([False, False, True, True], MachineFact.UNKNOWN, NodeState.UNOBSERVED),
        ([True, True], MachineFact.RUNNING, NodeState.UNOBSERVED),
    ],
)
def test_a_silent_node_is_down_only_by_majority_or_by_its_providers_word(
    opinions: list[bool], machine: MachineFact, state: NodeState
) -> None:
    views = [status(f"n{number}", peers={"a": up}) for number, up in enumerate(opinions)]
    assert judge(Look(node=node(), status=None, fault="no", machine=machine), views).state is state


@pytest.mark.parametrize(
    ("peers", "members", "well"),
    [
        ({"b": True, "c": True}, 3, True),
        ({"b": True, "c": False}, 3, False),
        ({"b": True}, 3, False),
        ({"b": True, "c": True, "d": True}, 3, False),
    ],
)
def test_one_look_vouches_for_a_cluster_only_when_all_is_well(peers: dict[str, bool], members: int, well: bool) -> None:
    assert all_is_well(Look(node=node(), status=status(peers=peers)), members) is well


def said(look: Look, views: list[Status] | None = None, known: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    found = signs.of_state(look, judge(look, views or []), views or [], known) + signs.of_facts(look, known, NOW)
    return [(sign.code, sign.severity) for sign in found]


def full(used: float) -> Disk:
    return Disk(total_bytes=1000, free_bytes=round(1000 * (1 - used)))


@pytest.mark.parametrize(
    ("look", "known", "codes"),
    [
        (Look(node=node(), status=status()), [], []),
        (Look(node=node(), status=status(**STOPPED)), [], [("engine-down", "critical")]),
        (Look(node=node(stop_wanted=True), status=status(**STOPPED)), [], []),
        (
            Look(node=node(), status=status(**STOPPED, local_data_lost=True)),
            [],
            [("local-data-lost", "critical")],
        ),
        (Look(node=node(), status=None, machine=MachineFact.STOPPED), [], [("machine-off", "critical")]),
        (Look(node=node(), status=None, machine=MachineFact.GONE), [], [("machine-gone", "critical")]),
        # What it was at first sight it stays: the time it has been dead counts from there.
        (Look(node=node(), status=None, machine=MachineFact.GONE), ["machine-off"], [("machine-off", "critical")]),
        (Look(node=node(), status=None, machine=MachineFact.RUNNING), [], []),
        (
            Look(node=node(state=NodeState.UNOBSERVED), status=None, machine=MachineFact.RUNNING),
            [],
            [("agent-unreachable", "warning")],
        ),
        (Look(node=node(), status=status(disk=full(0.69))), [], []),
        (Look(node=node(), status=status(disk=full(0.70))), [], [("disk-filling", "warning")]),
        (Look(node=node(), status=status(disk=full(0.68))), ["disk-filling"], [("disk-filling", "warning")]),
        (Look(node=node(), status=status(disk=full(0.66))), ["disk-filling"], []),
        (Look(node=node(), status=status(disk=full(0.95))), [], [("disk-filling", "critical")]),
        (Look(node=node(), status=status(), clock_offset_ms=-600, clock_error_ms=5), [], [("clock-drift", "warning")]),
        # A slow answer leaves open when in between the clock was read.
        (Look(node=node(), status=status(), clock_offset_ms=-600, clock_error_ms=150), [], []),
        (Look(node=node(), status=status(), clock_offset_ms=6000, clock_error_ms=5), [], [("clock-drift", "critical")]),
        (
            Look(node=node(), status=status(engine_certificate_expires_at=NOW + timedelta(days=20))),
            [],
            [("certificate-ending", "warning")],
        ),
        (Look(node=node(), status=status(engine_certificate_expires_at=NOW + timedelta(days=22))), [], []),
        (
            Look(node=node(), status=status(engine_certificate_expires_at=NOW - timedelta(hours=1))),
            [],
            [("certificate-ending", "critical")],
        ),
    ],
)
def test_what_is_said_of_a_node(look: Look, known: list[str], codes: list[tuple[str, str]]) -> None:
    assert said(look, known=frozenset(known)) == codes


def test_a_node_that_most_others_do_not_reach_is_only_told_of() -> None:
    views = [status("b", peers={"a": False}), status("c", peers={"a": False})]
    look = Look(node=node(), status=status())
    assert judge(look, views).state is NodeState.UP
    assert said(look, views) == [("not-seen-by-ring", Severity.WARNING)]
