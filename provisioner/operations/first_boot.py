"""What the agent of a new machine tells about its first boot: how far it is, and why it cannot go on."""

from collections.abc import Mapping
from typing import Any

from backend.clusters.models import Node
from backend.tuning.states import STEP_TITLES, BootState, Environment, advice, title_of
from provisioner.operations.base import Blocked, Wait

_LOOK_SECONDS = 1.0


def what_to_wait_for(node: Node, report: Mapping[str, Any]) -> Wait | None:
    """None: the machine is ready for its engine. Blocked when its first boot has failed, with the step's own code."""
    if report["environment"] == Environment.SHARED:
        return None
    boot = report["first_boot"]
    if boot is None:
        return Wait(_LOOK_SECONDS, f"{node.name}: its first boot to begin")
    match BootState(boot["state"]):
        case BootState.SUCCEEDED:
            return None
        case BootState.FAILED:
            raise _failed(node, boot)
        case BootState.PENDING:
            return _running(node, boot)


def _running(node: Node, boot: Mapping[str, Any]) -> Wait:
    steps = boot["steps"]
    done = sum(1 for step in steps if step["state"] == BootState.SUCCEEDED)
    at = next((step["name"] for step in steps if step["state"] != BootState.SUCCEEDED), "")
    where = f"{title_of(at, STEP_TITLES)} ({at}, {done + 1} of {len(steps)})"
    return Wait(_LOOK_SECONDS, f"{node.name}, first boot: {where}", done / len(steps))


def _failed(node: Node, boot: Mapping[str, Any]) -> Blocked:
    step = next(step for step in boot["steps"] if step["state"] == BootState.FAILED)
    code = step["error"]["code"]
    known = advice(code)
    said = step["error"]["message"].rstrip(".")
    where = title_of(step["name"], STEP_TITLES)
    return Blocked(
        code, f"{node.name}, first boot: {where} ({step['name']}) failed. {known.meaning} It says: {said}.", known.hint
    )
