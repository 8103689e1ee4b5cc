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
    provider: ProviderName = Field(
        description="Whose machines; get_sizing_choices lists those that are known", examples=["aws", "gcp"]
    )
    region: SomeWord | None = Field(None, description="Whose prices; null: the provider's reference region")
    zones: int = Field(3, ge=1, le=8, description="The nodes are spread over them, as many in each")
    reads_per_second: PerSecond = Field(
        description="Reads of rows a second, of all clients together; spare_percent is room beyond them"
    )
    writes_per_second: PerSecond = Field(
        description="Writes of rows a second, of all clients together; spare_percent is room beyond them"
    )
    row_bytes: Annotated[int, Field(ge=1, le=16 * 2**20, description="Of a row as it is sent")] = 1024
    data_bytes: Annotated[Bytes, Field(description="Today, of one replica, as it lies on disk")]
    growth_percent_per_month: int = Field(0, ge=0, le=100, description="Of the data; it compounds")
    months_ahead: int = Field(12, ge=0, le=60, description="For how long the cluster is to be large enough")
    replication_factor: int = Field(
        3, ge=1, le=8, description="Replicas of every row; there is at least a node for each"
    )
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

    limit: Limit = Field(description="What a cluster can be too small for")
    unit: str = Field(
        description="Of needs and holds: replica operations a second, bytes, bytes on disk, bits a second"
    )
    needs: int = Field(description="What the workload needs, with growth or spare, rounded up")
    holds: int = Field(description="What all nodes can take, rounded down")
    headroom_percent: int = Field(description="Of what it holds, rounded down")


class SizingDuration(Schema):
    seconds: int = Field(description="Rounded up")
    formula: str = Field(description="How it is worked out, in words")


class SizingShape(Schema):
    """The smallest cluster of a machine type that stays within all limits."""

    machine_type: str = Field(description="As the provider calls it, for example i4i.2xlarge")
    family: str = Field(description="Of machines, for example i4i; may be empty")
    vcpus: int = Field(description="Of one machine")
    memory_bytes: int = Field(description="Of one machine")
    disk_bytes: int = Field(description="Of one machine")
    zones: int = Field(description="As they were asked for")
    nodes_per_zone: int = Field(description="The same in every zone")
    nodes: int = Field(description="Of all zones together, at most 1,000")
    decided_by: Limit | None = Field(description="What asks for this many nodes; null: replicas and zones")
    first_limit: Limit = Field(description="What more load or data meets first")
    limits: list[SizingLimit] = Field(
        description="Throughput, disk, memory and network, with what is needed and what there is of each"
    )
    recovery: SizingDuration | None = Field(
        description="Until a node that lost its data has it again; null: nobody published how fast the engine streams"
    )
    scan: SizingDuration | None = Field(
        description="Of all rows once; null: nothing was measured, and nobody published a speed"
    )
    reasons: list[str] = Field(
        description="Why it is this many machines, what comes next and what to know of them, a sentence each"
    )
    estimate: ShapeEstimate = Field(description="With traffic between zones; without backups")


class SizingFigure(Schema):
    """A published figure that plans are calibrated by."""

    engine: str = Field(description="cassandra or scylla")
    version: str = Field(description="Of the engine that was measured")
    machine_type: str = Field(description="On which it was measured, as its provider calls it")
    vcpus: int = Field(description="Of one machine")
    nodes: int = Field(description="Machines that it was measured on")
    operations_per_second: int = Field(description="Of clients, of all nodes together")
    p99_ms: int = Field(description="Milliseconds that 99 of 100 requests kept within")
    work_per_vcpu: int = Field(description="Replica operations a second, rounded down")
    source: str = Field(description="Who published it, and where")
    note: str = Field(description="What is assumed of it, in sentences; may be empty")


class SizingCluster(Schema):
    id: str = Field(description="Of the cluster: clu_…; what like_cluster_id takes")
    name: str = Field(description="As it is called now")


class SizingMeasured(Schema):
    """What a cluster of one's own did in the last seven days, all nodes together, in the mean."""

    cluster: SizingCluster = Field(description="Of which it was measured")
    engine: str = Field(description="cassandra or scylla")
    machine_type: str = Field(description="Of all its nodes, as the provider calls it")
    vcpus: int = Field(description="Of one machine")
    nodes: int = Field(description="Living ones, of all data centres")
    operations_per_second: int = Field(description="On replicas")
    busy_percent: float = Field(description="Of all vCPUs")
    p99_ms: int = Field(description="Of clients, the higher one of reads and writes, rounded up")
    work_per_vcpu: int = Field(description="Replica operations a second that a vCPU is planned with, rounded down")


class SizingAnswer(Schema):
    currency: str = Field(description="USD")
    priced_at: datetime = Field(description="By the prices in force then, UTC")
    region: str = Field(description="Whose prices")
    calibrated_by: SizingFigure | None = Field(description="null: by a cluster of one's own")
    measured_by: SizingMeasured | None = Field(
        description="The cluster of like_cluster_id; null: by what was published, see calibrated_by"
    )
    is_as_seen: bool = Field(description="False: nobody saw a p99 as low; the figure was taken down in proportion")
    assumptions: list[str] = Field(
        description="What holds for all shapes: where the throughput is from and what nobody measured, a sentence each"
    )
    shapes: list[SizingShape] = Field(
        description="Of each family of machines the fewest nodes at nearly its lowest price, cheapest first. "
        "Empty: none is large enough"
    )


class SizingRegion(Schema):
    name: str = Field(description="As the provider calls it, for example eu-west-1")
    title: str = Field(description="For people: the place, for example Ireland")
    zones: Whole = Field(description="How many are known of it")


class SizingProvider(Schema):
    id: str = Field(description="What plans name: aws or gcp")
    name: str = Field(description="For people, for example Amazon Web Services")
    is_offered: bool = Field(description="Clusters can be ordered there from this installation")
    regions: list[SizingRegion] = Field(description="The one whose prices are known first")


class SizingEngine(Schema):
    name: str = Field(description="What plans name: cassandra or scylla")
    title: str = Field(description="For people, for example Apache Cassandra; as name where none can be ordered here")


class SizingChoices(Schema):
    """What can be planned with: every cloud of which figures are known, also those that are not offered here."""

    providers: list[SizingProvider] = Field(description="By id")
    engines: list[SizingEngine] = Field(description="Those that there are figures of, by name")
    figures: list[SizingFigure] = Field(
        description="Published ones of all engines; a plan goes by the best that keeps within its p99"
    )
    measured: list[SizingMeasured] = Field(
        description="Own clusters that were busy for a week; empty also while metrics cannot be had"
    )
