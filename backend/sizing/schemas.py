"""Plans of clusters on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.core.schemas import RequestBody
from backend.prices.estimate_schemas import Bytes, PerSecond, ShapeEstimate
from backend.prices.schemas import ProviderName, SomeWord
from backend.sizing.shapes import Limit

Whole = Annotated[int, Field(ge=0)]


class SizingOrder(RequestBody):
    """What a cluster is to do. The provider need not be one that this installation offers."""

    engine: SomeWord = Field(description="cassandra or scylla; get_sizing_choices lists them")
    provider: ProviderName
    region: SomeWord | None = Field(None, description="Whose prices; null: the provider's reference region")
    zones: int = Field(3, ge=1, le=8)
    reads_per_second: PerSecond
    writes_per_second: PerSecond
    row_bytes: Annotated[int, Field(ge=1, le=16 * 2**20, description="Of a row as it is sent")] = 1024
    data_bytes: Annotated[Bytes, Field(description="Today, of one replica, as it lies on disk")]
    growth_percent_per_month: int = Field(0, ge=0, le=100, description="Of the data; it compounds")
    months_ahead: int = Field(12, ge=0, le=60, description="For how long the cluster is to be large enough")
    replication_factor: int = Field(3, ge=1, le=8)
    p99_ms: int = Field(12, ge=1, le=10_000, description="Latency that 99 of 100 requests keep within")
    spare_percent: int = Field(25, ge=0, le=1000, description="Room for peaks, repairs and lost nodes")
    clients_in_zone: bool = Field(False, description="Every client asks a node of its own zone")
    like_cluster_id: Annotated[str, StringConstraints(max_length=40)] | None = Field(
        None, description="A cluster of one's own whose measured throughput counts; null: what was published"
    )
    scan_rows_per_core: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Rows a second that a core was measured to scan of the table; null: what was published"
    )


class SizingLimit(Schema):
    """One limit of a shape, of all its nodes together."""

    limit: Limit
    unit: str
    needs: int
    holds: int
    headroom_percent: int = Field(description="Of what it holds, rounded down")


class SizingDuration(Schema):
    seconds: int
    formula: str


class SizingShape(Schema):
    """The smallest cluster of a machine type that stays within all limits."""

    machine_type: str
    family: str
    vcpus: int = Field(description="Of one machine")
    memory_bytes: int = Field(description="Of one machine")
    disk_bytes: int = Field(description="Of one machine")
    zones: int
    nodes_per_zone: int
    nodes: int
    decided_by: Limit | None = Field(description="What asks for this many nodes; null: replicas and zones")
    first_limit: Limit = Field(description="What more load or data meets first")
    limits: list[SizingLimit]
    recovery: SizingDuration | None = Field(
        description="Until a node that lost its data has it again; null: nobody published how fast the engine streams"
    )
    scan: SizingDuration | None = Field(
        description="Of all rows once; null: nothing was measured, and nobody published a speed"
    )
    reasons: list[str]
    estimate: ShapeEstimate = Field(description="With traffic between zones; without backups")


class SizingFigure(Schema):
    """A published figure that plans are calibrated by."""

    engine: str
    version: str
    machine_type: str
    vcpus: int
    nodes: int
    operations_per_second: int
    p99_ms: int
    work_per_vcpu: int = Field(description="Replica operations a second, rounded down")
    source: str
    note: str


class SizingCluster(Schema):
    id: str
    name: str


class SizingMeasured(Schema):
    """What a cluster of one's own did in the last seven days, all nodes together, in the mean."""

    cluster: SizingCluster
    engine: str
    machine_type: str
    vcpus: int
    nodes: int
    operations_per_second: int = Field(description="On replicas")
    busy_percent: float = Field(description="Of all vCPUs")
    p99_ms: int = Field(description="Of clients, the higher one of reads and writes, rounded up")
    work_per_vcpu: int = Field(description="Replica operations a second that a vCPU is planned with, rounded down")


class SizingAnswer(Schema):
    currency: str
    priced_at: datetime
    region: str = Field(description="Whose prices")
    calibrated_by: SizingFigure | None = Field(description="null: by a cluster of one's own")
    measured_by: SizingMeasured | None
    is_as_seen: bool = Field(description="False: nobody saw a p99 as low; the figure was taken down in proportion")
    assumptions: list[str]
    shapes: list[SizingShape] = Field(
        description="Of each family of machines the fewest nodes at nearly its lowest price, cheapest first. "
        "Empty: none is large enough"
    )


class SizingRegion(Schema):
    name: str
    title: str
    zones: Whole


class SizingProvider(Schema):
    id: str
    name: str
    is_offered: bool = Field(description="Clusters can be ordered there from this installation")
    regions: list[SizingRegion] = Field(description="The one whose prices are known first")


class SizingEngine(Schema):
    name: str
    title: str


class SizingChoices(Schema):
    """What can be planned with: every cloud of which figures are known, also those that are not offered here."""

    providers: list[SizingProvider]
    engines: list[SizingEngine]
    figures: list[SizingFigure]
    measured: list[SizingMeasured] = Field(
        description="Own clusters that were busy for a week; empty also while metrics cannot be had"
    )
