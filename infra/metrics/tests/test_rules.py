"""Prometheus' own checker reads what is generated, and evaluates the rules on made-up nodes."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend.metrics.catalogue import CHARTS
from backend.metrics.charts import Dashboard
from backend.metrics.promql import Matcher, Resolution, expanded, selector
from backend.metrics.rules import rule_groups
from backend.metrics.table_charts import TABLE_COLUMNS
from backend.metrics.vocabulary import metrics_by_series
from infra.metrics.prometheus import RULES, grafana


def promtool(*arguments: str) -> str:
    result = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def all_parse(folder: Path, expressions: Iterable[str]) -> None:
    rules = [{"record": f"checked:{number}", "expr": expression} for number, expression in enumerate(expressions)]
    file = folder / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "checked", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", "--lint=none", str(file))


def test_the_rules_are_valid() -> None:
    assert "SUCCESS" in promtool("check", "rules", "--lint-fatal", str(RULES / "roll-up.yml"))


def test_every_chart_and_column_is_a_query_however_it_is_split_and_whatever_tables_are_called(tmp_path: Path) -> None:
    evil = selector([Matcher("table", ('x"} or up{y="', "ä\n\\", "😀.*")), Matcher("keyspace", ('"',))])
    templates = [query.expression for chart in CHARTS for query in chart.queries]
    templates += [column.expression for column in TABLE_COLUMNS]
    all_parse(
        tmp_path,
        [
            expanded(template, by=by, where=evil, window="60s", resolution=resolution)
            for template in templates
            for by in ((), ("zone",), ("node",), ("keyspace", "table"))
            for resolution in Resolution
        ],
    )


def test_what_is_rolled_up_is_what_the_charts_read_over_thirty_days() -> None:
    made = {rule["record"] for group in rule_groups()["groups"] for rule in group["rules"]}
    for chart in CHARTS:
        for query in chart.queries:
            text = expanded(query.expression, by=(), where="", window="5m", resolution=Resolution.ROLLED_UP)
            read = {word.split("{")[0] for word in text.replace("(", " ").split() if ":" in word and "{" in word}
            assert read, chart.id
            assert read <= made, chart.id


@pytest.mark.parametrize("dashboard", list(Dashboard))
def test_grafanas_dashboards_hold_queries_and_fit_their_grid(dashboard: Dashboard, tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads(json.dumps(grafana(dashboard)))
    panels = document["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) > 0
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)
    assert {variable["name"] for variable in document["templating"]["list"]} >= {"source", "cluster"}
    targets = [target for panel in panels for target in panel["targets"]]
    assert all('cluster="$cluster"' in target["expr"] for target in targets)
    all_parse(tmp_path, [target["expr"].replace("$__rate_interval", "1m") for target in targets])


READS = "ringmaster_table_read_latency_seconds"
REQUESTS = "ringmaster_node_client_request_latency_seconds"


def node(name: str, cluster: str = "c1", organisation: str = "o1") -> str:
    return f'organisation="{organisation}",cluster="{cluster}",datacenter="d",zone="z-{name}",node="{name}"'


def table(name: str, of: str = "people") -> str:
    return f'{node(name)},keyspace="shop",table="{of}"'


def evaluated(folder: Path, series: dict[str, str], expected: dict[str, dict[str, float]]) -> None:
    """`series`: values every 15 s in promtool's notation. `expected`: samples of each expression after ten minutes."""
    tests = {
        "rule_files": [str(RULES / "roll-up.yml")],
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [
                    {
                        "expr": expression,
                        "eval_time": "10m",
                        "exp_samples": [{"labels": labels, "value": value} for labels, value in samples.items()],
                    }
                    for expression, samples in expected.items()
                ],
            }
        ],
    }
    file = folder / "tests.yml"
    file.write_text(yaml.safe_dump(tests))
    promtool("test", "rules", str(file))


def test_percentiles_come_from_the_merged_histograms_of_all_nodes(tmp_path: Path) -> None:
    """One node reads 100 times a second within 1 ms, another in 1 to 100 ms: the mean of their p99s would be 50 ms."""
    fast = {"0.001": 1500, "0.1": 1500, "+Inf": 1500}
    slow = {"0.001": 0, "0.1": 1500, "+Inf": 1500}
    series = {
        f'{READS}_bucket{{{table(name)},le="{le}"}}': f"0+{growth}x40"
        for name, buckets in (("n1", fast), ("n2", slow))
        for le, growth in buckets.items()
    }
    own = '{cluster="c1", keyspace="shop", organisation="o1", table="people"}'
    evaluated(
        tmp_path,
        series,
        {
            f"now:{READS}:p50": {f"now:{READS}:p50{own}": 0.001},
            f"now:{READS}:p99": {f"now:{READS}:p99{own}": 0.001 + 0.099 * 0.98},
            f"table:{READS}:p99": {f"table:{READS}:p99{own}": 0.001 + 0.099 * 0.98},
        },
    )


def test_rates_go_on_when_a_node_starts_anew_and_counts_from_nothing(tmp_path: Path) -> None:
    evaluated(
        tmp_path,
        {f"{READS}_count{{{table('n1')}}}": "0+1500x29 0+1500x10", f"{READS}_count{{{table('n2')}}}": "0+1500x40"},
        {
            f"sum(table:{READS}_count:rate5m) > bool 190": {"{}": 1},
            f"sum(table:{READS}_count:rate5m) <= bool 200": {"{}": 1},
        },
    )


def test_clusters_and_organisations_are_sums_of_their_own_nodes_only(tmp_path: Path) -> None:
    series = {}
    for name, cluster, organisation, growth in (
        ("n1", "c1", "o1", 150),
        ("n2", "c1", "o1", 300),
        ("n3", "c2", "o1", 600),
        ("n4", "c3", "o2", 1200),
    ):
        labels = f'{node(name, cluster, organisation)},kind="read"'
        series[f"{REQUESTS}_count{{{labels}}}"] = f"0+{growth}x40"
    made = f"{REQUESTS}_count:rate5m"
    kind = 'kind="read", organisation'
    evaluated(
        tmp_path,
        series,
        {
            f"cluster:{made}": {
                f'cluster:{made}{{cluster="c1", {kind}="o1"}}': 30,
                f'cluster:{made}{{cluster="c2", {kind}="o1"}}': 40,
                f'cluster:{made}{{cluster="c3", {kind}="o2"}}': 80,
            },
            f"organisation:{made}": {
                f'organisation:{made}{{{kind}="o1"}}': 70,
                f'organisation:{made}{{{kind}="o2"}}': 80,
            },
        },
    )


def test_gauges_are_merged_as_the_vocabulary_says(tmp_path: Path) -> None:
    largest = "ringmaster_table_partition_max_bytes"
    live = "ringmaster_table_live_bytes"
    assert metrics_by_series()[largest].merge == "max"
    own = '{cluster="c1", keyspace="shop", organisation="o1", table="people"}'
    evaluated(
        tmp_path,
        {
            f"{metric}{{{table(name)}}}": f"{value}x40"
            for metric in (largest, live)
            for name, value in (("n1", 5), ("n2", 7))
        },
        {f"table:{largest}": {f"table:{largest}{own}": 7}, f"table:{live}": {f"table:{live}{own}": 12}},
    )
