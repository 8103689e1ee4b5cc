"""Operations over HTTP."""

from typing import Annotated, Any

from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import PageQuery, prepared
from backend.operations import actions, queries, schemas
from backend.operations.events import hub

router = Router(tags=["operations"])

_STREAM = {
    "responses": {
        200: {
            "description": (
                "`event: operation` with data `{id, cluster_id}` when an operation moved, `event: cluster` with data "
                "`{id}` when a cluster or a node of it changed, `event: reset` when events may have been missed and "
                "everything shown should be fetched anew. A comment every 15 seconds keeps the connection open."
            ),
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    }
}


@router.get("/operations", operation_id="list_operations", response=schemas.OperationPage)
def list_operations(
    request: HttpRequest, wanted: Query[schemas.OperationFilter], page: Query[PageQuery]
) -> HttpResponse:
    """The organisation's operations, newest first: what is being done, and everything that was."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_operations(who, page, **wanted.dict()))


@router.get("/operations/{operation_id}", operation_id="get_operation", response=schemas.OperationDetail)
def get_operation(request: HttpRequest, operation_id: str) -> HttpResponse:
    """One operation with every step of its plan."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_operation_with_steps(who, operation_id))


@router.post("/operations/{operation_id}/cancel", operation_id="cancel_operation", response={202: schemas.Operation})
def cancel_operation(request: HttpRequest, operation_id: str) -> HttpResponse:
    """Asks for an operation to be stopped and undone. It is cancelled when everything it did has been taken back."""
    return prepared(actions.cancel(identity(request), operation_id), status=202)


@router.post("/operations/{operation_id}/retry", operation_id="retry_operation", response={202: schemas.Operation})
def retry_operation(request: HttpRequest, operation_id: str) -> HttpResponse:
    """Tries again at once: what is blocked, or what waits after a failure."""
    return prepared(actions.retry(identity(request), operation_id), status=202)


@router.post("/operations/{operation_id}/pause", operation_id="pause_operation", response={202: schemas.Operation})
def pause_operation(request: HttpRequest, operation_id: str) -> HttpResponse:
    """Asks for an operation to stop where it safely can, between two groups of steps, until it is resumed."""
    return prepared(actions.pause(identity(request), operation_id), status=202)


@router.post("/operations/{operation_id}/resume", operation_id="resume_operation", response={202: schemas.Operation})
def resume_operation(request: HttpRequest, operation_id: str) -> HttpResponse:
    """Lets a paused operation go on: at once, or when the operation that it then waits for has ended."""
    return prepared(actions.resume(identity(request), operation_id), status=202)


@router.get("/events", operation_id="stream_events", tags=["events"], response=None, openapi_extra=_STREAM)
def stream_events(
    request: HttpRequest,
    organisation: Annotated[
        str | None,
        Query(
            max_length=40,
            description="Id of the organisation to listen to, org_…; left out: the one that the request is about",
        ),
    ] = None,
) -> Any:
    """Live notice of what changed in the organisation, as server-sent events. Ids only: fetch what you want to show.

    `organisation` does what the header Ringmaster-Organisation does: a browser's EventSource cannot send headers.
    """
    who = queries.listener(identity(request), organisation)
    require(who, Permission.CLUSTERS_READ)
    hub.check_room(who)
    # The stream lasts for hours and reads no more: give the request's connection back to the pool now.
    if not connection.in_atomic_block:
        connection.close()
    return StreamingHttpResponse(
        hub.stream(who),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
