"""Traces, in OpenTelemetry's form, to a collector that OTEL_EXPORTER_OTLP_ENDPOINT names: docs/deploy.md.

Off unless that is set; then no exporter is even imported. What ends is put on a queue of this process that a thread of
its own sends off: a collector that is slow or away costs spans and nothing else. Which spans there are and what hangs
below what is decided in middleware.py, backend/operations/traces.py, provisioner/traces.py and
provisioner/agent/spans.py.

No span holds a body, a path, a statement, a message of an error or a secret: ids, names, numbers and codes only.
"""

import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest
from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

AGENT = "ringmaster-agent"

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_propagator = TraceContextTextMapPropagator()
_processor: "BatchSpanProcessor | None" = None
_resources: "dict[str, Resource]" = {}
_own_service = ""


def set_up(service: str) -> None:
    """Begin to trace in this process, once, if the environment wants it. `service`: unless OTEL_SERVICE_NAME says."""
    global _processor, _own_service
    if _processor is not None or not settings.ENV.traces_wanted:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    surroundings = Resource.create()
    named = SERVICE_NAME in OTELResourceDetector().detect().attributes
    own = surroundings if named else surroundings.merge(Resource({SERVICE_NAME: service}))
    _resources.update({service: own, AGENT: surroundings.merge(Resource({SERVICE_NAME: AGENT}))})
    _own_service = service
    _processor = BatchSpanProcessor(OTLPSpanExporter())
    # Ended by `stop`: at the end of a process nothing may wait for a collector for half a minute.
    provider = TracerProvider(resource=own, shutdown_on_exit=False)
    provider.add_span_processor(_processor)
    trace.set_tracer_provider(provider)


def is_on() -> bool:
    return _processor is not None


def stop(seconds: float) -> None:
    """Send what is left, for so long at most."""
    if _processor is None:
        return
    last = threading.Thread(target=_processor.force_flush, daemon=True)
    last.start()
    last.join(seconds)


def emit(
    name: str,
    *,
    context: SpanContext,
    parent: SpanContext | None,
    start: int,
    end: int,
    attributes: Mapping[str, str | int],
    error: str = "",
    links: Sequence[SpanContext] = (),
    kind: SpanKind = SpanKind.INTERNAL,
    service: str = "",
) -> None:
    """A span that began elsewhere: in another process, or on a node. Times in nanoseconds since 1970."""
    if _processor is None:
        return
    from opentelemetry.sdk.trace import ReadableSpan

    _processor.on_end(
        ReadableSpan(
            name,
            context=context,
            parent=parent,
            resource=_resources[service or _own_service],
            attributes=attributes,
            links=[Link(context) for context in links],
            kind=kind,
            status=Status(StatusCode.ERROR, error) if error else Status(StatusCode.UNSET),
            start_time=start,
            end_time=end,
        )
    )


@contextmanager
def of_request(request: HttpRequest, request_id: str) -> Iterator[Span]:
    """The span of a request, in the caller's trace if it names one (`traceparent`), else in a new one."""
    sent = {name: request.headers[name] for name in ("traceparent", "tracestate") if name in request.headers}
    method = request.method if request.method in _METHODS else "_OTHER"
    with trace.get_tracer("ringmaster.api").start_as_current_span(
        method or "_OTHER",
        context=_propagator.extract(sent),
        kind=SpanKind.SERVER,
        attributes={"http.request.method": method or "_OTHER", "ringmaster.request_id": request_id},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield span


def answered(span: Span, *, method: str, route: str, status: int, organisation_id: str | None) -> None:
    """`route` is the template with names in braces; empty: no route took the request."""
    if route:
        span.update_name(f"{method} {route}")
        span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    if organisation_id:
        span.set_attribute("ringmaster.organisation.id", organisation_id)
    if status >= 500:
        span.set_status(StatusCode.ERROR)


def add_trace_id(_: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """For structlog: which trace a line of the log belongs to."""
    if (context := trace.get_current_span().get_span_context()).is_valid:
        line["trace_id"] = trace.format_trace_id(context.trace_id)
    return line
