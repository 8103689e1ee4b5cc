"""What a chart and a column are, and the templates that most of them are made of.

Expressions are templates (promql.py): `{rate:…}` and `{gauge:…}` read a series, `$by` are the labels that are kept. On
dashboards those are none, the zone or the node; on a table's page none; on the page of all tables keyspace and table.
Percentiles are computed from histograms that are merged first, never averaged.
"""

from dataclasses import dataclass
from enum import StrEnum


class Dashboard(StrEnum):
    OVERVIEW = "overview"
    CQL = "cql"
    LWT_CDC = "lwt-cdc"
    CPU_IO = "cpu-io"
    OS = "os"
    ERRORS = "errors"
    TABLE = "table"


DASHBOARD_TITLES = {
    Dashboard.OVERVIEW: "Overview",
    Dashboard.CQL: "CQL",
    Dashboard.LWT_CDC: "Lightweight transactions and CDC",
    Dashboard.CPU_IO: "CPU and I/O",
    Dashboard.OS: "Operating system",
    Dashboard.ERRORS: "Errors",
    Dashboard.TABLE: "Table",
}


class Unit(StrEnum):
    """Of the values; what is shown may be scaled."""

    PER_SECOND = "per second"
    SECONDS = "seconds"
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes per second"
    RATIO = "ratio"
    COUNT = "count"


@dataclass(frozen=True)
class Query:
    expression: str
    legend: str = ""
    """`{label}` stands for its value."""


@dataclass(frozen=True)
class Chart:
    id: str
    dashboard: Dashboard
    title: str
    unit: Unit
    queries: tuple[Query, ...]
    stacked: bool = False
    """The series are parts of a whole."""


@dataclass(frozen=True)
class Column:
    """A number of each table. `expression` keeps keyspace and table."""

    id: str
    title: str
    unit: Unit
    expression: str
    now: str | None = None
    """The histogram whose p99 this is: the rules have it ready."""
    spark: bool = False
    """It has a sparkline. Of a percentile it shows the highest of each stretch of time."""


def percentiles(histogram: str, *, more: str = "", legend: str = "") -> tuple[Query, ...]:
    kept = "kind, " if "{kind}" in legend else ""
    return tuple(
        Query(
            f"histogram_quantile({share}, sum by (le, {kept}$by) ({{rate:{histogram}_bucket{more}}}))",
            f"{legend} {name}".strip(),
        )
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999))
    )


def rate(series: str, legend: str = "", *, keep: str = "") -> Query:
    return Query(f"sum by ({keep}$by) ({{rate:{series}}})", legend)


def total(series: str, legend: str = "", *, keep: str = "") -> Query:
    return Query(f"sum by ({keep}$by) ({{gauge:{series}}})", legend)


def highest(series: str, legend: str = "", *, keep: str = "") -> Query:
    return Query(f"max by ({keep}$by) ({{gauge:{series}}})", legend)


def mean(histogram: str) -> str:
    return f"sum by ($by) ({{rate:{histogram}_sum}}) / sum by ($by) ({{rate:{histogram}_count}})"
