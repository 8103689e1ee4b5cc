"""The words of a tuning report, and what a failed first boot means. Codes and names are the agent's (docs/node.md)."""

from dataclasses import dataclass
from enum import StrEnum

FIGURES = ("read_iops", "read_bandwidth", "write_iops", "write_bandwidth")


class Verdict(StrEnum):
    """How far rounds of a measurement spread about their median: 5 %, 15 %, or more."""

    STABLE = "stable"
    USABLE = "usable"
    NOISY = "noisy"


class CheckStatus(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not-applicable"


class BootState(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PENDING = "pending"


class Environment(StrEnum):
    MACHINE = "machine"
    CONTAINER = "container"
    SHARED = "shared"


CHECK_TITLES = {
    "clock-source": "Clock source",
    "governor": "CPU governor",
    "irq-cpus": "CPUs that take interrupts",
    "cpuset": "CPUs of the engine",
    "io-properties": "What the engine knows of its disks",
    "array": "Disk array",
    "file-system": "File system",
    "mount-options": "Mount options",
    "read-ahead": "Read-ahead",
    "scheduler": "I/O scheduler",
    "swap": "Swap",
    "huge-pages": "Huge pages",
    "limits": "Limits of the engine's process",
    "clock-sync": "Clock synchronisation",
    "versions": "Versions",
    "host-network": "Network of the host",
    "seccomp": "System call filter",
    "drift": "Changes since tuning",
}
STEP_TITLES = {
    "facts": "Look at the machine",
    "disk-decision": "Decide about the disks",
    "array": "Make or mount the array",
    "engine-folders": "Make the engine's folders",
    "pinning-plan": "Plan which CPUs do what",
    "io-properties": "Find out what the disks can do",
    "tuning": "Tune the machine",
}


def title_of(name: str, titles: dict[str, str]) -> str:
    """An agent that is newer than this may have others."""
    return titles.get(name) or name.replace("-", " ").capitalize()


@dataclass(frozen=True)
class Advice:
    """What a failure of the first boot means, and what a person does about it."""

    meaning: str
    hint: str


_ANOTHER_MACHINE = "Cancel the operation, so that the machine is deleted, and order again."
_LOOK = "Look at `journalctl -u ringmaster-firstboot` on the machine; after a reboot it tries again, then retry."
_UNKNOWN = Advice("The machine was not made ready for its database.", _LOOK)
_ADVICE = {
    "metadata-unreachable": Advice(
        "The cloud's metadata service did not answer the machine.",
        "Restart the machine, then retry. If that does not help, see whether its image blocks 169.254.169.254.",
    ),
    "metadata-refused": Advice(
        "The cloud's metadata service refused the machine.",
        "See whether the machine may use the metadata service (AWS: IMDSv2), restart it, then retry.",
    ),
    "local-data-lost": Advice(
        "The disks are blank, but this machine has held data: it was stopped, and local disks do not survive that.",
        "Nothing was formatted. "
        + _ANOTHER_MACHINE
        + " A node that was in service is replaced; the other replicas have its rows.",
    ),
    "foreign-data": Advice(
        "The disks hold something that is not this node's, and it was not touched.",
        "See what it is. If nobody needs it: " + _ANOTHER_MACHINE[0].lower() + _ANOTHER_MACHINE[1:],
    ),
    "array-incomplete": Advice(
        "A disk of the array is missing, so the data cannot be read; nothing was touched.",
        _ANOTHER_MACHINE + " A node that was in service is replaced.",
    ),
    "no-local-disks": Advice(
        "The machine has no local disk for data.",
        "Choose a machine type with local NVMe disks. " + _ANOTHER_MACHINE,
    ),
    "pinning-refused": Advice(
        "The machine's CPUs are not laid out evenly, so which ones take interrupts cannot be chosen by rule.",
        "Name the CPUs (`allowed_cpus` of the machine), or choose another machine type.",
    ),
    "reshard-needed": Advice(
        "The machine has another number of CPUs for the engine than the data was written with.",
        "Go back to the machine type it had, or allow the engine to lay its data out anew (`accept_reshard`).",
    ),
    "unknown-engine": Advice(
        "The image's agent does not know this engine.", "Build the image anew with this release's agent."
    ),
    "presets-unreadable": Advice(
        "The image's table of disk figures cannot be read.",
        "Build the image anew; `packer validate` finds what is wrong.",
    ),
    "tuning-failed": Advice("The kernel refused a setting that is needed.", _LOOK),
    "step-timeout": Advice("A step of the first boot took too long.", _LOOK),
    "step-failed": Advice("A step of the first boot failed three times.", _LOOK),
}


def advice(code: str) -> Advice:
    return _ADVICE.get(code, _UNKNOWN)
