from datetime import UTC, datetime, timedelta

import pytest

from backend.core.errors import Invalid
from backend.metrics.promql import Matcher, Resolution, expanded, legend, selector, window
from backend.metrics.ranges import time_range

COUNT = "ringmaster_table_read_latency_seconds_count"
NOW = datetime(2026, 3, 1, 12, 0, 7, tzinfo=UTC)


def test_it_asks_for_rates_of_what_nodes_serve_or_for_the_rates_that_were_kept():
    template = f'sum by ($by) ({{rate:{COUNT},le="1"}})'
    where = selector([Matcher("cluster", ("clu_1",))])
    raw = expanded(template, by=("zone",), where=where, window="60s", resolution=Resolution.RAW)
    assert raw == f'sum by (zone) (rate({COUNT}{{cluster="clu_1",le="1"}}[60s]))'
    rolled = expanded(template, by=(), where=where, window="1800s", resolution=Resolution.ROLLED_UP)
    assert rolled == f'sum by () (avg_over_time(table:{COUNT}:rate5m{{cluster="clu_1",le="1"}}[1800s]))'


def test_gauges_that_are_maxima_stay_maxima_over_time():
    largest = "max by ($by) ({gauge:ringmaster_table_partition_max_bytes})"
    rolled = expanded(largest, by=(), where="", window="1800s", resolution=Resolution.ROLLED_UP)
    assert rolled == "max by () (max_over_time(table:ringmaster_table_partition_max_bytes{}[1800s]))"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('x"} or up{y="', '"x\\"} or up{y=\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("line\nbreak", '"line\\u000abreak"'),
        ("ä😀", '"\\u00e4\\U0001f600"'),
    ],
)
def test_no_name_gets_out_of_its_quotes(text: str, quoted: str):
    assert str(Matcher("table", (text,))) == f"table={quoted}"


def test_of_several_names_each_is_meant_literally():
    assert str(Matcher("table", ("a.b", "c|d"))) == 'table=~"a\\\\.b|c\\\\|d"'


def test_windows_leave_no_sample_out():
    assert window(15, Resolution.RAW) == "60s"
    assert window(120, Resolution.RAW) == "120s"
    assert window(300, Resolution.ROLLED_UP) == "300s"


def test_lines_are_named_by_what_they_were_split_by():
    assert legend("{kind} p99", {"kind": "read", "zone": "a"}, by=("zone",)) == "a read p99"
    assert legend("", {"zone": "a"}, by=("zone",)) == "a"


@pytest.mark.parametrize(
    ("hours", "step", "resolution"),
    [(0.25, 15, "raw"), (1, 15, "raw"), (24, 360, "raw"), (25, 600, "rolled-up"), (720, 10_800, "rolled-up")],
)
def test_a_range_chooses_its_points_and_its_series(hours: float, step: int, resolution: str):
    span = time_range(NOW - timedelta(hours=hours), NOW, None, now=NOW)
    assert (span.step, span.resolution) == (step, resolution)
    assert span.start % step == span.end % step == 0
    assert 50 <= len(span.times) <= 242


def test_what_is_older_than_three_days_is_read_from_what_was_kept():
    span = time_range(NOW - timedelta(days=5), NOW - timedelta(days=5, hours=-1), None, now=NOW)
    assert (span.step, span.resolution) == (300, "rolled-up")


@pytest.mark.parametrize(
    ("begins", "ends", "step", "field"),
    [
        (NOW, NOW, None, "from"),
        (NOW - timedelta(days=40), NOW, None, "from"),
        (NOW, NOW + timedelta(hours=1), None, "to"),
        (NOW - timedelta(days=30), NOW, 300, "step"),
        (datetime(2026, 3, 1), NOW, None, "from"),
    ],
)
def test_a_range_that_makes_no_sense_says_what_to_change(begins: datetime, ends: datetime, step: int, field: str):
    with pytest.raises(Invalid) as raised:
        time_range(begins, ends, step, now=NOW)
    assert (raised.value.field, bool(raised.value.hint)) == (field, True)
