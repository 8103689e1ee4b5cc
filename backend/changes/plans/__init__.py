"""Which steps each change takes, in which order, side by side or not: the plans that are stored with an operation.

The code behind each step name is in provisioner/operations/; a test there checks that every name used here is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from backend.operations.actions import PlannedStep


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A whole operation before it is started: what `operations.start` takes, and what a plan shows."""

    kind: str
    groups: list[list[PlannedStep]]
    expected_seconds: int
    # Name of the step from which on it cannot be cancelled; None: it always can.
    cancellable_until: str | None = None
    # What a command has done cannot be taken back, and need not be.
    stays_done: bool = False
    # Whether it may be paused between two groups, except before those that go on in one go.
    pausable: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)


def in_one_go(groups: Sequence[Sequence[PlannedStep]]) -> list[list[PlannedStep]]:
    """The same groups, with no place for a pause between them: a node is never left drained, stopped or unproved."""
    first, *others = groups
    return [list(first), *([replace(step, mid_way=True) for step in group] for group in others)]
