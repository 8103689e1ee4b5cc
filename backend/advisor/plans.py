"""The plan of setting options of a table: on the cluster once, then, if wanted, files anew on node after node."""

from collections.abc import Mapping, Sequence

from backend.clusters.models import Node
from backend.operations.actions import PlannedStep

ALTER_SECONDS = 5
_NODE_SECONDS = 2
"""On a node besides what its bytes take."""
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


def expected_seconds(nodes: Sequence[Node], *, rewrite: bool, on_disk: Mapping[str, int], bytes_per_second: int) -> int:
    """Seconds. Files are written anew by compactions, so each node takes its bytes of the table over what compactions
    may write (changes/planning/commands.py), one node after the other. `on_disk`: live bytes of the table by id of
    the node, as its metrics last said; of a node that is not in it nothing is known, and nothing is added.
    """
    if not rewrite:
        return ALTER_SECONDS
    return ALTER_SECONDS + sum(_NODE_SECONDS + on_disk.get(node.id, 0) // bytes_per_second for node in nodes)
