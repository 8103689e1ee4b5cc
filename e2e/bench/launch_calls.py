"""Calls to the cloud per node created, and our part of the wall time, against a script that does the bare minimum.

Both sides make the same things at the same emulated cloud, which runs in a process of its own: a network over three
zones with its firewall and racks, then 3, 9 and 30 machines with their tags, then one look whether all of them run.
Ours asks as operations do: for each machine first whether it is there. Rounds are interleaved. The ratio is the worst
of the three sizes, for calls and for time; that of calls must not grow with the size. Medians, since ours lists what
there is once a second and so makes more calls when the computer is busy. Prints one JSON object as its last line.

    python -m e2e.bench.launch_calls [--cloud aws|gcp] [--rounds 5]

Another cloud is another module like launch_calls_aws.py and a line in CLOUDS.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from e2e.bench.launch_calls_aws import aws
from e2e.bench.launch_calls_gcp import gcp

SIZES = (3, 9, 30)
MOST_RATIO = 1.5


@dataclass(frozen=True)
class Launch:
    """One cluster made: calls that arrived at the cloud, seconds until all its machines were known to run."""

    calls: int
    seconds: float


class Cloud(Protocol):
    """An emulated cloud and both ways to make a cluster there. What was made before is gone when a call begins."""

    def ours(self, machines: int) -> tuple[int, float]:
        """Calls and seconds."""
        ...

    def bare(self, machines: int) -> tuple[int, float]: ...


CLOUDS: dict[str, Callable[[], AbstractContextManager[Cloud]]] = {"aws": aws, "gcp": gcp}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cloud", choices=sorted(CLOUDS), default="aws")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with CLOUDS[options.cloud]() as cloud:
        return run(options.cloud, cloud, options.rounds)


def run(name: str, cloud: Cloud, rounds: int) -> int:
    launches: dict[tuple[str, int], list[Launch]] = {}
    for number in range(rounds + 1):
        for size in SIZES:
            sides = [("ours", cloud.ours), ("bare", cloud.bare)]
            for side, make in sides if number % 2 else reversed(sides):
                launch = Launch(*make(size))
                if number:  # the first round warms both sides
                    launches.setdefault((side, size), []).append(launch)
                print(
                    f"round {number}: {side}, {size} machines: {launch.calls} calls, {launch.seconds:.2f} s", flush=True
                )
    calls = {key: statistics.median_low(one.calls for one in made) for key, made in launches.items()}
    seconds = {key: statistics.median(one.seconds for one in made) for key, made in launches.items()}
    call_ratios = [calls["ours", size] / calls["bare", size] for size in SIZES]
    time_ratios = [seconds["ours", size] / seconds["bare", size] for size in SIZES]
    largest = SIZES[-1]
    worst = max(*call_ratios, *time_ratios)
    per_node = ", ".join(f"{calls['ours', size] / size:.2f} for {size}" for size in SIZES)
    bare_per_node = ", ".join(f"{calls['bare', size] / size:.2f}" for size in SIZES)
    print(
        json.dumps(
            {
                "name": f"launch_calls_{name}",
                "ours": round(seconds["ours", largest], 3),
                "other": round(seconds["bare", largest], 3),
                "unit": "s",
                "ratio": round(worst, 3),
                "runs": rounds,
                "notes": f"seconds are those of {largest} machines; calls per node {per_node}, bare {bare_per_node}; "
                f"ratio of calls {_listed(call_ratios)}, of time {_listed(time_ratios)} for {SIZES}",
            }
        )
    )
    return 0 if worst <= MOST_RATIO and call_ratios[-1] <= call_ratios[0] else 1


def _listed(ratios: list[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


if __name__ == "__main__":
    sys.exit(main())
