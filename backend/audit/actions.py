"""Writing down who did what."""

from typing import Any

from backend.accounts.queries import Identity
from backend.audit.models import AuditRecord


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


def record_sign_in(
    organisation_ids: list[str], *, action: str, email: str, user_id: str, source_address: str | None, request_id: str
) -> None:
    """A sign-in, or a failed one, concerns every organisation the person belongs to."""
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
        )
        for organisation_id in organisation_ids
    )
