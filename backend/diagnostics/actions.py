"""Asking nodes. The answer is written by the provisioner; reading it is all that is done to a node."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from pydantic import ValidationError

from backend.accounts.models import Organisation
from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.catalog.queries import answers_questions
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found, clusters, node_not_found
from backend.clusters.states import ClusterState
from backend.core.errors import Conflict, Invalid, TooManyRequests
from backend.diagnostics import plans, schemas
from backend.diagnostics.models import Diagnosis
from backend.diagnostics.queries import shown
from backend.diagnostics.states import (
    KEPT,
    MOST_ANSWER_BYTES,
    MOST_PER_MINUTE,
    QUESTIONS,
    DiagnosisState,
    Question,
    QuestionParameter,
    reason_against_asking,
)
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation

_USUAL_SECONDS = 10
_USUAL_MINUTES = 10


@transaction.atomic
def ask(who: Identity, cluster_id: str, node_id: str, order: schemas.QuestionOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, Conflict, TooManyRequests."""
    require(who, Permission.DIAGNOSTICS_READ)
    cluster = clusters(who).filter(id=cluster_id).first()
    if cluster is None:
        raise cluster_not_found()
    node = Node.objects.filter(cluster=cluster, id=node_id).first()
    if node is None:
        raise node_not_found()
    _check_state(cluster, node)
    parameters = _parameters(order)
    _limit_rate(who)
    if QUESTIONS[order.question].samples:
        _check_alone(node, order.question)
    # Everybody's, so that nobody's answers stay because nobody asks any more.
    Diagnosis.objects.filter(asked_at__lt=Now() - KEPT).delete()
    seconds = _seconds(order)
    row = Diagnosis(
        organisation_id=who.organisation_id,
        cluster=cluster,
        node=node,
        question=order.question,
        parameters=parameters,
        asked_by=who.actor,
    )
    operation = operations.start(
        organisation_id=who.organisation_id,
        kind="diagnose",
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=who.actor,
        parameters={"diagnosis": row.id, "question": order.question, "parameters": parameters},
        groups=plans.ask(node, order.question, sampling=seconds),
        expected_seconds=plans.ASK_SECONDS + seconds,
    )
    row.operation_id = operation.id
    row.save(force_insert=True)
    audit.record(
        who,
        action="diagnostics.ask",
        target_type="node",
        target_id=node.id,
        target_name=node.name,
        after={"question": order.question, **parameters},
    )
    return {"diagnosis": shown(row), "operation": get_operation(who, operation.id)}


def _check_state(cluster: Cluster, node: Node) -> None:
    reason = reason_against_asking(
        may=True,
        answers=answers_questions(cluster.engine),
        cluster=ClusterState(cluster.state),
        node_deleted=node.deleted_at is not None,
        has_machine=node.agent_address is not None,
    )
    if reason is not None:
        raise Conflict("cannot_ask", reason, hint="Choose a node that is there.")


def _parameters(order: schemas.QuestionOrder) -> dict[str, Any]:
    """What was given, checked against what the question takes."""
    about = QUESTIONS[order.question]
    given = order.model_dump(mode="json", exclude={"question"}, exclude_none=True)
    for name in given:
        if name not in about.takes:
            raise Invalid(
                "parameter_not_taken", f"{about.title} does not take {name}.", hint="Leave it out.", field=name
            )
    for name in about.needs:
        if name not in given:
            raise Invalid("parameter_missing", f"{about.title} needs a {name}.", hint="Give one.", field=name)
    if "table" in given and "keyspace" not in given:
        raise Invalid("parameter_missing", "A table needs its keyspace.", hint="Give both.", field="keyspace")
    return given


def _seconds(order: schemas.QuestionOrder) -> int:
    """How long it samples or reads at most; 0: not at all."""
    takes = QUESTIONS[order.question].takes
    if QuestionParameter.MINUTES in takes:
        return (order.minutes or _USUAL_MINUTES) * 60
    return (order.seconds or _USUAL_SECONDS) if QuestionParameter.SECONDS in takes else 0


def _limit_rate(who: Identity) -> None:
    """At most so many questions of an organisation in a minute. The row keeps two at once from both being the last."""
    Organisation.objects.select_for_update(no_key=True).get(id=who.organisation_id)
    lately = Diagnosis.objects.filter(
        organisation_id=who.organisation_id, asked_at__gte=Now() - timedelta(minutes=1)
    ).count()
    if lately >= MOST_PER_MINUTE:
        raise TooManyRequests(
            "too_many_questions",
            f"Your organisation has asked {lately} questions within a minute.",
            hint="Ask again in a minute; metrics are there for what is watched all the time.",
            retry_after=60,
        )


def _check_alone(node: Node, question: Question) -> None:
    """Sampling and reading files cost the node something, and two would disturb each other."""
    sampling = [each for each, about in QUESTIONS.items() if about.samples]
    other = Diagnosis.objects.filter(node=node, question__in=sampling, state=DiagnosisState.ASKED).first()
    if other is not None:
        raise Conflict(
            "already_sampling",
            f"{node.name} is being sampled already ({QUESTIONS[Question(other.question)].title.lower()}).",
            hint="Wait until that has ended, or cancel its operation.",
        )


# What the provisioner finds out


def answered(diagnosis_id: str, answer: Mapping[str, Any]) -> str | None:
    """Keeps what a node answered; None. A node is not trusted to answer well: else why it is not kept."""
    try:
        kept = schemas.Answer.model_validate(answer).model_dump(mode="json")
    except (ValidationError, RecursionError):
        return _not_kept(diagnosis_id, "answer-unreadable", "The node's answer is not one that this release can read.")
    if len(json.dumps(kept)) > MOST_ANSWER_BYTES:
        return _not_kept(diagnosis_id, "answer-too-large", "The node's answer has more than 2 MiB. Ask for less.")
    _end(diagnosis_id, DiagnosisState.ANSWERED, answer=kept)
    return None


def _not_kept(diagnosis_id: str, code: str, message: str) -> str:
    not_answered(diagnosis_id, code=code, message=message)
    return message


def not_answered(diagnosis_id: str, *, code: str, message: str) -> None:
    _end(diagnosis_id, DiagnosisState.FAILED, code=code[:64], message=message[:2000])


def question_cancelled(operation: Operation) -> None:
    _end(operation.parameters["diagnosis"], DiagnosisState.CANCELLED)


def _end(diagnosis_id: str, state: DiagnosisState, **columns: Any) -> None:
    """The first end counts; a row that was too old is gone."""
    Diagnosis.objects.filter(id=diagnosis_id, state=DiagnosisState.ASKED).update(
        state=state, answered_at=Now(), **columns
    )
