"""The calls of agents in traces, and what agents hand back of them.

An agent sends no traces itself, as no customer's machine need reach a collector: it answers a call that comes in a
trace with the spans that it has finished, in a header (docs/agent-api.md). Where nothing is traced, nothing is asked
for, and nothing comes.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

HEADER: Final = "Ringmaster-Spans"
_LONGEST_HEADER = 16 * 1024
_MOST_SPANS = 100
_LONGEST_TEXT = 200

_propagator = TraceContextTextMapPropagator()
_KINDS = {"server": SpanKind.SERVER, "internal": SpanKind.INTERNAL}
_KEYS = frozenset({"http.route", "http.response.status_code", "ringmaster.job.name", "ringmaster.job.kind"})
_NAMED = re.compile(r"^/v1/(jobs|statements|snapshots)/[^/]+")


@dataclass(frozen=True, kw_only=True)
class AgentSpan:
    """Times in nanoseconds since 1970, by the node's clock. `error` is a code; empty: none."""

    trace_id: int
    span_id: int
    parent_id: int
    name: str
    kind: SpanKind
    start: int
    end: int
    attributes: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


@contextmanager
def of_call(method: str, path: str, node_id: str) -> Iterator[dict[str, str]]:
    """The span of a call. Yields the headers that tell the agent of it; none outside of a trace."""
    if not trace.get_current_span().is_recording():
        yield {}
        return
    route = route_of(path)
    with trace.get_tracer("ringmaster.agent-client").start_as_current_span(
        f"{method} {route}",
        kind=SpanKind.CLIENT,
        attributes={"http.request.method": method, "url.template": route, "ringmaster.node.id": node_id},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        headers: dict[str, str] = {}
        _propagator.inject(headers)
        try:
            yield headers
        except Exception as error:
            span.set_status(StatusCode.ERROR, str(getattr(error, "code", type(error).__name__)))
            raise


def route_of(path: str) -> str:
    """Without what names a job, a statement or a keyspace."""
    return _NAMED.sub(
        lambda found: f"/v1/{found[1]}/{{{'tag' if found[1] == 'snapshots' else 'name'}}}", path.partition("?")[0]
    )


def read(header: str) -> tuple[AgentSpan, ...]:
    """What an agent handed back. A node may be anybody's: what is not as it should be is left out, without a word."""
    if not header or len(header) > _LONGEST_HEADER:
        return ()
    try:
        documents = json.loads(header)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(documents, list):
        return ()
    found = (_span(document) for document in documents[:_MOST_SPANS])
    return tuple(span for span in found if span is not None)


def _span(document: Any) -> AgentSpan | None:
    try:
        start, end = document["start"], document["end"]
        span = AgentSpan(
            trace_id=_id(document["trace"], 32),
            span_id=_id(document["span"], 16),
            parent_id=_id(document["parent"], 16),
            name=_text(document["name"]),
            kind=_KINDS[document["kind"]],
            start=start,
            end=end,
            attributes={key: _text(value) for key, value in document.get("attributes", {}).items() if key in _KEYS},
            error=_text(document.get("error", "")),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    # Until the year 2262, which is what the format of traces can hold.
    return span if type(start) is type(end) is int and 0 < start <= end < 2**63 else None


def _id(text: object, digits: int) -> int:
    if not isinstance(text, str) or not re.fullmatch(rf"[0-9a-f]{{{digits}}}", text) or int(text, 16) == 0:
        raise ValueError
    return int(text, 16)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isascii() or not (value.isprintable() or value == ""):
        raise ValueError
    return value[:_LONGEST_TEXT]
