"""Reading the audit log."""

from typing import Any

from backend.accounts.queries import Identity
from backend.audit.models import AuditRecord
from backend.core.pagination import PageQuery, page

_COLUMNS = (
    "id",
    "action",
    "target_type",
    "target_id",
    "target_name",
    "actor",
    "source_address",
    "request_id",
    "before",
    "after",
    "created_at",
)


def list_audit_records(
    who: Identity, query: PageQuery, *, target_id: str | None, action: str | None, actor: str | None
) -> dict[str, Any]:
    """Newest first. ``action`` is exact or a noun (``token`` finds ``token.create``); ``actor`` is a start."""
    rows = AuditRecord.objects.filter(organisation_id=who.organisation_id)
    if target_id is not None:
        rows = rows.filter(target_id=target_id)
    if action is not None:
        rows = rows.filter(action=action) if "." in action else rows.filter(action__startswith=action)
    if actor is not None:
        rows = rows.filter(actor__istartswith=actor)
    return page(rows.values(*_COLUMNS), query, lambda row: row)
