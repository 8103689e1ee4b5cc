"""When a deletion request can be confirmed or withdrawn, and by whom."""

from collections.abc import Mapping

from backend.accounts.second_person import OPEN
from backend.accounts.states import DeletionRequestState, DeletionTarget, Permission

NEEDED: Mapping[DeletionTarget, Permission] = {
    DeletionTarget.CLUSTER: Permission.CLUSTERS_WRITE,
    DeletionTarget.BACKUP: Permission.CLUSTERS_WRITE,
    DeletionTarget.ACCESS_SETTINGS: Permission.MEMBERS_WRITE,
}
"""What takes to ask for it, to confirm it and to withdraw it: the same as to do it."""
TO_SEE: Mapping[DeletionTarget, Permission] = {
    DeletionTarget.CLUSTER: Permission.CLUSTERS_READ,
    DeletionTarget.BACKUP: Permission.CLUSTERS_READ,
    DeletionTarget.ACCESS_SETTINGS: Permission.MEMBERS_READ,
}
NO_PERSON = "A service account is no person: somebody who is one has to do it."
OWN = "You asked for it yourself: somebody else has to confirm it."


def reason_against_confirming(state: DeletionRequestState, *, may: bool, own: bool, person: bool) -> str | None:
    """`own`: whoever asks made the request, with whichever token. `person`: and is no service account."""
    if state is not DeletionRequestState.PENDING:
        return f"The request is {state}."
    if not may:
        return "Your role or token may not delete this."
    if not person:
        return NO_PERSON
    return OWN if own else None


def reason_against_withdrawing(state: DeletionRequestState, *, may: bool) -> str | None:
    if state not in OPEN:
        return f"The request is {state}."
    return None if may else "Your role or token may not delete this."
