"""The baked image on a machine with two throttled NVMe disks: its first boot, and every later one, with real disks of a
real kernel. Slow: `make test-images` runs it and nothing else does.

The tests follow the life of one machine and depend on their order. Each boot is a minute or two of emulation.
"""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.emulation.machine import LocalDisk, Machine
from infra.emulation.site import Site, cloud, user_data
from infra.local.layout import layout

pytestmark = pytest.mark.images

DISKS = 2
IOPS = 400  # of a disk, reads and writes together; an emulated processor keeps up
BANDWIDTH = 24 << 20
MOST_SECONDS = 300  # of a test
DATA = "/var/lib/cassandra"


@pytest.fixture(autouse=True)
def _time_limit() -> Iterator[None]:
    def over(*_: object) -> None:
        raise TimeoutError(f"the test took more than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with cloud(layout()) as made:
        yield made


@dataclass
class Node:
    """The machine whose life the tests follow: its root disk and its local disks."""

    root: Path
    disks: list[LocalDisk]


@pytest.fixture(scope="module")
def node(site: Site) -> Node:
    return Node(site.root_disk("root"), blank_disks(site, "local"))


def blank_disks(site: Site, name: str) -> list[LocalDisk]:
    return [site.blank_disk(f"{name}-{number}", iops=IOPS, bandwidth=BANDWIDTH) for number in range(DISKS)]


def first_boot(booted: Machine) -> dict[str, Any]:
    """The report of the first boot, which the agent has whether or not it succeeded."""
    report: dict[str, Any] = booted.ask("ringmaster-agent report")["first_boot"]
    return report


def failure(report: dict[str, Any]) -> str:
    """The code of the step that failed."""
    assert report["state"] == "failed", report
    (failed,) = [step for step in report["steps"] if step["state"] == "failed"]
    return str(failed["error"]["code"])


@pytest.fixture(scope="module")
def fresh(site: Site, node: Node) -> Iterator[Machine]:
    """The node at its first boot, while the tests that want it run."""
    with ExitStack() as stack:
        booted = stack.enter_context(site.boot(node.root, node.disks))
        yield booted
        booted.power_off()


def test_fresh_disks_become_one_file_system(fresh: Machine, site: Site) -> None:
    report = first_boot(fresh)
    assert report["state"] == "succeeded", json.dumps(report, indent=1) + fresh.last_lines()
    names = [step["name"] for step in report["steps"]]
    assert names == ["facts", "disk-decision", "array", "engine-folders", "pinning-plan", "io-properties", "tuning"]
    assert "user-data" in site.instance.asked
    assert "meta-data/instance-type" in site.instance.asked

    mounted = fresh.run(f"findmnt --noheadings --output SOURCE,FSTYPE,OPTIONS {DATA}").split()
    assert mounted[1] == "xfs"
    assert {"noatime", "lazytime", "discard"} <= set(mounted[2].split(","))
    detail = fresh.run(f"mdadm --detail {mounted[0]}")
    assert "Raid Level : raid0" in detail
    assert "Raid Devices : 2" in detail
    assert "Chunk Size : 1024K" in detail


def test_nothing_is_left_out_at_boot(fresh: Machine) -> None:
    assert "ordering cycle" not in fresh.run("journalctl --boot --no-pager")
    assert fresh.run("systemctl --failed --plain --no-legend --state=failed").strip() == ""
    assert fresh.run("systemctl is-enabled ringmaster-agent").strip() == "enabled"


def test_the_kernel_is_as_the_image_and_the_plan_want_it(fresh: Machine) -> None:
    assert "intel_idle.max_cstate=1 processor.max_cstate=1" in fresh.run("cat /proc/cmdline")
    values = {"vm.max_map_count": "1048575", "vm.swappiness": "1", "fs.aio-max-nr": "30000000"}
    assert {name: fresh.run(f"sysctl -n {name}").strip() for name in values} == values
    assert "[madvise]" in fresh.run("cat /sys/kernel/mm/transparent_hugepage/enabled")
    for name in ("nvme0n1", "nvme1n1"):
        assert "[none]" in fresh.run(f"cat /sys/block/{name}/queue/scheduler")
        assert fresh.run(f"cat /sys/block/{name}/queue/read_ahead_kb").strip() == "4"
    checks = {check["name"]: check for check in fresh.ask("ringmaster-agent report")["checks"]}
    for name in ("array", "file-system", "mount-options", "read-ahead", "scheduler", "swap", "huge-pages", "drift"):
        assert checks[name]["status"] == "pass", checks[name]
    # Nothing was tuned by hand afterwards, so doing it again changes nothing.
    assert fresh.ask("ringmaster-agent tune") == {"changed": 0}


def test_nobody_who_baked_the_image_gets_in(fresh: Machine) -> None:
    assert fresh.run("cat /home/debian/.ssh/authorized_keys").count("ssh-ed25519") == 1
    assert fresh.run("for user in debian root; do passwd --status $user; done | cut -d' ' -f2").split() == ["L", "L"]


def test_measured_io_is_what_the_disks_are_throttled_to(
    fresh: Machine, record_property: Callable[[str, object], None]
) -> None:
    options = "--rounds 1 --ramp 1 --window 2 --limit 12 --file-mib 192"
    measured = fresh.ask(f"ringmaster-agent measure-io {options}", limit=200)
    assert "error" not in measured, measured
    wanted = {"read_iops": IOPS, "write_iops": IOPS, "read_bandwidth": BANDWIDTH, "write_bandwidth": BANDWIDTH}
    shares = {name: measured[name]["median"] / (DISKS * limit) for name, limit in wanted.items()}
    record_property("measured_to_throttle", {name: round(share, 3) for name, share in shares.items()})
    assert all(0.85 <= share <= 1.15 for share in shares.values()), (shares, measured)


def test_it_stops_at_half_an_array(site: Site, node: Node, fresh: Machine) -> None:
    fresh.run(f"echo rows >{DATA}/data/marker; sync")
    fresh.power_off()
    with site.boot(node.root, node.disks[:1]) as booted:
        assert failure(first_boot(booted)) == "array-incomplete"
        assert booted.run(f"mountpoint {DATA} || true").strip().endswith("is not a mountpoint")


def test_it_does_not_format_blank_disks_of_a_node_that_had_data(site: Site, node: Node) -> None:
    # Stopped and started again: AWS gives it other disks, and the user data still say that it is new.
    disks = blank_disks(site, "other")
    with site.boot(node.root, disks) as booted:
        assert failure(first_boot(booted)) == "local-data-lost"
    assert [disk.written() for disk in disks] == [0, 0]


def test_it_does_not_format_for_a_known_member_on_a_new_machine(site: Site) -> None:
    site.instance.user_data = user_data(membership="member")
    disks = blank_disks(site, "blank")
    with site.boot(site.root_disk("member"), disks) as booted:
        assert failure(first_boot(booted)) == "local-data-lost"
    assert [disk.written() for disk in disks] == [0, 0]


def test_a_reboot_with_its_disks_keeps_the_data(site: Site, node: Node) -> None:
    with site.boot(node.root, node.disks) as booted:
        report = first_boot(booted)
        assert report["state"] == "succeeded", json.dumps(report, indent=1)
        assert booted.run(f"cat {DATA}/data/marker").strip() == "rows"
