"""The plans of the operations on access: changes that touch neither data nor ring."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.clusters.models import Datacenter, Node
from backend.clusters.plans import allow_clients
from backend.operations.actions import PlannedStep

# Seconds the kinds usually take.
ALLOWLIST_SECONDS = 4
CHANGE_SECONDS = 3
READ_SECONDS = 2

Groups = list[list[PlannedStep]]


def change_allowlist(living: Sequence[Node], firewalls: Sequence[Datacenter]) -> Groups:
    """On every node, side by side: each engine is told at once instead of looking for itself later.

    `firewalls`: data centres whose networks have one.
    """
    return [
        [
            PlannedStep("apply_allowlist", "Take the allowlist over", node.id, node.name, deadline_seconds=120)
            for node in living
        ]
        + [allow_clients(datacenter) for datacenter in firewalls]
    ]


def allowlist_parameters(cidrs: Sequence[str], before: Sequence[str]) -> dict[str, Any]:
    """`cidrs`: from where drivers may sign in, empty: from everywhere. `before`: what a cancel goes back to."""
    return {"cidrs": list(cidrs), "before": list(before)}


def change_access() -> Groups:
    return [[PlannedStep("apply_access", "Change the role in the database", deadline_seconds=60)], [_read()]]


def access_parameters(
    role: str, changes: Sequence[Mapping[str, Any]], undo: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What is done to a role, and what a cancel does. Never a secret: `password: true` stands for the one in the vault.

    A change is `{"action": "create", "can_login", "password"}`, `{"action": "alter", ...}` with the same,
    `{"action": "drop"}`, `{"action": "grant" or "revoke", "permissions", "resource"}` or `{..., "member_of"}`.
    """
    return {"role": role, "changes": [dict(change) for change in changes], "undo": [dict(change) for change in undo]}


def read_access() -> Groups:
    return [[_read()]]


def _read() -> PlannedStep:
    return PlannedStep("read_access", "Read roles and permissions", deadline_seconds=60)
