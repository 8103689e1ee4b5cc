"""What the owner of a cluster may set of ScyllaDB: a closed list with limits, and what each is in scylla.yaml.

Titles, descriptions and limits are data in backend/catalog/data/scylla.json; a test checks that both lists agree. Names
and defaults: https://docs.scylladb.com/manual/stable/reference/configuration-parameters.html
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from provisioner.engines import settings
from provisioner.engines.base import InvalidOption, SettingDifference
from provisioner.engines.settings import Choice, Setting, Truth, Whole

OFF = "off"
WRITE_ISOLATIONS = ("always", "only_rmw_uses_lwt", "forbid_rmw", "unsafe_rmw")
ALTERNATOR_PORT = 8043

_ISOLATION, _PORT = "alternator_write_isolation", "alternator_port"

# Nothing else of a node listens between these.
LOWEST_PORT, HIGHEST_PORT = 8000, 8999

SETTINGS: dict[str, Setting] = {
    "read_timeout_ms": Whole("read_request_timeout_in_ms", 100, 600_000),
    "range_timeout_ms": Whole("range_request_timeout_in_ms", 100, 600_000),
    "write_timeout_ms": Whole("write_request_timeout_in_ms", 100, 600_000),
    "counter_write_timeout_ms": Whole("counter_write_request_timeout_in_ms", 100, 600_000),
    "truncate_timeout_ms": Whole("truncate_request_timeout_in_ms", 1000, 3_600_000),
    "compaction_throughput_mib": Whole("compaction_throughput_mb_per_sec", 0, 4096),
    "stream_throughput_mib": Whole("stream_io_throughput_mb_per_sec", 0, 10_000),
    "tablets": Choice("tablets_mode_for_new_keyspaces", ("enabled", "disabled", "enforced")),
    "hinted_handoff_enabled": Truth("hinted_handoff_enabled"),
    "max_hint_window_ms": Whole("max_hint_window_in_ms", 60_000, 604_800_000),
    "commitlog_sync_period_ms": Whole("commitlog_sync_period_in_ms", 10, 60_000),
    "auto_snapshot": Truth("auto_snapshot"),
    "tombstone_warn_threshold": Whole("tombstone_warn_threshold", 1, 10_000_000),
    "batch_size_warn_kib": Whole("batch_size_warn_threshold_in_kb", 1, 65_536),
    "batch_size_fail_kib": Whole("batch_size_fail_threshold_in_kb", 1, 65_536),
}


@dataclass(frozen=True, kw_only=True)
class Alternator:
    """The DynamoDB API: HTTPS on this port. The engine has no default for how writes are isolated."""

    port: int
    write_isolation: str


@dataclass(frozen=True, kw_only=True)
class ScyllaOptions:
    """Checked settings, as the catalogue names them. What is left out has the engine's own value."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """What goes into scylla.yaml; Alternator's part needs addresses and certificates and is the agent's."""
        return settings.in_file(self.values, SETTINGS)

    @property
    def alternator(self) -> Alternator | None:
        """None: it is not offered."""
        isolation = self.values.get(_ISOLATION, OFF)
        if isolation == OFF:
            return None
        return Alternator(port=self.values.get(_PORT, ALTERNATOR_PORT), write_isolation=isolation)


def names() -> list[str]:
    return [*SETTINGS, _ISOLATION, _PORT]


def parse_options(options: Mapping[str, Any]) -> ScyllaOptions:
    """InvalidOption when one is unknown, of another type, or out of its limits."""
    isolation, port = options.get(_ISOLATION, OFF), options.get(_PORT, ALTERNATOR_PORT)
    if isolation not in (OFF, *WRITE_ISOLATIONS):
        raise InvalidOption(_ISOLATION, f"must be one of {', '.join((OFF, *WRITE_ISOLATIONS))}, not {isolation}")
    settings.check({_PORT: port}, {_PORT: Whole(_PORT, LOWEST_PORT, HIGHEST_PORT)})
    settings.check(options, SETTINGS, known=[_ISOLATION, _PORT])
    return ScyllaOptions(values=dict(options))


def differences(options: Mapping[str, Any], in_effect: Mapping[str, str]) -> list[SettingDifference]:
    """What a running engine has otherwise than wanted, see `settings.differences`. InvalidOption."""
    return settings.differences(parse_options(options).values, SETTINGS, in_effect)
