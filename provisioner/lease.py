"""The statements of the runner, one commit each. Every one but the claim works only while the lease is still held.

All times are the database's `now()`. Nothing else in the product writes leases.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection
from psycopg.rows import dict_row

from backend.operations.models import Operation, OperationStep
from backend.operations.states import FINISHED, OPEN, OperationState, StepState

CHANNEL = "ringmaster_events"


class LeaseLost(Exception):
    """Somebody else holds the operation now; whatever we found out about it is stale."""


@dataclass(frozen=True)
class Trouble:
    """What the customer reads while something is tried again or blocked."""

    code: str
    sentence: str
    hint: str


@dataclass(frozen=True)
class Recorded:
    """What came back with a recorded outcome. `started`: whether the steps that follow were marked as running."""

    cancel_requested: bool
    pause_requested: bool
    started: bool
    overdue: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Claimed:
    """`retry_asked`: a person asked to try again, so what was waiting is looked at now."""

    operation: Operation
    retry_asked: bool


_CLAIM = """
UPDATE operations_operation o
   SET lease_token = %(token)s,
       lease_until = now() + make_interval(secs => %(seconds)s::float8),
       due_at = now() + make_interval(secs => %(seconds)s::float8),
       nudged_at = NULL,
       state = CASE WHEN o.state = 'cancelling' THEN o.state ELSE 'running' END,
       started_at = COALESCE(o.started_at, now()),
       claims = CASE WHEN before.retry_requested_at IS NULL THEN o.claims + 1 ELSE 1 END,
       attempt = CASE WHEN before.retry_requested_at IS NULL THEN o.attempt ELSE 0 END,
       reason_code = CASE WHEN before.retry_requested_at IS NULL THEN o.reason_code ELSE '' END,
       reason = CASE WHEN before.retry_requested_at IS NULL THEN o.reason ELSE '' END,
       reason_hint = CASE WHEN before.retry_requested_at IS NULL THEN o.reason_hint ELSE '' END,
       retry_requested_at = NULL
  FROM (SELECT id, retry_requested_at FROM operations_operation WHERE id = %(id)s FOR UPDATE) before
 WHERE o.id = before.id
   AND o.state = ANY(%(open)s)
   AND o.due_at <= now()
   AND (o.lease_until IS NULL OR o.lease_until <= now())
RETURNING o.*, before.retry_requested_at IS NOT NULL AS retry_asked
"""

_FENCE = "id = %(id)s AND lease_token = %(token)s"

_NOTE = """
       (SELECT count(pg_notify(%(channel)s::text, %(payload)s::text)) FROM operation WHERE %(event)s::boolean) AS events
"""

_START = f"""
WITH operation AS (
    SELECT id, cancel_requested_at, pause_requested_at FROM operations_operation WHERE {_FENCE} FOR UPDATE
), started AS (
    UPDATE operations_operationstep s
       SET state = %(start_state)s::varchar,
           started_at = COALESCE(s.started_at, now()),
           undo_started_at = CASE WHEN %(start_state)s::varchar = 'undoing' THEN now() ELSE NULL END,
           due_at = NULL
      FROM operation
     WHERE s.id = ANY(%(start)s::text[])
 RETURNING s.id
)
SELECT operation.cancel_requested_at IS NOT NULL AS cancel_requested,
       operation.pause_requested_at IS NOT NULL AS pause_requested,
       (SELECT count(*) FROM started) AS started,
       NULL AS overdue, {_NOTE}
  FROM operation
