"""The plan of doing something to a table's files."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.changes.plans import Planned
from backend.clusters.models import Node
from backend.operations.actions import PlannedStep

_NODE = 3
"""Seconds on a node besides what its bytes take."""


def run_command(
    *, nodes: Sequence[Node], at_once: int, title: str, seconds: Mapping[str, int], parameters: Mapping[str, Any]
) -> Planned:
    """`nodes`: in this order, so many at once. `seconds`: what it takes by id of the node, where that is known."""
    groups = [
        [
            PlannedStep(
                "run_command", title, node.id, node.name, deadline_seconds=600 + 4 * seconds.get(node.id, 6 * 3600)
            )
            for node in some
        ]
        for some in (nodes[at : at + at_once] for at in range(0, len(nodes), at_once))
    ]
    expected = sum(_NODE + max(seconds.get(step.target, 0) for step in group) for group in groups)
    return Planned(
        kind="run_command",
        stays_done=True,
        groups=groups,
        expected_seconds=expected,
        pausable=len(groups) > 1,
        parameters=dict(parameters),
    )
