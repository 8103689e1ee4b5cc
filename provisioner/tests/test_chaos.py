"""Many operations of mixed kinds under fire: workers shot and frozen, messages lost and doubled, Redis and Postgres
restarted, the broker away, providers and agents failing before and after the effect.

RINGMASTER_CHAOS_OPERATIONS and RINGMASTER_CHAOS_SECONDS make it bigger (full size: 300 and 240);
RINGMASTER_CHAOS_SEED replays a campaign.
"""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.chaos

OPERATIONS = int(os.environ.get("RINGMASTER_CHAOS_OPERATIONS", "100"))
SECONDS = float(os.environ.get("RINGMASTER_CHAOS_SECONDS", "75"))
SEED = os.environ.get("RINGMASTER_CHAOS_SEED")


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """What a campaign found. A process of its own, as it aims Django at a Postgres of its own."""
    command = [sys.executable, "-m", "provisioner.tests.chaos_campaign", f"--operations={OPERATIONS}"]
    command += [f"--seconds={SECONDS}", *([f"--seed={SEED}"] if SEED else [])]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO_")}
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=4 * SECONDS + 180
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    sys.stdout.write(f"chaos: {json.dumps(found)}\n")
    return found


def test_every_operation_finishes(report: dict[str, Any]) -> None:
    assert report["unfinished"] == []
    assert sum(report["endings"].values()) == OPERATIONS + report["by_itself"]


def test_both_ends_were_reached(report: dict[str, Any]) -> None:
    assert set(report["endings"]) == {"succeeded", "cancelled"}


def test_every_kind_of_fault_struck(report: dict[str, Any]) -> None:
    assert len(report["faults"]) == 11
    assert report["provider_faults"] > 0


def test_kinds_were_mixed_and_met_each_other(report: dict[str, Any]) -> None:
    assert len(report["kinds"]) >= 4
    assert report["waited"] + sum(report["refused_orders"].values()) > 0


def test_nothing_ran_beside_what_it_does_not_go_with(report: dict[str, Any]) -> None:
    assert report["beside_each_other"] == []


def test_every_change_of_a_ring_was_safe(report: dict[str, Any]) -> None:
    assert report["membership_looks"] > 0
    assert report["membership"] == []


def test_no_tenant_sees_another(report: dict[str, Any]) -> None:
    assert report["seen_by_others"] == []


def test_no_step_is_recorded_twice(report: dict[str, Any]) -> None:
    assert report["recorded_twice"] == []


def test_no_two_workers_have_an_operation_at_once(report: dict[str, Any]) -> None:
    assert report["overlaps"] == []
    assert report["leases_left"] == 0


def test_nothing_is_made_twice_leaked_or_missing(report: dict[str, Any]) -> None:
    assert report["made_twice"] == []
    assert report["leaked"] == []
    assert report["missing"] == []


def test_no_worker_goes_deaf(report: dict[str, Any]) -> None:
    assert report["deaf_workers"] == 0


def test_backups_keep_their_promises(report: dict[str, Any]) -> None:
    assert report["kinds"].get("backup", 0) > 0
    assert report["backup_trouble"] == []
