"""Estimates on the wire. Amounts are whole millionths of a US dollar."""

from datetime import date, datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field

from backend.core.schemas import RequestBody
from backend.prices.schemas import ProviderName, SomeWord
from backend.prices.states import Item, Term

ALTERNATIVES_LIMIT = 20
BYTES_LIMIT = 10**18
Bytes = Annotated[int, Field(ge=0, le=BYTES_LIMIT)]
PerSecond = Annotated[int, Field(ge=0, le=10**9)]
RowBytes = Annotated[int, Field(ge=0, le=16 * 2**20)]


class EstimateLoad(RequestBody):
    """What applications do with the cluster; from it comes the traffic between zones."""

    reads_per_second: PerSecond = 0
    writes_per_second: PerSecond = 0
    row_bytes: RowBytes = Field(default=0, description="Bytes of a row as it is sent")
    clients_in_zone: bool = Field(default=False, description="Every client asks a node of its own zone")


class ShapeOrder(RequestBody):
    """A cluster that could be ordered. The provider need not be one that this installation offers."""

    provider: ProviderName
    region: SomeWord
    machine_type: SomeWord
    nodes: int = Field(ge=1, le=1000, description="Of all zones together")
    zones: int = Field(3, ge=1, le=8, description="Each holds one replica of every row")
    block_bytes_per_node: Bytes | None = Field(
        None, description="Disks that are bought beside the machine; null: its boot disk"
    )
    block_class: SomeWord | None = Field(None, description="For example gp3; null: the provider's first")
    backup_class: SomeWord = Field("standard", description="Class of object storage that backups are kept in")


class EstimateOrder(ShapeOrder):
    load: EstimateLoad = EstimateLoad()
    backup_bytes: Bytes = Field(0, description="All backups together, as they are stored")
    backup_writes_per_month: int = Field(0, ge=0, le=10**12, description="Requests that write objects")
    backup_reads_per_month: int = Field(0, ge=0, le=10**12, description="Requests that read objects")
    traffic_out_bytes_per_month: Bytes = Field(0, description="To the internet")
    alternatives: list[ShapeOrder] = Field(
        default=[],
        max_length=ALTERNATIVES_LIMIT,
        description="Other regions, types, providers or numbers of nodes, for the same load and backups",
    )


class CostAmounts(Schema):
    """Millionths of a US dollar. A month is 730 hours, a year 8,760."""

    hour: int
    month: int
    year: int


class EstimatePrice(Schema):
    micros: int = Field(description="Millionths of a US dollar per unit; of markup: of the provider's cost")
    unit: str
    region: str | None = Field(description="Whose price it is; null: of all regions of the provider")
    origin: str
    valid_from: datetime
    source: str
    source_date: date | None
    assumption: bool = Field(description="Nobody published it: a figure to begin with")
    borrowed: bool = Field(description="No price of the region is known; it is that of the reference region")


class EstimateLine(Schema):
    item: Item
    name: str
    formula: str = Field(description="How it is worked out, per hour, in words")
    amounts: CostAmounts
    price: EstimatePrice


class EstimateBill(Schema):
    """Everything, with machines bought in one way. Lines sum to the total exactly."""

    term: Term
    lines: list[EstimateLine]
    total: CostAmounts
    saved: CostAmounts | None = Field(description="Against the same cluster on demand; null: no price on demand")
    difference: CostAmounts | None = Field(
        description="Of an alternative: its total less that of the first cluster bought the same way; null: no such"
    )


class ShapeEstimate(Schema):
    provider: str
    region: str
    machine_type: str
    nodes: int
    zones: int
    bills: list[EstimateBill] = Field(description="On demand first. Empty: the machine type has no price")
    missing: list[str] = Field(description="What has no price and is not counted, a sentence each")


class EstimateAnswer(Schema):
    currency: str = Field(description="USD")
    priced_at: datetime = Field(description="By the prices in force then")
    estimates: list[ShapeEstimate] = Field(description="What was asked for, then the alternatives in their order")


class DynamoDbOrder(RequestBody):
    reads_per_second: PerSecond
    writes_per_second: PerSecond
    row_bytes: Annotated[int, Field(ge=1, le=400 * 1024, description="DynamoDB takes rows of up to 400 KiB")] = 1024
    data_bytes: Bytes
    spare_percent: int = Field(25, ge=0, le=1000, description="Provisioned beyond the load")
    strong_reads: bool = Field(True, description="False: eventually consistent, at half the price")


class DynamoDbCostLine(Schema):
    title: str
    formula: str
    amounts: CostAmounts


class DynamoDbBill(Schema):
    mode: str = Field(description="provisioned, on_demand, reserved_1y or reserved_3y")
    lines: list[DynamoDbCostLine]
    total: CostAmounts


class DynamoDbAnswer(Schema):
    currency: str
    region: str
    source: str
    prices_of: date = Field(description="Day of the unit prices")
    bills: list[DynamoDbBill]
