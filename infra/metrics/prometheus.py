"""What is made of the catalogues of charts and alerts: rules for Prometheus, and Grafana's dashboards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from backend.alerts import rules as alerts
from backend.metrics.catalogue import CHARTS
from backend.metrics.charts import DASHBOARD_TITLES, Chart, Dashboard, Query, Unit
from backend.metrics.promql import Resolution, expanded
from backend.metrics.rules import rule_groups

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "infra" / "deploy" / "prometheus" / "rules"
GRAFANA = ROOT / "infra" / "deploy" / "grafana"

_HEADER = "# Made by `make generate` from backend/metrics/catalogue.py and the vocabulary of metrics. Do not edit.\n"
_ALERTS_HEADER = "# Made by `make generate` from backend/alerts/catalogue.py. Do not edit.\n"
_UNITS = {
    Unit.PER_SECOND: "ops",
    Unit.SECONDS: "s",
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "binBps",
    Unit.RATIO: "percentunit",
    Unit.COUNT: "short",
}
_SOURCE = {"type": "prometheus", "uid": "${source}"}
_COLUMNS, _WIDTH, _HEIGHT = 2, 12, 8  # Grafana's grid is 24 wide


def main() -> int:
    RULES.mkdir(parents=True, exist_ok=True)
    GRAFANA.mkdir(parents=True, exist_ok=True)
    for name, header, document in (
        ("roll-up.yml", _HEADER, rule_groups()),
        ("alerts.yml", _ALERTS_HEADER, alerts.rule_groups()),
    ):
        (RULES / name).write_text(header + yaml.safe_dump(document, sort_keys=False, width=1000))
    for dashboard in Dashboard:
        text = json.dumps(grafana(dashboard), indent=1, ensure_ascii=False)
        (GRAFANA / f"{dashboard.value}.json").write_text(text + "\n")
    return 0


def grafana(dashboard: Dashboard) -> dict[str, Any]:
    """A dashboard as Grafana 9 and later import it. The source of data is chosen at its top."""
    charts = [chart for chart in CHARTS if chart.dashboard is dashboard]
    return {
        "uid": f"ringmaster-{dashboard.value}",
        "title": f"Ringmaster: {DASHBOARD_TITLES[dashboard]}",
        "tags": ["ringmaster"],
        "schemaVersion": 38,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables(dashboard)},
        "panels": [_panel(number, chart) for number, chart in enumerate(charts)],
    }


def _variables(dashboard: Dashboard) -> list[dict[str, Any]]:
    chosen = [_variable("cluster", "Cluster", "label_values(ringmaster_node_engine_up, cluster)")]
    if dashboard is Dashboard.TABLE:
        series = 'ringmaster_table_live_bytes{cluster="$cluster"'
        chosen += [
            _variable("keyspace", "Keyspace", f"label_values({series}}}, keyspace)"),
            _variable("table", "Table", f'label_values({series},keyspace="$keyspace"}}, table)'),
        ]
    return [{"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}, *chosen]


def _variable(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
    }


def _panel(number: int, chart: Chart) -> dict[str, Any]:
    place = {
        "h": _HEIGHT,
        "w": _WIDTH,
        "x": number % _COLUMNS * _WIDTH,
        "y": number // _COLUMNS * _HEIGHT,
    }
    drawn: dict[str, Any] = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10 if chart.stacked else 0}
    if chart.stacked:
        drawn["stacking"] = {"mode": "normal", "group": "A"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": chart.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": _UNITS[chart.unit], "min": 0, "custom": drawn}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [_target(index, query, chart) for index, query in enumerate(chart.queries)],
    }


def _target(index: int, query: Query, chart: Chart) -> dict[str, Any]:
    by: tuple[str, ...] = ("zone",)
    where = 'cluster="$cluster"'
    if chart.dashboard is Dashboard.TABLE:
        by, where = (), where + ',keyspace="$keyspace",table="$table"'
    expression = expanded(query.expression, by=by, where=where, window="$__rate_interval", resolution=Resolution.RAW)
    named = query.legend.replace("{", "{{").replace("}", "}}")
    return {
        "refId": chr(ord("A") + index),
        "datasource": _SOURCE,
        "expr": expression,
        "legendFormat": " ".join([*(f"{{{{{label}}}}}" for label in by), *([named] if named else [])]) or chart.title,
        "range": True,
    }


if __name__ == "__main__":
    raise SystemExit(main())
