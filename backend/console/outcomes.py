"""What workers find out about statements. Each end counts once; a row that was cancelled meanwhile stays so."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from pydantic import ValidationError

from backend.console import schemas, sealed
from backend.console.models import CqlSession, CqlStatement, SealedText
from backend.console.queries import LOST
from backend.console.states import (
    ANSWER_KEPT,
    HISTORY_KEPT,
    IN_PROGRESS,
    MOST_ANSWER_BYTES,
    SecretPurpose,
    StatementKind,
    StatementState,
)


@dataclass(frozen=True, kw_only=True)
class Work:
    """A statement as it is to be run. What is secret is not shown."""

    statement_id: str
    cluster_id: str
    role: str
    password: str = field(repr=False)
    statement: str = field(repr=False)
    page_state: str | None = field(repr=False)
    schema: bool
    reads: bool
    keyspace: str
    consistency: str
    page: int
    page_size: int
    timeout_seconds: int
    tracing: bool


def take(statement_id: str) -> Work | None:
    """The work, for one worker only; None: somebody has it, it was cancelled, or its session has ended."""
    taken = CqlStatement.objects.filter(
        id=statement_id, state=StatementState.WAITING, deadline__gt=timezone.now()
    ).update(state=StatementState.RUNNING)
    if not taken:
        return None
    row = CqlStatement.objects.get(id=statement_id)
    password = sealed.find(row.session_id, SecretPurpose.PASSWORD)
    kept = sealed.find(row.id, SecretPurpose.STATEMENT)
    if password is None or kept is None:
        failed(statement_id, code="session-ended", message="The session has ended. Sign in to the database again.")
        return None
    return Work(
        statement_id=row.id,
        cluster_id=row.cluster_id,
        role=row.role,
        password=password,
        statement=kept["statement"],
        page_state=kept["page_state"],
        schema=row.kind == StatementKind.SCHEMA,
        reads=row.reads,
        keyspace=row.keyspace,
        consistency=row.consistency,
        page=row.page,
        page_size=row.page_size,
        timeout_seconds=row.timeout_seconds,
        tracing=row.tracing,
    )


def given_to(statement_id: str, node_id: str) -> None:
    CqlStatement.objects.filter(id=statement_id).update(node_id=node_id)


def running(statement_id: str) -> CqlStatement | None:
    """The statement while somebody waits for it."""
    return CqlStatement.objects.filter(
        id=statement_id, state=StatementState.RUNNING, deadline__gt=timezone.now()
    ).first()


@transaction.atomic
def answered(statement_id: str, *, result: Mapping[str, Any] | None, tree: Mapping[str, Any] | None) -> None:
    """A node is not trusted to answer well: what is not of the form, or too much, is not kept."""
    given = dict(result or {})
    next_page = given.pop("next_page", None)
    try:
        answer = None if result is None else schemas.CqlAnswer.model_validate(given).model_dump(mode="json")
        told = None if tree is None else schemas.CqlSchemaTree.model_validate(tree).model_dump(mode="json")
    except (ValidationError, RecursionError):
        failed(statement_id, code="answer-unreadable", message="The node's answer is not one that can be read.")
        return
    kept = {"answer": answer, "tree": told}
    if len(json.dumps(kept)) > MOST_ANSWER_BYTES or not isinstance(next_page, str | None):
        failed(statement_id, code="answer-too-large", message="The node's answer is too large. Ask for less.")
        return
    row = CqlStatement.objects.select_for_update().filter(id=statement_id, state=StatementState.RUNNING).first()
    if row is None:
        return
    until = timezone.now() + ANSWER_KEPT
    sealed.keep(row.id, SecretPurpose.ANSWER, kept, until=until)
    more = bool(next_page) and row.reads and answer is not None
    statement = sealed.find(row.id, SecretPurpose.STATEMENT) if more else None
    if statement is None:
        sealed.forget(row.id, SecretPurpose.STATEMENT)
    else:
        sealed.keep(row.id, SecretPurpose.STATEMENT, statement | {"page_state": next_page}, until=until)
    row.state = StatementState.ANSWERED
    row.more = statement is not None
    row.rows += len(answer["rows"]) if answer else 0
    row.microseconds = answer["microseconds"] if answer else None
    row.ended_at = timezone.now()
    row.save(update_fields=["state", "more", "rows", "microseconds", "ended_at"])


def failed(statement_id: str, *, code: str, message: str, line: int | None = None, column: int | None = None) -> None:
    ended = CqlStatement.objects.filter(id=statement_id, state=StatementState.RUNNING).update(
        state=StatementState.FAILED,
        ended_at=Now(),
        more=False,
        code=code[:64],
        message=message[:4000].replace("\0", ""),
        line=line,
        column=column,
    )
    if ended:
        sealed.forget(statement_id)


def sweep() -> int:
    """Deletes what is too old, and ends what nothing was heard of. How many secrets went."""
    now = timezone.now()
    CqlStatement.objects.filter(state__in=IN_PROGRESS, deadline__lt=now).update(
        state=StatementState.FAILED,
        ended_at=F("deadline"),
        code="lost",
        message=LOST,
    )
    CqlStatement.objects.filter(asked_at__lt=now - HISTORY_KEPT).delete()
    # Nobody lists those.
    CqlStatement.objects.filter(kind=StatementKind.SCHEMA, asked_at__lt=now - timedelta(hours=1)).delete()
    CqlSession.objects.filter(expires_at__lt=now).delete()
    gone, _ = SealedText.objects.filter(expires_at__lt=now).delete()
    return gone
