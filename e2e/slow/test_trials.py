"""The trials that take longest, each as a program of its own, as people run it."""

import json
import subprocess
import sys

import pytest

from e2e.serving import CHECKOUT

pytestmark = pytest.mark.slow

TRIALS = {
    "an order while workers and Redis are shot": ("order_under_fire",),
    "an order while agents, engines and Postgres are shot too": (
        *("order_under_fire", "--workers", "3", "--redis", "1"),
        *("--postgres", "1", "--agents", "3", "--engines", "2"),
    ),
    "a repair while what does it is shot": ("repair_under_fire",),
    "a repair at several intensities, and its brake": ("repair_pace",),
    "all changes, while an application works": ("driver_under_change",),
    "nodes without a control plane": ("static_stability",),
    "alerts, from a fault to a receiver": ("alerts",),
    "percentiles beside those of a load driver": ("percentiles",),
    "advice, applied and taken back": ("advice",),
    "a restore to a moment, into another shape": ("point_in_time",),
    "two of everything, of which one is shot": ("replicas", "--orders", "6"),
    "restore drills, and no machine is left": ("restore_drill",),
    "data of others, from copied snapshots and from Medusa": ("import_foreign",),
}


@pytest.mark.parametrize("trial", TRIALS)
def test_the_trial_ends_well(trial: str) -> None:
    name, *options = TRIALS[trial]
    ran = subprocess.run(
        [sys.executable, "-m", f"e2e.trials.{name}", *options],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=1800,
        check=False,
    )
    last = ran.stdout.splitlines()[-1]
    assert ran.returncode == 0, last
    assert json.loads(last)["good"]
