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
