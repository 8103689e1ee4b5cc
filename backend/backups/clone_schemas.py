"""Clones on the wire."""

from typing import Annotated

from ninja import Schema
from pydantic import Field

from backend.backups.schemas import SELECTION_LIMIT, TableChoice
from backend.clusters.schemas import ClusterOrder
from backend.core.schemas import RequestBody


class CloneOrder(RequestBody):
    """A new cluster with what the tables of this one hold now."""

    new_cluster: ClusterOrder = Field(description="What to order: of the same shape or any other, with the same engine")
    selection: Annotated[list[TableChoice], Field(max_length=SELECTION_LIMIT)] = Field(
        default=[],
        description="Empty: all tables",
        examples=[[{"keyspace": "shop", "table": "orders"}, {"keyspace": "users"}]],
    )
    location_id: str | None = Field(
        None,
        description="Where the backup goes; null: the installation's; where it has none, your oldest",
        examples=["loc_01jd3k6m9x4t7v2w8y5z0a1b2c"],
    )
    keep_days: Annotated[int, Field(ge=1, le=365)] = Field(7, description="So long the backup is kept")


class ClonePlan(Schema):
    """A dry run."""

    bytes: int | None = Field(description="Of all nodes' data; null: the nodes have not told yet")
    new_bytes: int | None = Field(description="To be uploaded, by the share that was new in the backup before")
    seconds: float | None = Field(description="Of the backup, by those before; null: there was none")
    nodes_total: int | None = Field(description="Of the new cluster; null: it cannot be ordered")
    steps: list[str] = Field(description="What would be done, in order")
    warnings: list[str] = Field(description="Sentences about what to know of it; none of them stands in the way")
    problems: list[str] = Field(description="Why it cannot be done; empty: it can")
