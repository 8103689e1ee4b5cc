"""Memory of the computer at hand, in MiB."""

from pathlib import Path


def total_mib() -> int:
    return _read("MemTotal")


def available_mib() -> int:
    """What programs can get without swapping, by the kernel's own estimate."""
    return _read("MemAvailable")


def _read(field: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) // 1024  # the file counts in KiB
    raise LookupError(f"/proc/meminfo has no {field}")
