"""The numbers of charts and of the page of tables as CSV (RFC 4180), with a line of headings."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from backend.metrics.ranges import moment


def of_charts(answer: dict[str, Any]) -> str:
    """A row for each point in time, a column for each line."""
    lines = [(chart, line) for chart in answer["charts"] for line in chart["series"]]
    headings = ["time", *(_heading(chart, line) for chart, line in lines)]
    rows = (
        [moment(at).strftime("%Y-%m-%dT%H:%M:%SZ"), *(_number(line["values"][index]) for _, line in lines)]
        for index, at in enumerate(answer["times"])
    )
    return _text(headings, rows)


def of_tables(answer: dict[str, Any]) -> str:
    """A row for each table."""
    columns = [column["id"] for column in answer["columns"]]
    moments = ["repaired_at", "protected_until", "backed_up_at"]
    headings = ["keyspace", "table", *columns, "protection", *moments]
    rows = (
        [
            item["keyspace"],
            item["table"],
            *(_number(item["numbers"][column]) for column in columns),
            str(item["protection"]),
            *("" if item[name] is None else item[name].isoformat() for name in moments),
        ]
        for item in answer["items"]
    )
    return _text(headings, rows)


def _heading(chart: dict[str, Any], line: dict[str, Any]) -> str:
    named = chart["title"] if line["name"] == chart["title"] else f"{chart['title']}: {line['name']}"
    return f"{named} ({chart['unit']})"


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def _text(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_plain(heading) for heading in headings])
    writer.writerows(rows)
    return out.getvalue()


def _plain(text: str) -> str:
    """Nothing that a spreadsheet would take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
