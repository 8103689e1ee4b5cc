"""What a pretended machine tells about its first boot and its tuning: all went well, unless a test says otherwise."""

from typing import Any

_CHECKS = {
    "clock-source": ("kvm-clock", "Reading the clock becomes a call into the hypervisor."),
    "io-properties": ("preset, written 0 days ago", "The engine's scheduler sends the disks too much, or too little."),
    "array": ("/dev/md0 of 2 disks", "One disk's throughput instead of that of all of them."),
    "file-system": ("xfs", "Others serialise direct writes that append."),
    "read-ahead": ("nvme0n1 4, nvme1n1 4", "Small random reads fetch up to 128 KiB each."),
    "scheduler": ("nvme0n1 none, nvme1n1 none", "The kernel sorts requests that NVMe sorts better."),
    "swap": ("", "A database that is swapped out answers in seconds instead of milliseconds."),
    "drift": ("none", "Somebody or something changed the machine after it was tuned."),
}
_NOT_APPLICABLE = {
    "governor": "The hypervisor decides how fast the cores run.",
    "cpuset": "A thread-pool engine runs on all CPUs unless the pinned profile is asked for.",
    "host-network": "This is no container.",
}
_STEPS = {
    "facts": (210, "fake fake.small, 8 CPUs"),
    "disk-decision": (35, "all disks are blank and the node is new"),
    "array": (1840, "/dev/md0 of 2 disks, mounted at /var/lib/cassandra"),
    "engine-folders": (4, "on the array"),
    "pinning-plan": (2, "interrupts on CPUs 0,4, 6 shards on 1-3,5-7"),
    "io-properties": (1, "from preset"),
    "tuning": (320, "41 files and settings changed"),
}


def report(
    *, checked_at: str, failing: dict[str, str], boot_step: str, boot_error: dict[str, str] | None
) -> dict[str, Any]:
    """`failing`: what was found, by check that fails. `boot_step`: at which the first boot is; empty: it is over.

    `boot_error`: code and message with which that step failed; None: it runs.
    """
    return {
        "checked_at": checked_at,
        "environment": "machine",
        "provider": "fake",
        "machine_type": "fake.small",
        "engine": "cassandra",
        "pins": {"cpus": 8, "irq": "0,4", "shards": "1-3,5-7", "n_shards": 6},
        "io": {
            "source": "preset",
            "written_at": "2026-01-01T00:00:00Z",
            "read_iops": 411_200,
            "read_bandwidth": 2_015_342_735,
            "write_iops": 181_500,
            "write_bandwidth": 808_775_652,
        },
        "checks": [_check(name, found, cost, failing) for name, (found, cost) in _CHECKS.items()]
        + [
            {"name": name, "status": "not-applicable", "found": "", "wanted": "", "cost": "", "reason": reason}
            for name, reason in _NOT_APPLICABLE.items()
        ],
        "first_boot": _first_boot(boot_step, boot_error),
        "warnings": [],
    }


def _check(name: str, good: str, cost: str, failing: dict[str, str]) -> dict[str, str]:
    return {
        "name": name,
        "status": "fail" if name in failing else "pass",
        "found": failing.get(name, good),
        "wanted": good,
        "cost": cost,
        "reason": "",
    }


def _first_boot(at: str, error: dict[str, str] | None) -> dict[str, Any]:
    names = list(_STEPS)
    done = names.index(at) if at else len(names)
    steps = []
    for position, (name, (milliseconds, message)) in enumerate(_STEPS.items()):
        failed = error is not None and name == at
        state = "succeeded" if position < done else "failed" if failed else "pending"
        began = position < done or failed
        steps.append(
            {
                "name": name,
                "state": state,
                "duration_ms": milliseconds if began else 0,
                "attempts": int(began),
                "message": message if state == "succeeded" else "",
                "error": error if failed else None,
            }
        )
    return {
        "state": "failed" if error is not None else "pending" if at else "succeeded",
        "started_at": "2026-01-01T00:00:00Z",
        "duration_ms": sum(step["duration_ms"] for step in steps),
        "steps": steps,
    }
