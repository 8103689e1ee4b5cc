"""What the owner of a cluster may set of Cassandra: a closed list with limits, and what each is in cassandra.yaml.

Titles, descriptions and limits are data in backend/catalog/data/cassandra.json; a test checks that both lists agree.
Here is what the catalogue must not know: the engine's own names and units.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from provisioner.engines.base import InvalidOption, SettingDifference

COLLECTORS = ("default", "serial", "g1", "zgc")
_COLLECTOR = "gc"


@dataclass(frozen=True)
class Whole:
    """A whole number with these limits, written with this unit; without one it is written as a number."""

    yaml: str
    low: int
    high: int
    unit: str = ""


@dataclass(frozen=True)
class Truth:
    yaml: str


SETTINGS: dict[str, Whole | Truth] = {
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

# Factors to the smallest unit of a kind, as the engine writes values back.
_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}
_BYTES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_RATES = {f"{unit}/s": factor for unit, factor in _BYTES.items()}


@dataclass(frozen=True, kw_only=True)
class CassandraOptions:
    """Checked settings, as the catalogue names them. What is left out has the engine's own value."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """What goes into cassandra.yaml."""
        return {
            setting.yaml: _written(setting, self.values[name])
            for name, setting in SETTINGS.items()
            if name in self.values
        }

    @property
    def collector(self) -> str | None:
        """None: what suits the heap."""
        chosen = self.values.get(_COLLECTOR, "default")
        return None if chosen == "default" else str(chosen)


def names() -> list[str]:
    return [*SETTINGS, _COLLECTOR]


def parse_options(options: Mapping[str, Any]) -> CassandraOptions:
    """InvalidOption when one is unknown, of another type, or out of its limits."""
    for name, value in options.items():
        if name == _COLLECTOR:
            if value not in COLLECTORS:
                raise InvalidOption(name, f"must be one of {', '.join(COLLECTORS)}")
            continue
        match SETTINGS.get(name):
            case None:
                raise InvalidOption(name, f"unknown; there are {', '.join(sorted(names()))}")
            case Truth():
                if not isinstance(value, bool):
                    raise InvalidOption(name, "must be true or false")
            case Whole(low=low, high=high):
                # A boolean is a whole number to Python, but not to the one who ordered.
                if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                    raise InvalidOption(name, f"must be a whole number from {low} to {high}")
    return CassandraOptions(values=dict(options))


def differences(options: Mapping[str, Any], in_effect: Mapping[str, str]) -> list[SettingDifference]:
    """Settings whose value in a running engine is not the wanted one, with both as the engine writes them.

    `in_effect`: what the engine tells by its own names (the job `settings`); of what it does not tell nothing is said.
    InvalidOption.
    """
    values = parse_options(options).values
    found = []
    for name, setting in SETTINGS.items():
        if name not in values or setting.yaml not in in_effect:
            continue
        wanted, is_now = _written(setting, values[name]), in_effect[setting.yaml]
        if _measure(_shown(wanted)) != _measure(is_now):
            found.append(SettingDifference(setting=name, wanted=_shown(wanted), found=is_now))
    return found


def _written(setting: Whole | Truth, value: Any) -> Any:
    return f"{value}{setting.unit}" if isinstance(setting, Whole) and setting.unit else value


def _measure(text: str) -> float | str:
    """A value as one number whatever its unit, so that 1s is 1000ms; words as they are, in lower case."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/µ")
    unit = text[len(digits) :]
    try:
        number = float(digits)
    except ValueError:
        return text.lower()
    for units in (_MILLISECONDS, _BYTES, _RATES):
        if unit in units:
            return number * units[unit]
    return number if not unit else text.lower()


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
