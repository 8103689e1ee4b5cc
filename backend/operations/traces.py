"""In which trace an operation is: that of the request that ordered it, or a new one.

An operation outlives requests and processes, so its row keeps the W3C traceparent of the order. What hangs below that
is provisioner/traces.py's business. Without tracing (backend/config/tracing.py) there is none.
"""

from django.db import transaction
from opentelemetry import trace
from opentelemetry.trace import SpanKind

from backend.operations.models import Operation


def order(operation: Operation) -> str:
    """The traceparent of a new operation, empty when nothing is traced. An order that is taken back leaves no span."""
    attributes = {
        "ringmaster.operation.id": operation.id,
        "ringmaster.operation.kind": operation.kind,
        "ringmaster.organisation.id": operation.organisation_id,
        "ringmaster.cluster.id": operation.cluster_id,
    }
    tracer = trace.get_tracer("ringmaster.operations")
    span = tracer.start_span(f"order {operation.kind}", kind=SpanKind.PRODUCER, attributes=attributes)
    context = span.get_span_context()
    if not context.is_valid:
        return ""
    transaction.on_commit(span.end)
    trace_id, span_id = trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)
    return f"00-{trace_id}-{span_id}-{context.trace_flags & 1:02x}"
