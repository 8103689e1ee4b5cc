"""What a worker tells of operations in traces: the operation, its steps, and each attempt at a step.

An operation and a step may begin in one process and end in another, days later. So their spans are made when they end,
by who records that, with ids that follow from their own: whoever works on them meanwhile knows what to hang below.

    the request > order … > operation … > step … > attempt … > calls of the agent > its jobs

A step that begins hours after the order has a trace of its own, linked to the order's: no viewer and no collector takes
traces of days. Decision 0075.
"""

import hashlib
import random
import time
from datetime import datetime, timedelta

from django.utils import timezone
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from backend.config import tracing
from backend.operations.models import Operation, OperationStep
from provisioner.agent.spans import AgentSpan
from provisioner.operations.base import Blocked, Done, Outcome, Standing, StepContext, StepFunction, Wait

OWN_TRACE_AFTER = timedelta(hours=6)
# A step that waits is looked at again and again. From so many seconds on the looks that are traced become fewer: in
# all, what a day has of them is about a thousand.
EVERY_LOOK_FOR = 120.0

_propagator = TraceContextTextMapPropagator()
_NEVER = TraceFlags(TraceFlags.DEFAULT)


def now() -> datetime:
    return timezone.now()


def ordered(operation: Operation) -> SpanContext | None:
    """Where the order stands; None: it is not traced."""
    if not operation.traceparent:
        return None
    found = _propagator.extract({"traceparent": operation.traceparent})
    context = trace.get_current_span(found).get_span_context()
    return context if context.is_valid and context.trace_flags.sampled else None


def trace_id(operation: Operation) -> dict[str, str]:
    """For lines of the log."""
    order = ordered(operation)
    return {} if order is None else {"trace_id": trace.format_trace_id(order.trace_id)}


def traced(function: StepFunction, *, undoing: bool) -> StepFunction:
    """A step's function with a span around each call."""
    if not tracing.is_on():
        return function

    def attempt(context: StepContext) -> Outcome:
        step = _of_step(context.operation, context.step, undoing=undoing)
        return function(context) if step is None else _attempt(function, context, step)

    return attempt


def operation_ended(operation: Operation, outcome: str) -> None:
    """To be called when that is committed."""
    order = ordered(operation) if tracing.is_on() else None
    if order is None:
        return
    tracing.emit(
        f"operation {operation.kind}",
        context=_of_operation(operation, order),
        parent=order,
        start=_nanoseconds(operation.created_at),
        end=time.time_ns(),
        attributes=_about(operation) | {"ringmaster.outcome": outcome},
    )


def step_ended(operation: Operation, step: OperationStep, *, undoing: bool) -> None:
    """To be called when that is recorded."""
    context = _of_step(operation, step, undoing=undoing) if tracing.is_on() else None
    order = ordered(operation)
    if context is None or order is None:
        return
    same = context.trace_id == order.trace_id
    above = _of_operation(operation, order)
    tracing.emit(
        f"{'undo' if undoing else 'step'} {step.name}",
        context=context,
        parent=above if same else None,
        links=() if same else (above,),
        start=_nanoseconds(_began(step, undoing=undoing)),
        end=time.time_ns(),
        attributes=_about(operation, step) | {"ringmaster.outcome": step.state},
    )


def take_over(node_id: str, spans: tuple[AgentSpan, ...]) -> None:
    """What a node's agent hands back becomes ours to send. Which node it was is our word, not its."""
    for span in spans:
        flags = TraceFlags(TraceFlags.SAMPLED)
        tracing.emit(
            span.name,
            context=SpanContext(span.trace_id, span.span_id, is_remote=True, trace_flags=flags),
            parent=SpanContext(span.trace_id, span.parent_id, is_remote=True, trace_flags=flags),
            start=span.start,
            end=span.end,
            attributes={**span.attributes, "ringmaster.node.id": node_id},
            error=span.error,
            kind=span.kind,
            service=tracing.AGENT,
        )


def _attempt(function: StepFunction, context: StepContext, step: SpanContext) -> Outcome:
    if not _worth_it(context):
        quiet = SpanContext(step.trace_id, step.span_id, is_remote=True, trace_flags=_NEVER)
        with trace.use_span(NonRecordingSpan(quiet), record_exception=False, set_status_on_exception=False):
            return function(context)
    with trace.get_tracer("ringmaster.worker").start_as_current_span(
        f"attempt {context.step.name}",
        context=trace.set_span_in_context(NonRecordingSpan(step)),
        attributes=_about(context.operation, context.step) | {"ringmaster.step.attempt": context.step.attempt + 1},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            outcome = function(context)
        except Exception as error:
            # Its code or its class; the message is for the operation's readers.
            code = getattr(error, "code", None)
            span.set_status(StatusCode.ERROR, code if isinstance(code, str) and code else type(error).__name__)
            span.set_attribute("ringmaster.outcome", "blocked" if isinstance(error, Blocked) else "failed")
            raise
        match outcome:
            case Done():
                span.set_attribute("ringmaster.outcome", "done")
            case Wait():
                span.set_attribute("ringmaster.outcome", "wait")
            case Standing():
                span.set_attribute("ringmaster.outcome", "standing")
        return outcome


def _worth_it(context: StepContext) -> bool:
    began = context.step.undo_started_at or context.step.started_at
    seconds = 0.0 if began is None else (now() - began).total_seconds()
    return seconds <= EVERY_LOOK_FOR or context.step.attempt > 0 or random.random() < EVERY_LOOK_FOR / seconds


def _of_operation(operation: Operation, order: SpanContext) -> SpanContext:
    return SpanContext(order.trace_id, _number(operation.id, 8), is_remote=True, trace_flags=order.trace_flags)


def _of_step(operation: Operation, step: OperationStep, *, undoing: bool) -> SpanContext | None:
    order = ordered(operation)
    if order is None:
        return None
    own = _began(step, undoing=undoing) - operation.created_at > OWN_TRACE_AFTER
    name = f"{step.id} undo" if undoing else step.id
    return SpanContext(
        _number(f"{name} trace", 16) if own else order.trace_id,
        _number(name, 8),
        is_remote=True,
        trace_flags=order.trace_flags,
    )


def _began(step: OperationStep, *, undoing: bool) -> datetime:
    began: datetime | None = step.undo_started_at if undoing else step.started_at
    return began or now()


def _about(operation: Operation, step: OperationStep | None = None) -> dict[str, str | int]:
    found: dict[str, str | int] = {
        "ringmaster.operation.id": operation.id,
        "ringmaster.operation.kind": operation.kind,
        "ringmaster.organisation.id": operation.organisation_id,
        "ringmaster.cluster.id": operation.cluster_id,
    }
    if step is not None:
        found |= {"ringmaster.step.id": step.id, "ringmaster.step.name": step.name}
        if step.target.startswith("nod_"):  # others are about data centres and the like
            found["ringmaster.node.id"] = step.target
    return found


def _number(text: str, size: int) -> int:
    """Never 0, which is no id. `size` in bytes."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
