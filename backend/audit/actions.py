"""Writing down who did what."""

from typing import Any

from django.db import connection

from backend.accounts.queries import Identity
from backend.audit import chain, queries
from backend.audit.models import AuditRecord

LINKED_AT_ONCE = 200
"""Records."""
_LINK = """
UPDATE audit_auditrecord record
   SET sequence = tie.sequence, previous_hash = tie.previous_hash, hash = tie.hash
  FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[]) AS tie (id, sequence, previous_hash, hash)
 WHERE record.id = tie.id
"""


def record(
    who: Identity,
    *,
    action: str,
    target_type: str,
    target_id: str,
    target_name: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Called inside the transaction of the change itself. ``before`` and ``after`` are JSON and never hold a secret."""
    AuditRecord.objects.create(
        organisation_id=who.organisation_id,
        action=action,
        target_type=target_type,
        target_id=target_id,
        target_name=target_name,
        actor=who.actor,
        actor_user_id=who.user_id,
        actor_token_id=who.token_id or "",
        source_address=who.source_address,
        request_id=who.request_id,
        before=before,
        after=after,
    )


def record_of_person(
    organisation_ids: list[str],
    *,
    action: str,
    email: str,
    user_id: str,
    source_address: str | None,
    request_id: str,
    after: dict[str, Any] | None = None,
) -> None:
    """A sign-in, or what it takes, concerns every organisation the person belongs to. ``after`` holds no secret."""
    AuditRecord.objects.bulk_create(
        AuditRecord(
            organisation_id=organisation_id,
            action=action,
            target_type="user",
            target_id=user_id,
            target_name=email,
            actor=email,
            actor_user_id=user_id,
            source_address=source_address,
            request_id=request_id,
            after=after,
        )
        for organisation_id in organisation_ids
    )


def link() -> list[dict[str, Any]]:
    """Ties records that are committed to the ends of their organisations' chains; which (chain.LINKED), in order.

    Called in a transaction, by one at a time (provisioner/reconcile/audit.py): writers of records wait for nobody, so
    the order is that in which records are seen here, by id among those that are seen at once.
    """
    tied: list[dict[str, Any]] = []
    ends: dict[str, chain.End] = {}
    for record in queries.waiting_records(LINKED_AT_ONCE):
        owner = record["organisation_id"]
        if owner not in ends:
            ends[owner] = queries.end_of(owner)
        tied.append(chain.linked(record, ends[owner]))
        ends[owner] = chain.End(tied[-1]["sequence"], tied[-1]["hash"])
    if tied:
        columns = ("id", "sequence", "previous_hash", "hash")
        with connection.cursor() as cursor:
            cursor.execute(_LINK, [[each[name] for each in tied] for name in columns])
    return tied
