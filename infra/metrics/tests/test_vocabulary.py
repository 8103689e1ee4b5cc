"""The vocabulary of metrics: names that Prometheus takes, and nothing left unsaid."""

import json
import re

from infra.metrics.vocabulary import SOURCE, tables

VOCABULARY = json.loads(SOURCE.read_text())
METRICS = VOCABULARY["metrics"]


def test_it_names_every_metric_once_and_by_the_conventions() -> None:
    names = [metric["name"] for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert re.fullmatch(r"ringmaster_(table|node|agent)(_[a-z0-9]+)+", metric["name"])
        assert metric["name"].startswith(f"ringmaster_{metric['scope']}_")
        assert (metric["type"] == "counter") == metric["name"].endswith("_total")
        assert metric["type"] in {"counter", "gauge", "histogram"}
        if metric["unit"] in {"seconds", "bytes", "ratio"} and "properties" not in metric["cassandra"]:
            assert metric["unit"] in metric["name"], metric["name"]


def test_it_says_where_each_comes_from_or_why_it_does_not() -> None:
    for metric in METRICS:
        for engine in ("cassandra", "scylla"):
            source = metric[engine]
            assert source["none"] if isinstance(source, dict) else source


def test_it_gives_each_histogram_bounds_that_grow() -> None:
    for metric in METRICS:
        assert ("bounds" in metric) == (metric["type"] == "histogram")
    for bounds in VOCABULARY["bounds"].values():
        assert bounds == sorted(set(bounds))
    assert {metric["bounds"] for metric in METRICS if "bounds" in metric} == set(VOCABULARY["bounds"])


def test_it_has_a_row_for_each_metric_in_the_document() -> None:
    rows = [line for line in tables(VOCABULARY).splitlines() if line.startswith("| `ringmaster_")]
    assert len(rows) == len(METRICS)
