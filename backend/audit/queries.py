"""Reading the audit log."""

import string
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Count, Min, Q, QuerySet
from django.db.models.expressions import RawSQL

from backend.accounts.queries import Identity
from backend.audit.chain import LINKED, NO_END, SAID, End
from backend.audit.models import AuditRecord
from backend.core.errors import Invalid
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
    "sequence",
    "hash",
)
# As the index has it (migration 0002).
_HAS_WORDS = """
audit_words(audit_auditrecord.actor, audit_auditrecord.action, audit_auditrecord.target_id,
            audit_auditrecord.target_name, audit_auditrecord.before, audit_auditrecord.after)
@@ to_tsquery('pg_catalog.simple', %s)
"""
_PARTING = str.maketrans(dict.fromkeys(string.punctuation, " "))
_PIECE = 1000
"""Records that an export reads at once."""


def list_audit_records(who: Identity, query: PageQuery, **wanted: Any) -> dict[str, Any]:
    """Newest first; `wanted` as `matching` takes it. Raises Invalid."""
    rows = matching(who.organisation_id, **wanted)
    return page(rows.values(*_COLUMNS), query, lambda row: row)


def matching(
    organisation_id: str,
    *,
    target_id: str | None = None,
    action: str | None = None,
    actor: str | None = None,
    q: str | None = None,
    begins: datetime | None = None,
    ends: datetime | None = None,
) -> QuerySet[AuditRecord]:
    """``action`` is exact or a noun (``token`` finds ``token.create``); ``actor`` is a start; ``q`` are beginnings of
    words that a record has, all of them; times are from ``begins`` until before ``ends``. Raises Invalid.
    """
    if begins is not None and ends is not None and begins >= ends:
        raise Invalid("invalid_field", "from must be before to.", hint="Exchange them.", field="from")
    rows = AuditRecord.objects.filter(organisation_id=organisation_id)
    if target_id is not None:
        rows = rows.filter(target_id=target_id)
    if action is not None:
        rows = rows.filter(action=action) if "." in action else rows.filter(action__startswith=action)
    if actor is not None:
        rows = rows.filter(actor__istartswith=actor)
    if q is not None:
        rows = rows.filter(RawSQL(_HAS_WORDS, [_words(q)], output_field=BooleanField()))
    if begins is not None:
        rows = rows.filter(created_at__gte=begins)
    if ends is not None:
        rows = rows.filter(created_at__lt=ends)
    return rows


def _words(q: str) -> str:
    """As to_tsquery takes it: each word, or what begins with it."""
    words = q.translate(_PARTING).split()
    if not words:
        raise Invalid("invalid_field", "q needs a letter or a figure.", hint="Give words to look for.", field="q")
    return " & ".join(f"'{word}':*" for word in words)


def waiting_records(most: int) -> list[dict[str, Any]]:
    """What is in no chain yet, of all organisations."""
    return list(AuditRecord.objects.filter(sequence=None).order_by("id").values(*SAID)[:most])


def end_of(organisation_id: str) -> End:
    rows = AuditRecord.objects.filter(organisation_id=organisation_id, sequence__isnull=False).order_by("-sequence")
    last: Any = rows.values("sequence", "hash").first()
    return NO_END if last is None else End(last["sequence"], last["hash"])


def get_chain(who: Identity) -> dict[str, Any]:
    """Where the organisation's chain ends, and what waits to be tied to it."""
    rows = AuditRecord.objects.filter(organisation_id=who.organisation_id)
    last = rows.filter(sequence__isnull=False).order_by("-sequence").values("sequence", "hash", "created_at").first()
    waiting = rows.filter(sequence=None).aggregate(count=Count("id"), since=Min("created_at"))
    return {
        "organisation_id": who.organisation_id,
        "sequence": 0 if last is None else last["sequence"],
        "hash": NO_END.hash if last is None else last["hash"],
        "last_record_at": last and last["created_at"],
        "waiting": waiting["count"],
        "waiting_since": waiting["since"],
    }


def chain_of(organisation_id: str) -> Iterator[dict[str, Any]]:
    """All linked records in the order of the chain; a few are in memory at a time."""
    rows = AuditRecord.objects.filter(organisation_id=organisation_id, sequence__isnull=False).order_by("sequence")
    yield from rows.values(*LINKED).iterator(chunk_size=_PIECE)


def hash_at(organisation_id: str, sequence: int) -> str | None:
    rows = AuditRecord.objects.filter(organisation_id=organisation_id, sequence=sequence)
    return rows.values_list("hash", flat=True).first()


def waiting_in(organisation_id: str) -> int:
    return AuditRecord.objects.filter(Q(organisation_id=organisation_id), sequence=None).count()


def linked_piece(rows: QuerySet[AuditRecord], after: int) -> list[dict[str, Any]]:
    """Of those that match, the linked ones that follow a number."""
    found = list(rows.filter(sequence__gt=after).order_by("sequence").values(*LINKED)[:_PIECE])
    if not connection.in_atomic_block:
        # Whoever reads an export may be slow: it holds no connection meanwhile.
        connection.close()
    return found
