"""What an order may set of Cassandra: a closed list with limits, named after the settings of cassandra.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from provisioner.engines.base import InvalidOption


@dataclass(frozen=True, kw_only=True)
class CassandraOptions:
    """None: the engine's own value. Times are in milliseconds, throughput in MiB per second (0: no limit)."""

    compaction_throughput_mib: int | None = None
    read_timeout_ms: int | None = None
    write_timeout_ms: int | None = None

    def settings(self) -> dict[str, str]:
        """What goes into cassandra.yaml."""
        written = {
            "compaction_throughput": (self.compaction_throughput_mib, "MiB/s"),
            "read_request_timeout": (self.read_timeout_ms, "ms"),
            "write_request_timeout": (self.write_timeout_ms, "ms"),
        }
        return {name: f"{value}{unit}" for name, (value, unit) in written.items() if value is not None}


_LIMITS = {
    "compaction_throughput_mib": (0, 4096),
    "read_timeout_ms": (100, 600_000),
    "write_timeout_ms": (100, 600_000),
}


def parse_options(options: Mapping[str, Any]) -> CassandraOptions:
    """InvalidOption when one is unknown, no whole number, or out of its limits."""
    known = {option.name for option in fields(CassandraOptions)}
    for name, value in options.items():
        if name not in known:
            raise InvalidOption(name, f"unknown; there are {', '.join(sorted(known))}")
        low, high = _LIMITS[name]
        # A boolean is a whole number to Python, but not to the one who ordered.
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise InvalidOption(name, f"must be a whole number from {low} to {high}")
    return CassandraOptions(**options)
