"""Who may sign in from where, and who may do what: changes that touch neither data nor ring."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.changes.plans import Planned
from backend.clusters.models import Node
from backend.operations.actions import PlannedStep


def change_allowlist(*, living: Sequence[Node], cidrs: Sequence[str] = (), before: Sequence[str] = ()) -> Planned:
    """`cidrs`: from where drivers may connect, empty: from everywhere. `before`: what a cancel goes back to."""
    return Planned(
        kind="change_allowlist",
        groups=[
            [
                PlannedStep(
                    "apply_allowlist",
                    "Take the allowlist over",
                    target=node.id,
                    target_title=node.name,
                    deadline_seconds=120,
                )
                for node in living
            ]
        ],
        expected_seconds=3,
        parameters={"cidrs": list(cidrs), "before": list(before)},
    )


def change_access(change: Mapping[str, Any] | None = None) -> Planned:
    """`change`: what is done to which role, as backend/access/changes.py describes it; never a secret."""
    return Planned(
        kind="change_access",
        groups=[
            [PlannedStep("apply_access", "Change the role in the database", deadline_seconds=60)],
            [_read()],
        ],
        expected_seconds=3,
        cancellable_until="apply_access",
        parameters=dict(change or {}),
    )


def read_access() -> Planned:
    return Planned(kind="read_access", groups=[[_read()]], expected_seconds=2)


def _read() -> PlannedStep:
    return PlannedStep("read_access", "Read roles and permissions", deadline_seconds=60)
