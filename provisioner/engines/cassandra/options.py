"""What the owner of a cluster may set of Cassandra: a closed list with limits, and what each is in cassandra.yaml.

Titles, descriptions and limits are data in backend/catalog/data/cassandra.json; a test checks that both lists agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from provisioner.engines import settings
from provisioner.engines.base import InvalidOption, SettingDifference
from provisioner.engines.settings import Setting, Truth, Whole

COLLECTORS = ("default", "serial", "g1", "zgc")
_COLLECTOR = "gc"

SETTINGS: dict[str, Setting] = {
    "read_timeout_ms": Whole("read_request_timeout", 100, 600_000, "ms"),
    "range_timeout_ms": Whole("range_request_timeout", 100, 600_000, "ms"),
    "write_timeout_ms": Whole("write_request_timeout", 100, 600_000, "ms"),
    "counter_write_timeout_ms": Whole("counter_write_request_timeout", 100, 600_000, "ms"),
    "truncate_timeout_ms": Whole("truncate_request_timeout", 1000, 3_600_000, "ms"),
    "slow_query_threshold_ms": Whole("slow_query_log_timeout", 0, 600_000, "ms"),
    "concurrent_reads": Whole("concurrent_reads", 1, 1024),
    "concurrent_writes": Whole("concurrent_writes", 1, 1024),
    "compaction_throughput_mib": Whole("compaction_throughput", 0, 4096, "MiB/s"),
    "concurrent_compactors": Whole("concurrent_compactors", 1, 64),
    "stream_throughput_mib": Whole("stream_throughput_outbound", 0, 10_000, "MiB/s"),
    "hinted_handoff_enabled": Truth("hinted_handoff_enabled"),
    "max_hint_window_minutes": Whole("max_hint_window", 1, 10_080, "m"),
    "hinted_handoff_throttle_kib": Whole("hinted_handoff_throttle", 1, 1_048_576, "KiB"),
    "cdc_enabled": Truth("cdc_enabled"),
    "cdc_total_space_mib": Whole("cdc_total_space", 64, 1_048_576, "MiB"),
    "commitlog_sync_period_ms": Whole("commitlog_sync_period", 10, 60_000, "ms"),
    "auto_snapshot": Truth("auto_snapshot"),
    "key_cache_mib": Whole("key_cache_size", 0, 4096, "MiB"),
    "row_cache_mib": Whole("row_cache_size", 0, 65_536, "MiB"),
    "tombstone_warn_threshold": Whole("tombstone_warn_threshold", 1, 10_000_000),
    "tombstone_fail_threshold": Whole("tombstone_failure_threshold", 1, 100_000_000),
    "batch_size_warn_kib": Whole("batch_size_warn_threshold", 1, 65_536, "KiB"),
    "batch_size_fail_kib": Whole("batch_size_fail_threshold", 1, 65_536, "KiB"),
}


@dataclass(frozen=True, kw_only=True)
class CassandraOptions:
    """Checked settings, as the catalogue names them. What is left out has the engine's own value."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """What goes into cassandra.yaml."""
        return settings.in_file(self.values, SETTINGS)

    @property
    def collector(self) -> str | None:
        """None: what suits the heap."""
        chosen = self.values.get(_COLLECTOR, "default")
        return None if chosen == "default" else str(chosen)


def names() -> list[str]:
    return [*SETTINGS, _COLLECTOR]


def parse_options(options: Mapping[str, Any]) -> CassandraOptions:
    """InvalidOption when one is unknown, of another type, or out of its limits."""
    if (collector := options.get(_COLLECTOR, "default")) not in COLLECTORS:
        raise InvalidOption(_COLLECTOR, f"must be one of {', '.join(COLLECTORS)}, not {collector}")
    settings.check(options, SETTINGS, known=[_COLLECTOR])
    return CassandraOptions(values=dict(options))


def differences(options: Mapping[str, Any], in_effect: Mapping[str, str]) -> list[SettingDifference]:
    """What a running engine has otherwise than wanted, see `settings.differences`. InvalidOption."""
    return settings.differences(parse_options(options).values, SETTINGS, in_effect)
