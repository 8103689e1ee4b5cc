"""Prometheus' alerting rules, made from the catalogue. Pure; infra/metrics/prometheus.py writes the file.

Nothing in them is any cluster's own: thresholds and waiting times are series that the control plane serves
(facts.py), and each rule is joined with those of its cluster. A changed threshold is a sample, not a file: see
docs/decisions/0035. Three steps:

1. `alert:condition{rule=…}`: what is beyond its cluster's threshold, with its value.
2. `alert:since{rule=…}`: since when, in seconds since 1970. It reads its own last value, so it goes on over a restart
   of Prometheus that is shorter than five minutes, and begins anew when the condition was away.
3. An alert of each rule, as soon as the condition has lasted for as long as its cluster wants.
"""

from typing import Any

from backend.alerts.catalogue import RULES, AlertRule
from backend.alerts.states import AlertComparison

THRESHOLD = "ringmaster_alert_threshold"
FOR_SECONDS = "ringmaster_alert_for_seconds"
CONDITION = "alert:condition"
SINCE = "alert:since"
KEPT = "1h"
"""For how long the control plane's last word counts while it does not answer."""

_FAST, _SLOW = "15s", "60s"


def rule_groups() -> dict[str, Any]:
    """The document of a rule file."""
    since = {"record": SINCE, "expr": f"({SINCE} and {CONDITION}) or timestamp({CONDITION})"}
    return {
        "groups": [
            _group("ringmaster-alert-conditions", _FAST, [_condition(rule) for rule in RULES if not rule.slow]),
            _group("ringmaster-alert-conditions-slow", _SLOW, [_condition(rule) for rule in RULES if rule.slow]),
            _group("ringmaster-alerts", _FAST, [since, *(_alert(rule) for rule in RULES)]),
        ]
    }


def _group(name: str, interval: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "interval": interval, "rules": rules}


def _of_cluster(series: str, rule: AlertRule) -> str:
    """The cluster's own number. One for each cluster, also in the moment in which two processes served it."""
    return f'on (cluster) group_left () max by (cluster) (last_over_time({series}{{rule="{rule.key}"}}[{KEPT}]))'


def _condition(rule: AlertRule) -> dict[str, Any]:
    sign = ">" if rule.comparison is AlertComparison.ABOVE else "<"
    return {
        "record": CONDITION,
        "expr": f"({rule.value}) {sign} {_of_cluster(THRESHOLD, rule)}",
        "labels": {"rule": rule.key.value},
    }


def _alert(rule: AlertRule) -> dict[str, Any]:
    mine = f'{{rule="{rule.key}"}}'
    lasted = f"time() - {SINCE}{mine} >= {_of_cluster(FOR_SECONDS, rule)}"
    return {
        "alert": rule.key.value,
        "expr": f"{CONDITION}{mine} and ({lasted})",
        "labels": {"severity": rule.severity.value},
        "annotations": {"title": rule.title, "value": "{{ $value }}"},
    }
