"""The metrics that agents serve, as images/agent/metrics/vocabulary.json names them."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "vocabulary.json"
# What http_sd says of a node: every series of it has them.
NODE_LABELS = ("organisation", "cluster", "datacenter", "zone", "node")
TABLE_LABELS = ("organisation", "cluster")


@dataclass(frozen=True, kw_only=True)
class Metric:
    name: str
    type: str
    """counter, gauge or histogram."""
    unit: str
    scope: str
    """table, node or agent."""
    labels: tuple[str, ...]
    merge: str
    """How the values of several nodes become one: sum, max, min or avg."""
    help: str

    @property
    def series(self) -> tuple[str, ...]:
        """Names of what is served for it: three for a histogram."""
        if self.type == "histogram":
            return tuple(f"{self.name}_{part}" for part in ("bucket", "count", "sum"))
        return (self.name,)


@cache
def vocabulary() -> dict[str, Metric]:
    """All metrics by name."""
    return {
        row["name"]: Metric(
            name=row["name"],
            type=row["type"],
            unit=row["unit"],
            scope=row["scope"],
            labels=tuple(row["labels"]),
            merge=row.get("merge", "sum"),
            help=row["help"],
        )
        for row in json.loads(FILE.read_text())["metrics"]
    }


@cache
def metrics_by_series() -> dict[str, Metric]:
    """The metric of each name that a series can have."""
    return {series: metric for metric in vocabulary().values() for series in metric.series}
