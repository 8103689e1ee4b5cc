"""The audit log over HTTP."""

from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.audit import exports, queries, schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["audit"])
_FILE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "A file, in the order of the chain",
            "content": {
                "application/jsonl": {"schema": {"type": "string"}},
                "text/csv": {"schema": {"type": "string"}},
            },
        }
    }
}


@router.get("/audit", operation_id="list_audit_records", response=schemas.AuditPage)
def list_audit_records(
    request: HttpRequest, wanted: Query[schemas.AuditFilter], page: Query[PageQuery]
) -> HttpResponse:
    """Who did what, from where and when, newest first."""
    who = identity(request)
    require(who, Permission.AUDIT_READ)
    return prepared(queries.list_audit_records(who, page, **wanted.dict()))


@router.get("/audit/chain", operation_id="get_audit_chain", response=schemas.AuditChain)
def get_audit_chain(request: HttpRequest) -> HttpResponse:
    """Where the chain of the organisation's records ends. Kept elsewhere, it shows later whether one was changed."""
    who = identity(request)
    require(who, Permission.AUDIT_READ)
    return prepared(queries.get_chain(who))


@router.get("/audit/export", operation_id="export_audit_records", response=None, openapi_extra=_FILE)
def export_audit_records(request: HttpRequest, wanted: Query[schemas.AuditExport]) -> Any:
    """Every record in the chain that matches, with hashes: JSON lines or CSV. The last seconds are not in it."""
    who = identity(request)
    require(who, Permission.AUDIT_READ)
    rows = queries.matching(who.organisation_id, **wanted.dict(exclude={"format"}))
    return StreamingHttpResponse(
        exports.stream(rows, wanted.format),
        content_type=exports.CONTENT_TYPES[wanted.format],
        headers={
            "Content-Disposition": f'attachment; filename="audit.{wanted.format}"',
            "X-Accel-Buffering": "no",
        },
    )
