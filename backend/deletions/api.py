"""Deletion requests over HTTP. What they are needed for is said by the deletes themselves: `second_person_needed`."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity
from backend.core.pagination import PageQuery, prepared
from backend.deletions import actions, queries, schemas

router = Router(tags=["deletion requests"])


@router.get("/deletion-requests", operation_id="list_deletion_requests", response=schemas.DeletionRequestPage)
def list_deletion_requests(
    request: HttpRequest, wanted: Query[schemas.DeletionRequestFilter], page: Query[PageQuery]
) -> HttpResponse:
    """Deletes that somebody asked for and that take a second person, newest first."""
    who = identity(request)
    return prepared(queries.list_requests(who, page, target_id=wanted.target_id, only_open=wanted.open))


@router.post("/deletion-requests", operation_id="create_deletion_request", response={201: schemas.DeletionRequest})
def create_deletion_request(request: HttpRequest, order: schemas.DeletionRequestOrder) -> HttpResponse:
    """Asks for a delete that takes two people. It holds for 24 hours; the delete is sent again when it is confirmed."""
    return prepared(actions.create(identity(request), order.target_type, order.target_id), status=201)


@router.get(
    "/deletion-requests/{deletion_request_id}",
    operation_id="get_deletion_request",
    response=schemas.DeletionRequest,
)
def get_deletion_request(request: HttpRequest, deletion_request_id: str) -> HttpResponse:
    """One request, with who asked and who confirmed."""
    return prepared(queries.get_request(identity(request), deletion_request_id))


@router.post(
    "/deletion-requests/{deletion_request_id}/confirm",
    operation_id="confirm_deletion_request",
    response=schemas.DeletionRequest,
)
def confirm_deletion_request(request: HttpRequest, deletion_request_id: str) -> HttpResponse:
    """As the second person, who may delete it, too. Deletes nothing by itself: the delete is sent again then."""
    return prepared(actions.confirm(identity(request), deletion_request_id))


@router.post(
    "/deletion-requests/{deletion_request_id}/withdraw",
    operation_id="withdraw_deletion_request",
    response=schemas.DeletionRequest,
)
def withdraw_deletion_request(request: HttpRequest, deletion_request_id: str) -> HttpResponse:
    """Takes a request back, confirmed or not: by who asked, or anybody else who could confirm it."""
    return prepared(actions.withdraw(identity(request), deletion_request_id))
