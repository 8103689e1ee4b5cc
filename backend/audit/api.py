"""The audit log over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.audit import queries, schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["audit"])


@router.get("/audit", operation_id="list_audit_records", response=schemas.AuditPage)
def list_audit_records(
    request: HttpRequest, wanted: Query[schemas.AuditFilter], page: Query[PageQuery]
) -> HttpResponse:
    """Who did what, from where and when, newest first."""
    who = identity(request)
    require(who, Permission.AUDIT_READ)
    return prepared(queries.list_audit_records(who, page, **wanted.dict()))
