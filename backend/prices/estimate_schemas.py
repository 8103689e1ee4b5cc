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

    reads_per_second: PerSecond = Field(default=0, description="Reads of rows a second, of all clients together")
    writes_per_second: PerSecond = Field(default=0, description="Writes of rows a second, of all clients together")
    row_bytes: RowBytes = Field(default=0, description="Bytes of a row as it is sent")
    clients_in_zone: bool = Field(default=False, description="Every client asks a node of its own zone")


class ShapeOrder(RequestBody):
    """A cluster that could be ordered. The provider need not be one that this installation offers."""

    provider: ProviderName = Field(description="As the price book has it", examples=["aws", "gcp", "local"])
    region: SomeWord = Field(
        description="As the provider calls it; where no price of it is known, that of the reference region is borrowed",
        examples=["eu-west-1"],
    )
    machine_type: SomeWord = Field(
        description="As the price book has it; one without a price makes no bills", examples=["i4i.2xlarge"]
    )
    nodes: int = Field(ge=1, le=1000, description="Of all zones together")
    zones: int = Field(3, ge=1, le=8, description="Each holds one replica of every row")
    block_bytes_per_node: Bytes | None = Field(
        None, description="Disks that are bought beside the machine; null: its boot disk"
    )
    block_class: SomeWord | None = Field(None, description="For example gp3; null: the provider's first")
    backup_class: SomeWord = Field("standard", description="Class of object storage that backups are kept in")


class EstimateOrder(ShapeOrder):
    load: EstimateLoad = Field(
        EstimateLoad(), description="Of the cluster and of every alternative; left out: no traffic between zones"
    )
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

    hour: int = Field(description="Millionths of a US dollar in an hour")
    month: int = Field(description="In 730 hours; rounded by itself, so not 730 times hour")
    year: int = Field(description="In 8,760 hours; rounded by itself")


class EstimatePrice(Schema):
    micros: int = Field(description="Millionths of a US dollar per unit; of markup: of the provider's cost")
    unit: str = Field(description="What micros is paid for, for example machine and hour")
    region: str | None = Field(description="Whose price it is; null: of all regions of the provider")
    origin: str = Field(description="Whose word it is: operator, published or list, as in list_prices")
    valid_from: datetime = Field(description="The full hour from which on it counts, UTC")
    source: str = Field(description="Where the figure is from, for people; may be empty")
    source_date: date | None = Field(description="Day of the source; null: not told")
    assumption: bool = Field(description="Nobody published it: a figure to begin with")
    borrowed: bool = Field(description="No price of the region is known; it is that of the reference region")


class EstimateLine(Schema):
    item: Item = Field(description="What is paid for, as the price book names it")
    name: str = Field(description="Machine type or class of storage; empty: the item has neither")
    formula: str = Field(description="How it is worked out, per hour, in words")
    amounts: CostAmounts = Field(description="What the line comes to")
    price: EstimatePrice = Field(description="By which it is worked out")


class EstimateBill(Schema):
    """Everything, with machines bought in one way. Lines sum to the total exactly."""

    term: Term = Field(description="How the machines are bought; all else is on demand")
    lines: list[EstimateLine] = Field(
        description="Machines first, then storage, requests and traffic, mark-up, fees; what is not used is left out"
    )
    total: CostAmounts = Field(description="Of all lines")
    saved: CostAmounts | None = Field(description="Against the same cluster on demand; null: no price on demand")
    difference: CostAmounts | None = Field(
        description="Of an alternative: its total less that of the first cluster bought the same way; null: no such"
    )


class ShapeEstimate(Schema):
    provider: str = Field(description="As it was asked for")
    region: str = Field(description="As it was asked for")
    machine_type: str = Field(description="As it was asked for")
    nodes: int = Field(description="Of all zones together")
    zones: int = Field(description="Each holds one replica of every row")
    bills: list[EstimateBill] = Field(description="On demand first. Empty: the machine type has no price")
    missing: list[str] = Field(description="What has no price and is not counted, a sentence each")


class EstimateAnswer(Schema):
    currency: str = Field(description="USD")
    priced_at: datetime = Field(description="By the prices in force then")
    estimates: list[ShapeEstimate] = Field(description="What was asked for, then the alternatives in their order")


class DynamoDbOrder(RequestBody):
    reads_per_second: PerSecond = Field(description="Reads of one row each, a second")
    writes_per_second: PerSecond = Field(description="Writes of one row each, a second")
    row_bytes: Annotated[int, Field(ge=1, le=400 * 1024, description="DynamoDB takes rows of up to 400 KiB")] = 1024
    data_bytes: Bytes = Field(description="Bytes of all rows, each counted once")
    spare_percent: int = Field(25, ge=0, le=1000, description="Provisioned beyond the load")
    strong_reads: bool = Field(True, description="False: eventually consistent, at half the price")


class DynamoDbCostLine(Schema):
    title: str = Field(description="Write capacity, Read capacity, Writes, Reads or Storage")
    formula: str = Field(description="How it is worked out, per hour, in words")
    amounts: CostAmounts = Field(description="What the line comes to")


class DynamoDbBill(Schema):
    mode: str = Field(description="provisioned, on_demand, reserved_1y or reserved_3y")
    lines: list[DynamoDbCostLine] = Field(description="Writes, reads, storage")
    total: CostAmounts = Field(description="Of all lines")


class DynamoDbAnswer(Schema):
    currency: str = Field(description="USD")
    region: str = Field(description="Of AWS, whose unit prices they are: us-east-1")
    source: str = Field(description="Where the unit prices are from, for people")
    prices_of: date = Field(description="Day of the unit prices")
    bills: list[DynamoDbBill] = Field(description="Provisioned, on demand, then reserved for one year and for three")
