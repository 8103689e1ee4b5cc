"""The words of an operation's life, and which of them may be acted on."""

from enum import StrEnum


class OperationState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    BLOCKED = "blocked"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = (OperationState.PENDING, OperationState.RUNNING, OperationState.BLOCKED, OperationState.CANCELLING)
FINISHED = (OperationState.SUCCEEDED, OperationState.FAILED, OperationState.CANCELLED)


class StepState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    UNDOING = "undoing"
    UNDONE = "undone"
    SKIPPED = "skipped"


TITLES = {
    "create_cluster": "Create cluster",
    "delete_cluster": "Delete cluster",
    "rotate_credentials": "Set a new administrator's password",
}


def title(kind: str) -> str:
    """The kind in words."""
    return TITLES.get(kind) or kind.replace("_", " ").capitalize()


MAY_NOT = "Your role or token may not steer operations."


def reason_against_cancelling(
    state: OperationState, *, cancel_requested: bool, cancellable_until: int | None, furthest: int | None
) -> str | None:
    """Why it cannot be cancelled now. `furthest`: position of the last step that was started; None: none was."""
    if state in FINISHED:
        return f"The operation has {state} already." if state != "cancelled" else "The operation was cancelled already."
    if cancel_requested or state is OperationState.CANCELLING:
        return "It is being cancelled already."
    if cancellable_until is not None and furthest is not None and furthest >= cancellable_until:
        return "It has come too far to be undone."
    return None


def reason_against_retrying(state: OperationState, *, attempt: int) -> str | None:
    """Why there is nothing to try again. `attempt`: failed tries in a row."""
    if state in FINISHED:
        return "The operation has ended; order it anew."
    if state is not OperationState.BLOCKED and attempt == 0:
        return "Nothing has failed: it is moving on by itself."
    return None