"""

# Steps that follow are not started when a cancel or a pause has come in: the update of the operation waits for whoever
# writes that, so the two cannot miss each other.
_RECORD = f"""
WITH operation AS (
    UPDATE operations_operation
       SET progress = GREATEST(progress, %(progress)s::float8),
           attempt = %(attempt)s,
           claims = 0,
           reason_code = %(reason_code)s,
           reason = %(reason)s,
           reason_hint = %(reason_hint)s
     WHERE {_FENCE}
 RETURNING id, cancel_requested_at, pause_requested_at
), step AS (
    UPDATE operations_operationstep s
       SET state = %(state)s::varchar,
           attempt = %(step_attempt)s,
           message = %(message)s,
           progress = %(step_progress)s::float8,
           output = %(output)s::jsonb,
           eta_at = now() + make_interval(secs => %(eta)s::float8),
           due_at = now() + make_interval(secs => %(again_in)s::float8),
           finished_at = CASE WHEN %(state)s::varchar = 'done' THEN now() ELSE s.finished_at END,
           undone_at = CASE WHEN %(state)s::varchar = 'undone' THEN now() END,
           overdue = s.overdue
                  OR now() > COALESCE(s.undo_started_at, s.started_at) + make_interval(secs => s.deadline_seconds)
      FROM operation
     WHERE s.id = %(step)s
 RETURNING s.id, s.overdue
), started AS (
    UPDATE operations_operationstep s
       SET state = %(start_state)s::varchar,
           started_at = COALESCE(s.started_at, now()),
           undo_started_at = CASE WHEN %(start_state)s::varchar = 'undoing' THEN now() ELSE NULL END,
           due_at = NULL
      FROM operation
     WHERE s.id = ANY(%(start)s::text[])
       AND (%(start_state)s::varchar = 'undoing'
            OR (operation.cancel_requested_at IS NULL AND operation.pause_requested_at IS NULL))
 RETURNING s.id
)
SELECT operation.cancel_requested_at IS NOT NULL AS cancel_requested,
       operation.pause_requested_at IS NOT NULL AS pause_requested,
       (SELECT count(*) FROM started) AS started,
       (SELECT array_agg(step.id) FILTER (WHERE step.overdue) FROM step) AS overdue, {_NOTE}
  FROM operation
