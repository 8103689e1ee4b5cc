"""PromQL from the templates of the catalogue: for what nodes serve, and for what the rules made of it (rules.py).

A template is PromQL with `{rate:SERIES}` (of a counter, or of a part of a histogram) and `{gauge:SERIES}` in it, more
matchers after a comma, and `$by` for the labels that are kept. All values that come from outside are quoted here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from backend.metrics.vocabulary import metrics_by_series

RATE_SECONDS = 60
"""Over which rates are taken at least: four scrapes, so that one may fail."""
ROLL_UP_SECONDS = 300

_MACRO = re.compile(r"\{(rate|gauge):([a-z0-9_]+)((?:,[^{}]*)?)\}")
_OVER_TIME = {"sum": "avg", "avg": "avg", "max": "max", "min": "min"}


class Resolution(StrEnum):
    """`raw`: as the nodes serve it, every 15 s, for three days. `rolled-up`: every 5 min, for thirty days."""

    RAW = "raw"
    ROLLED_UP = "rolled-up"


@dataclass(frozen=True)
class Matcher:
    """`values`: one, or several of which any fits. They may be any text."""

    label: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.label}={quoted(self.values[0])}"
        return f"{self.label}=~{quoted('|'.join(_literal(value) for value in self.values))}"


def quoted(text: str) -> str:
    """A string of PromQL. What is no printable ASCII is escaped, so that no text can end it."""
    out = []
    for character in text:
        if character in '"\\':
            out.append(f"\\{character}")
        elif " " <= character <= "~":
            out.append(character)
        else:
            code = 0xFFFD if "\ud800" <= character <= "\udfff" else ord(character)
            out.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return f'"{"".join(out)}"'


def _literal(text: str) -> str:
    """A regular expression of RE2 that fits this text only."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def selector(matchers: Iterable[Matcher]) -> str:
    """Without braces: `cluster="clu_…",keyspace="shop"`."""
    return ",".join(str(matcher) for matcher in matchers)


def recorded(series: str) -> str:
    """The name under which the rules keep a series for thirty days."""
    metric = metrics_by_series()[series]
    suffix = "" if metric.type == "gauge" else ":rate5m"
    return f"{metric.scope}:{series}{suffix}"


def expanded(template: str, *, by: Iterable[str], where: str, window: str, resolution: Resolution) -> str:
    """A query. `where`: matchers as `selector` makes them; `window`: a duration, over which rates are taken."""

    def one(found: re.Match[str]) -> str:
        kind, series, more = found.groups()
        matchers = where + more
        if resolution is Resolution.RAW:
            return f"rate({series}{{{matchers}}}[{window}])" if kind == "rate" else f"{series}{{{matchers}}}"
        over = "avg" if kind == "rate" else _OVER_TIME[metrics_by_series()[series].merge]
        return f"{over}_over_time({recorded(series)}{{{matchers}}}[{window}])"

    return _MACRO.sub(one, template).replace("$by", ", ".join(by))


def series_in(template: str) -> frozenset[tuple[str, str]]:
    """What a template reads: `rate` or `gauge`, and the name."""
    return frozenset((kind, series) for kind, series, _ in _MACRO.findall(template))


def window(step: float, resolution: Resolution) -> str:
    """For a chart with a point every `step` seconds: no sample falls between two windows."""
    least = RATE_SECONDS if resolution is Resolution.RAW else ROLL_UP_SECONDS
    return f"{max(round(step), least)}s"


def legend(template: str, labels: Mapping[str, str], *, by: Iterable[str]) -> str:
    """The name of a series: the template's, `{label}` filled in, after the values of what it was split by."""
    named = re.sub(r"\{(\w+)\}", lambda found: labels.get(found[1], ""), template)
    split = [labels[label] for label in by if labels.get(label)]
    return " ".join([*split, named] if named else split)
