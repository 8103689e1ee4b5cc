"""The words of an operation's life, and which of them may be acted on."""

from enum import StrEnum


class OperationState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    BLOCKED = "blocked"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Reserved: nothing sets it. What cannot go on is BLOCKED, and people retry or cancel it. Clients know it, and it
    stays for a kind of operation that nobody could take back or go on with."""
    CANCELLED = "cancelled"


OPEN = (
    OperationState.PENDING,
    OperationState.RUNNING,
    OperationState.BLOCKED,
    OperationState.PAUSED,
    OperationState.CANCELLING,
)
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
    "scale_cluster": "Change the number of nodes",
    "replace_node": "Replace a node",
    "change_machine_type": "Change the machine type",
    "add_datacenter": "Add a data centre",
    "remove_datacenter": "Remove a data centre",
    "restart_node": "Restart a node",
    "rolling_restart": "Restart node by node",
    "stop_node": "Stop a node",
    "start_node": "Start a node",
    "measure_disks": "Measure the disks of a node",
    "upgrade_cluster": "Upgrade the engine",
    "apply_settings": "Apply engine settings",
    "apply_advice": "Set options of a table",
    "rotate_certificates": "Renew the TLS certificates",
    "run_command": "Run a command on a table",
    "change_access": "Change users and permissions",
    "change_allowlist": "Change the IP allowlist",
    "create_connection": "Connect the network",
    "delete_connection": "Delete a connection of the network",
    "rotate_credentials": "Set a new administrator's password",
    "read_access": "Read users and permissions",
    "diagnose": "Ask a node",
    "repair": "Repair",
    "backup": "Back up",
    "restore": "Restore",
    "import_tables": "Import tables",
    "take_over": "Take over what a copy shows",
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
    if state is OperationState.PAUSED:
        return "It is paused, not broken: resume it."
    if state is not OperationState.BLOCKED and attempt == 0:
        return "Nothing has failed: it is moving on by itself."
    return None


def reason_against_pausing(
    state: OperationState, *, pausable: bool, cancel_requested: bool, pause_requested: bool, waits: bool
) -> str | None:
    """Why it cannot be paused now. `waits`: it waits for another operation, or makes way for one."""
    if state in FINISHED:
        return "The operation has ended."
    if cancel_requested or state is OperationState.CANCELLING:
        return "It is being cancelled."
    if not pausable:
        return "This kind of operation cannot be paused."
    if state is OperationState.PAUSED:
        return "It is paused already."
    if pause_requested:
        return "It is about to pause: it finishes what it has begun first."
    if state is OperationState.BLOCKED:
        return "It stands still already: retry or cancel it."
    if waits:
        return "It has not begun: it waits for another operation."
    return None


def reason_against_resuming(
    state: OperationState, *, cancel_requested: bool, pause_requested: bool, waits: bool
) -> str | None:
    """Why there is nothing to resume. `waits`: it waits for another operation, or makes way for one."""
    if state in FINISHED:
        return "The operation has ended."
    if cancel_requested or state is OperationState.CANCELLING:
        return "It is being cancelled."
    if state is not OperationState.PAUSED and not pause_requested:
        return "It is not paused."
    if waits:
        return "It goes on by itself when the operation it waits for has ended."
    return None
