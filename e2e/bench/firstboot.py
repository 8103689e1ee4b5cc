"""Seconds of a machine's first boot by step, and of its disks against a script that makes the same by hand.

In the emulated machine of `make test-images`, with two blank disks that are hardly throttled. Ours looks at the disks,
decides, makes the array and the file system, mounts it, writes whose it is and puts the engine's folders there; the
script runs mdadm, mkfs.xfs and mount, and asks nothing. Both in the same machine, in turns, from blank disks. The steps
are those of the real first boot. Emulated processors are slow: seconds here are not those of a cloud's machine, the
ratio is nearer. Prints one JSON object as its last line.

    python -m e2e.bench.firstboot [--rounds 5]
"""

import argparse
import json
import statistics
import sys
import time
from typing import Any

from infra.emulation.machine import Machine
from infra.emulation.site import cloud
from infra.local.layout import layout

MOST_RATIO = 3.0
DATA = "/var/lib/cassandra"
_DISK_STEPS = ("disk-decision", "array", "engine-folders")
_BLANK = f"""
if mountpoint -q {DATA}; then umount {DATA}; fi
for array in /dev/md?*; do if [ -b "$array" ]; then mdadm --quiet --stop "$array"; fi; done
for disk in /dev/nvme0n1 /dev/nvme1n1; do wipefs --quiet --all "$disk"; blkdiscard -f "$disk"; done
rm -rf /var/lib/ringmaster/machine
udevadm settle
"""
_BARE = f"""
set -e
mdadm --create /dev/md/data --run --level=0 --chunk=1024 --raid-devices=2 /dev/nvme0n1 /dev/nvme1n1
udevadm settle
mkfs.xfs -q -f -K /dev/md/data
udevadm settle
mkdir -p {DATA}
mount -o noatime,discard,lazytime /dev/md/data {DATA}
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with cloud(layout()) as site:
        disks = [site.blank_disk(f"bench-{number}", iops=20_000, bandwidth=1 << 30) for number in range(2)]
        began = time.monotonic()
        with site.boot(site.root_disk("bench"), disks) as booted:
            booting = time.monotonic() - began
            cold = booted.ask("ringmaster-agent report")["first_boot"]
            ours, bare = _in_turns(booted, rounds)
    steps = {step["name"]: step["duration_ms"] / 1000 for step in cold["steps"]}
    mine, other = statistics.median(ours), statistics.median(bare)
    print(
        json.dumps(
            {
                "name": "firstboot",
                "ours": round(mine, 3),
                "other": round(other, 3),
                "unit": "s",
                "ratio": round(mine / other, 3),
                "runs": rounds,
                "steps": steps,
                "notes": f"disks only, against mdadm, mkfs.xfs and mount by hand; the whole first boot took "
                f"{cold['duration_ms'] / 1000:.1f} s of the {booting:.0f} s until the emulated machine was up",
            }
        )
    )
    return 0 if mine / other <= MOST_RATIO else 1


def _in_turns(booted: Machine, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds for the disks, measured in the machine: ours and the script's."""
    ours, bare = [], []
    for number in range(rounds):
        for side in ("ours", "bare") if number % 2 else ("bare", "ours"):
            booted.run(_BLANK)
            seconds = _ours(booted) if side == "ours" else _bare(booted)
            (ours if side == "ours" else bare).append(seconds)
            print(f"round {number}: {side} {seconds:.2f} s", flush=True)
    return ours, bare


def _ours(booted: Machine) -> float:
    report: dict[str, Any] = booted.ask("ringmaster-agent firstboot")
    if report["state"] != "succeeded":
        raise RuntimeError(json.dumps(report, indent=1))
    return sum(float(step["duration_ms"]) for step in report["steps"] if step["name"] in _DISK_STEPS) / 1000


def _bare(booted: Machine) -> float:
    timed = f"began=$(date +%s%N)\n{_BARE}\necho took $(( $(date +%s%N) - began ))"
    printed = booted.run(timed)
    return int(printed.rsplit("took ", 1)[1]) / 1e9


if __name__ == "__main__":
    sys.exit(main())
