"""Deletes that take two people, where the organisation wants it. docs/decisions/0065.

Whoever deletes something for good calls `agreed` in its transaction, behind all other checks. Requests are made and
confirmed by the app above that knows what there is to delete (backend/deletions).
"""

from collections.abc import Collection

from django.utils import timezone

from backend.accounts.models import DeletionRequest, Organisation
from backend.accounts.queries import Identity
from backend.accounts.states import DeletionRequestState, DeletionTarget
from backend.core.errors import Conflict

HOURS = 24
"""That a request holds from when it was made, confirmed or not."""
OPEN = (DeletionRequestState.PENDING, DeletionRequestState.CONFIRMED)
_WHAT = {
    DeletionTarget.CLUSTER: "Deleting the cluster {name}",
    DeletionTarget.BACKUP: "Deleting a backup of {name}",
    DeletionTarget.ACCESS_SETTINGS: "Letting one person delete again",
}


def agreed(who: Identity, target: DeletionTarget, target_id: str, *, name: str) -> dict[str, str]:
    """Uses up what two people agreed on; what the audit log is to say of it. Raises Conflict.

    Empty where nobody has to be asked; a request that is open all the same is over then.
    """
    rows = DeletionRequest.objects.filter(
        organisation_id=who.organisation_id, target_type=target, target_id=target_id, state__in=OPEN
    )
    found = rows.select_for_update().filter(expires_at__gt=timezone.now()).first()
    needed = Organisation.objects.values_list("deletes_need_two", flat=True).get(id=who.organisation_id)
    if needed and (found is None or found.state != DeletionRequestState.CONFIRMED):
        raise _second_person_needed(target, target_id, name, found)
    rows.update(state=DeletionRequestState.DONE, closed_at=timezone.now(), closed_by=who.actor)
    if not needed or found is None:
        return {}
    return {"deletion_request": found.id, "requested_by": found.requested_by, "confirmed_by": found.confirmed_by}


def gone(target: DeletionTarget, target_ids: Collection[str]) -> None:
    """They went by themselves: nobody has to decide about them any more."""
    DeletionRequest.objects.filter(target_type=target, target_id__in=target_ids, state__in=OPEN).update(
        state=DeletionRequestState.DONE, closed_at=timezone.now()
    )


def _second_person_needed(
    target: DeletionTarget, target_id: str, name: str, waiting: DeletionRequest | None
) -> Conflict:
    what = _WHAT[target].format(name=name)
    if waiting is not None:
        return Conflict(
            "second_person_needed",
            f"{what} waits for a second person: {waiting.requested_by} asked for it ({waiting.id}).",
            hint=f"Have somebody else confirm it (confirm_deletion_request) until "
            f"{waiting.expires_at:%Y-%m-%d %H:%M} UTC, and send this again.",
        )
    return Conflict(
        "second_person_needed",
        f"{what} takes two people in this organisation.",
        hint=f"Ask for it with create_deletion_request (target_type {target}, target_id {target_id}), have somebody "
        f"else confirm it (confirm_deletion_request), and send this again within {HOURS} hours.",
    )
