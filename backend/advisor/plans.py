"""The plan of setting options of a table: on the cluster once, then, if wanted, files anew on node after node."""

from collections.abc import Sequence

from backend.clusters.models import Node
from backend.operations.actions import PlannedStep

ALTER_SECONDS = 5
REWRITE_BYTES_PER_SECOND = 30 * 1024 * 1024
REWRITE_DEADLINE = 24 * 3600


def set_options(name: str, nodes: Sequence[Node], *, rewrite: bool) -> list[list[PlannedStep]]:
    """`name`: of the table, as people write it. One node after the other, so that replicas are not busy together."""
    groups = [[PlannedStep("alter_table", f"Set options of {name}", deadline_seconds=120)]]
    if rewrite:
        title = f"Write the files of {name} anew"
        groups += [
            [PlannedStep("rewrite_table", title, node.id, node.name, deadline_seconds=REWRITE_DEADLINE)]
            for node in nodes
        ]
    return groups


def expected_seconds(node_bytes: float, nodes: int, *, rewrite: bool) -> int:
    """`node_bytes`: of the table on one node."""
    return ALTER_SECONDS + (round(nodes * (2 + node_bytes / REWRITE_BYTES_PER_SECOND)) if rewrite else 0)