"""

_HAND_BACK = f"""
WITH operation AS (
    UPDATE operations_operation
       SET lease_token = NULL,
           lease_until = NULL,
           due_at = CASE WHEN {{asked}} THEN now() ELSE now() + make_interval(secs => %(seconds)s::float8) END,
           nudged_at = CASE WHEN {{asked}} THEN now() ELSE now() + make_interval(secs => %(seconds)s::float8) END,
           claims = 0,
           attempt = CASE WHEN %(trouble)s::boolean THEN attempt + 1 ELSE attempt END,
           reason_code = CASE WHEN %(trouble)s::boolean THEN %(reason_code)s ELSE reason_code END,
           reason = CASE WHEN %(trouble)s::boolean THEN %(reason)s ELSE reason END,
           reason_hint = CASE WHEN %(trouble)s::boolean THEN %(reason_hint)s ELSE reason_hint END
     WHERE {_FENCE}
 RETURNING id, EXTRACT(EPOCH FROM due_at - now())::float8 AS again_in
), waiting AS (
    UPDATE operations_operationstep s
       SET due_at = now() + make_interval(secs => w.seconds),
           overdue = s.overdue
                  OR now() > COALESCE(s.undo_started_at, s.started_at) + make_interval(secs => s.deadline_seconds)
      FROM operation, unnest(%(step_ids)s::text[], %(step_seconds)s::float8[]) AS w(id, seconds)
     WHERE s.id = w.id
)
SELECT again_in, {_NOTE} FROM operation
""".format(asked="(cancel_requested_at IS NOT NULL AND state <> 'cancelling') OR retry_requested_at IS NOT NULL")

_BLOCK = f"""
WITH operation AS (
    UPDATE operations_operation
       SET lease_token = NULL,
           lease_until = NULL,
           claims = 0,
           state = CASE WHEN {{asked}} THEN state ELSE 'blocked' END,
           due_at = CASE WHEN {{asked}} THEN now() END,
           reason_code = %(reason_code)s,
           reason = %(reason)s,
           reason_hint = %(reason_hint)s
     WHERE {_FENCE}
 RETURNING id, state
)
SELECT state, {_NOTE} FROM operation
""".format(asked="(cancel_requested_at IS NOT NULL AND state <> 'cancelling') OR retry_requested_at IS NOT NULL")

# A person, or a turn that has come, may have taken the request back; or asked to cancel, which goes before.
_PARK = f"""
WITH operation AS (
    UPDATE operations_operation
       SET lease_token = NULL,
           lease_until = NULL,
           claims = 0,
           attempt = 0,
           state = CASE WHEN {{parks}} THEN 'paused' ELSE state END,
           due_at = CASE WHEN {{parks}} THEN NULL ELSE now() END,
           reason_code = '',
           reason = '',
           reason_hint = ''
     WHERE {_FENCE}
 RETURNING id, state
)
SELECT state, {_NOTE} FROM operation
""".format(parks="pause_requested_at IS NOT NULL AND cancel_requested_at IS NULL")

_TURN_BACK = f"""
WITH operation AS (
    UPDATE operations_operation SET state = 'cancelling', attempt = 0, reason_code = '', reason = '', reason_hint = ''
     WHERE {_FENCE}
 RETURNING id
), steps AS (
    UPDATE operations_operationstep s
       SET due_at = NULL, state = CASE WHEN s.state = 'pending' THEN 'skipped' ELSE s.state END
      FROM operation
     WHERE s.operation_id = operation.id
)
SELECT id, {_NOTE} FROM operation
"""

_REFUSE_CANCEL = f"""
WITH operation AS (
    UPDATE operations_operation
       SET cancel_requested_at = NULL, reason_code = %(reason_code)s, reason = %(reason)s, reason_hint = %(reason_hint)s
     WHERE {_FENCE}
 RETURNING id
)
SELECT id, {_NOTE} FROM operation
"""

_CLOSE = f"""
WITH operation AS (
    UPDATE operations_operation
       SET state = CASE WHEN {{late}} THEN state ELSE %(state)s::varchar END,
           waits_for = CASE WHEN {{late}} THEN waits_for ELSE '' END,
           finished_at = CASE WHEN {{late}} THEN NULL ELSE now() END,
           progress = CASE WHEN {{late}} OR %(state)s::varchar <> 'succeeded' THEN progress ELSE 1 END,
           due_at = CASE WHEN {{late}} THEN due_at END,
           lease_token = CASE WHEN {{late}} THEN lease_token END,
           lease_until = CASE WHEN {{late}} THEN lease_until END,
           claims = 0,
           attempt = 0,
           reason_code = '',
           reason = '',
           reason_hint = ''
     WHERE {_FENCE}
 RETURNING id, state
)
SELECT state, {_NOTE} FROM operation
""".format(late="(%(state)s::varchar = 'succeeded' AND cancel_requested_at IS NOT NULL)")


def claim(operation_id: str, *, token: UUID, seconds: float) -> Claimed | None:
    """Take the lease and book the retry in one statement. None: not due, held by somebody, finished or unknown."""
    rows = Operation.objects.raw(
        _CLAIM, {"id": operation_id, "token": token, "seconds": seconds, "open": [s.value for s in OPEN]}
    )
    for row in rows:
        return Claimed(operation=row, retry_asked=vars(row).pop("retry_asked"))
    return None


def start_steps(operation: Operation, steps: Sequence[str], *, state: StepState, event: bool) -> Recorded:
    """Mark steps as running (or as being undone). LeaseLost."""
    return _recorded(_fenced(operation, _START, event=event, start=list(steps), start_state=state.value))


def record(
    operation: Operation,
    step: OperationStep,
    *,
    trouble: Trouble | None,
    progress: float,
    start: Sequence[str] = (),
    again_in: float | None = None,
    eta: float | None = None,
    event: bool,
) -> Recorded:
    """Record how a call of a step ended and mark the steps that follow as started. LeaseLost.

    `step` carries the new state, attempt, message, progress (0 to 1) and output. `again_in` and `eta` are in seconds.
    """
    trouble = trouble or Trouble("", "", "")
    row = _fenced(
        operation,
        _RECORD,
        event=event,
        progress=progress,
        attempt=step.attempt if trouble.code else 0,
        state=str(step.state),
        step=step.id,
        step_attempt=step.attempt,
        step_progress=step.progress,
        message=step.message,
        output=json.dumps(step.output),
        again_in=again_in,
        eta=eta,
        start=list(start),
        start_state=(StepState.UNDOING if operation.state == OperationState.CANCELLING else StepState.RUNNING).value,
        **_reason(trouble),
    )
    operation.attempt = step.attempt if trouble.code else 0
    operation.reason_code, operation.reason_hint = trouble.code, trouble.hint
    return _recorded(row)


def hand_back(
    operation: Operation, seconds: float, *, wakes: Mapping[str, float], trouble: Trouble | None, event: bool
) -> float:
    """Give the lease back; due again in `seconds`, or at once when a person has asked for something meanwhile.

    The row counts as nudged for then: the caller sends that nudge. Returns the seconds until it is due. LeaseLost.
    """
    row = _fenced(
        operation,
        _HAND_BACK,
        event=event,
        seconds=seconds,
        step_ids=list(wakes),
        step_seconds=list(wakes.values()),
        trouble=trouble is not None,
        **_reason(trouble or Trouble("", "", "")),
    )
    again_in: float = row["again_in"]
    return again_in


def block(operation: Operation, trouble: Trouble) -> bool:
    """Stop until a person decides. False: a person already has, so it is due at once instead. LeaseLost."""
    row = _fenced(operation, _BLOCK, event=True, **_reason(trouble))
    return bool(row["state"] == OperationState.BLOCKED)


def park(operation: Operation) -> bool:
    """Stop until it is resumed or its turn comes. False: no longer wanted, so it is due at once. LeaseLost."""
    return bool(_fenced(operation, _PARK, event=True)["state"] == OperationState.PAUSED)


def turn_back(operation: Operation) -> None:
    """From now on steps are undone; those never started are skipped. LeaseLost."""
    _fenced(operation, _TURN_BACK, event=True)


def refuse_cancel(operation: Operation, trouble: Trouble) -> None:
    """Drop a request to cancel that came too late, and say so. LeaseLost."""
    _fenced(operation, _REFUSE_CANCEL, event=True, **_reason(trouble))


def close(operation: Operation, state: OperationState) -> bool:
    """Finish it and give up the lease. False: nothing written, as a cancel came in before the success. LeaseLost."""
    if state not in FINISHED:
        raise ValueError(f"{state} is not an end")
    return bool(_fenced(operation, _CLOSE, event=True, state=state.value)["state"] == state)


def _reason(trouble: Trouble) -> dict[str, str]:
    return {"reason_code": trouble.code[:64], "reason": trouble.sentence[:2000], "reason_hint": trouble.hint[:2000]}


def _recorded(row: Mapping[str, Any]) -> Recorded:
    return Recorded(
        cancel_requested=row["cancel_requested"],
        pause_requested=row["pause_requested"],
        started=row["started"] > 0,
        overdue=frozenset(row["overdue"] or ()),
    )


def _fenced(operation: Operation, statement: str, *, event: bool, **values: Any) -> dict[str, Any]:
    payload = {
        "org": operation.organisation_id,
        "type": "operation",
        "id": operation.id,
        "cluster_id": operation.cluster_id,
    }
    parameters = {
        "id": operation.id,
        "token": operation.lease_token,
        "event": event,
        "channel": CHANNEL,
        "payload": json.dumps(payload),
        **values,
    }
    connection.ensure_connection()
    # Prepared: half of such a statement's cost is its plan. Django's own cursors cannot, and it switches preparing off
    # for the whole connection, where `prepare=True` alone would be ignored.
    connection.connection.prepare_threshold = 0
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection, row_factory=dict_row) as cursor:
        row = cursor.execute(statement, parameters, prepare=True).fetchone()
    if row is None:
        raise LeaseLost(operation.id)
    return row
