"""Alerts as sentences. Pure."""

from collections.abc import Mapping

from backend.alerts.catalogue import RULES, AlertRule
from backend.alerts.states import AlertUnit

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
# Labels that say who it is about without more words.
_HIDDEN = frozenset({"alertname", "rule", "severity", "organisation", "cluster", "datacenter", "zone", "node"})


def amount(value: float, unit: AlertUnit) -> str:
    match unit:
        case AlertUnit.NONE:
            return ""
        case AlertUnit.RATIO:
            return f"{value * 100:.1f} %"
        case AlertUnit.SECONDS:
            return _time(value)
        case AlertUnit.BYTES:
            return _size(value)
        case AlertUnit.PER_SECOND:
            return f"{value:.3g} per second"
        case AlertUnit.COUNT:
            return f"{value:.4g}"


def _time(seconds: float) -> str:
    for name, size in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds * 1000:.3g} ms" if abs(seconds) < 1 else f"{seconds:.3g} s"


def _size(size: float) -> str:
    power = 0
    while abs(size) >= 1024 and power < len(_BYTES) - 1:
        size, power = size / 1024, power + 1
    return f"{size:.4g} {_BYTES[power]}"


def about(labels: Mapping[str, str], *, node: str) -> str:
    """Who an alert is about within its cluster: a node by name, a table, or what other labels say; may be empty."""
    parts = [node] if node else []
    if labels.get("table"):
        parts.append(f"{labels.get('keyspace', '')}.{labels['table']}")
    rest = {name: text for name, text in labels.items() if name not in _HIDDEN | {"keyspace", "table"}}
    parts += [f"{name} {text}" for name, text in sorted(rest.items())]
    return ", ".join(parts)


def sentence(rule: AlertRule, *, value: float | None, threshold: float | None, who: str) -> str:
    """`Disk 80 % full: 83.1 % (limit 80.0 %): orders-a-1`."""
    said = rule.title
    if value is not None and rule.unit is not AlertUnit.NONE:
        said += f": {amount(value, rule.unit)}"
        if threshold is not None:
            said += f" (limit {amount(threshold, rule.unit)})"
    return f"{said}: {who}" if who else said


def rule_of(labels: Mapping[str, str]) -> AlertRule | None:
    """The rule that an alert is of; None for one that this release does not have."""
    return next((rule for rule in RULES if rule.key == labels.get("rule")), None)
