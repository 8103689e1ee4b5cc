"""How far a cloud account is to be used."""

from enum import StrEnum


class CheckState(StrEnum):
    """What the last check found. Clusters can be ordered into an account that is READY."""

    UNCHECKED = "unchecked"
    CHECKING = "checking"
    READY = "ready"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"


MAY_NOT = "Your role or token may not change cloud accounts."


def reason_against_changing(*, may: bool) -> str | None:
    return None if may else MAY_NOT


def reason_against_checking(*, may: bool, checking: bool) -> str | None:
    if not may:
        return MAY_NOT
    return "It is being checked." if checking else None


def reason_against_deleting(*, may: bool, clusters: int) -> str | None:
    """`clusters`: living ones that are in the account."""
    if not may:
        return MAY_NOT
    if clusters:
        return "A cluster is in this account." if clusters == 1 else f"{clusters} clusters are in this account."
    return None


def reason_against_ordering(state: CheckState, *, missing: int) -> str | None:
    """Why no cluster can be ordered into it. `missing`: permissions that the last check found to be lacking."""
    match state:
        case CheckState.READY:
            return None
        case CheckState.UNCHECKED:
            return "It has not been checked yet."
        case CheckState.CHECKING:
            return "It is being checked."
        case CheckState.INCOMPLETE:
            return f"It lacks {missing} permission{'' if missing == 1 else 's'} that clusters need."
        case CheckState.REFUSED:
            return "The control plane cannot act in it."
