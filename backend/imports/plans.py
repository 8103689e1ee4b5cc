"""The plans of the operations on imports."""

from collections.abc import Sequence

from backend.clusters.models import Node
from backend.operations.actions import PlannedStep

CHECK_SECONDS = 20
IMPORT_SECONDS = 60

_HOURS = 3600

Groups = list[list[PlannedStep]]


def check() -> Groups:
    """Changes nothing."""
    return [
        [PlannedStep("read_source", "Read what lies there", deadline_seconds=_HOURS)],
        [PlannedStep("compare_tables", "Compare schema and room", deadline_seconds=600)],
    ]


def bring(nodes: Sequence[Node]) -> Groups:
    """Fetched and verified first, changed afterwards."""

    def on_each(name: str, title: str, seconds: int, *, mid_way: bool = False) -> list[PlannedStep]:
        return [PlannedStep(name, title, node.id, node.name, seconds, mid_way) for node in nodes]

    return [
        *check(),
        on_each("fetch_files", "Fetch and verify files", 24 * _HOURS),
        [PlannedStep("create_tables", "Create the tables that are missing", deadline_seconds=300)],
        on_each("import_files", "Give the files to the database", 6 * _HOURS, mid_way=True),
        [PlannedStep("create_views", "Create views", deadline_seconds=300, mid_way=True)],
        on_each("remove_fetched", "Remove what was fetched", 600, mid_way=True),
    ]
