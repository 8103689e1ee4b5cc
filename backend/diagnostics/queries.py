"""Reading what nodes were asked, and what they answered."""

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.catalog.queries import answers_questions
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.states import ClusterState
from backend.core.errors import NotFound
from backend.core.schemas import allowed
from backend.diagnostics.models import Diagnosis
from backend.diagnostics.states import KEPT, QUESTIONS, DiagnosisState, Question, reason_against_asking

_SHOWN = 50


def get_diagnostics(who: Identity, cluster_id: str) -> dict[str, Any]:
    """What can be asked, and what was. Raises NotFound."""
    cluster = _cluster(who, cluster_id)
    reason = reason_against_asking(
        may=Permission.DIAGNOSTICS_READ in who.permissions,
        answers=answers_questions(cluster.engine),
        cluster=ClusterState(cluster.state),
    )
    return {
        "questions": [
            {
                "question": question,
                "title": about.title,
                "description": about.description,
                "takes": about.takes,
                "needs": about.needs,
                "samples": about.samples,
            }
            for question, about in QUESTIONS.items()
        ],
        "asked": [shown(row) for row in _kept(who, cluster).defer("answer").order_by("-id")[:_SHOWN]],
        "allowed_actions": [allowed("ask_node", reason)],
    }


def get_diagnosis(who: Identity, cluster_id: str, diagnosis_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = _kept(who, _cluster(who, cluster_id)).filter(id=diagnosis_id).first()
    if row is None:
        raise NotFound(
            "diagnosis_not_found", "There is no such answer.", hint="Answers are kept for a day; ask the node again."
        )
    return shown(row) | {"answer": row.answer}


def shown(row: Diagnosis) -> dict[str, Any]:
    return {
        "id": row.id,
        "question": row.question,
        "title": QUESTIONS[Question(row.question)].title,
        "node_id": row.node_id,
        "node_name": row.node.name,
        "parameters": row.parameters,
        "state": row.state,
        "asked_by": row.asked_by,
        "asked_at": row.asked_at,
        "answered_at": row.answered_at,
        "operation_id": row.operation_id,
        "problem": {"code": row.code, "message": row.message} if row.state == DiagnosisState.FAILED else None,
    }


def _cluster(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def _kept(who: Identity, cluster: Cluster) -> QuerySet[Diagnosis]:
    mine = Diagnosis.objects.filter(organisation_id=who.organisation_id, cluster=cluster)
    return mine.filter(asked_at__gte=Now() - KEPT).select_related("node")
