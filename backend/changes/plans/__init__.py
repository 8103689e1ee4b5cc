"""Which steps each change takes, in which order, side by side or not: the plans that are stored with an operation.

The code behind each step name is in provisioner/operations/; a test there checks that every name used here is known.
"""

from dataclasses import dataclass, field
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
    # Whether it may be paused between two groups.
    pausable: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)
