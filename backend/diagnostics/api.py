"""Diagnostics over HTTP: questions to nodes and their answers."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import prepared
from backend.diagnostics import actions, queries, schemas

router = Router(tags=["diagnostics"])


@router.get("/clusters/{cluster_id}/diagnostics", operation_id="get_diagnostics", response=schemas.Diagnostics)
def get_diagnostics(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """What a cluster's nodes can be asked, and what they were asked during the last day."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_diagnostics(who, cluster_id))


@router.post(
    "/clusters/{cluster_id}/nodes/{node_id}/diagnostics", operation_id="ask_node", response={202: schemas.Asked}
)
def ask_node(request: HttpRequest, cluster_id: str, node_id: str, order: schemas.QuestionOrder) -> HttpResponse:
    """Asks a node something about itself. Changes nothing; the answer is there in a moment, or when it has sampled."""
    return prepared(actions.ask(identity(request), cluster_id, node_id, order), status=202)


@router.get(
    "/clusters/{cluster_id}/diagnostics/{diagnosis_id}",
    operation_id="get_diagnosis",
    response=schemas.DiagnosisDetail,
)
def get_diagnosis(request: HttpRequest, cluster_id: str, diagnosis_id: str) -> HttpResponse:
    """A question and, as soon as it is there, its answer. Answers are kept for a day."""
    who = identity(request)
    require(who, Permission.DIAGNOSTICS_READ)
    return prepared(queries.get_diagnosis(who, cluster_id, diagnosis_id))
