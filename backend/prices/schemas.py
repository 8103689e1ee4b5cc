"""The price book on the wire."""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Self

from ninja import Schema
from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody
from backend.prices.states import NAMED, Item, Origin, Term

Word = Annotated[str, StringConstraints(max_length=64, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$")]
SomeWord = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
ProviderName = Annotated[str, StringConstraints(min_length=1, max_length=32, pattern=r"^[a-z][a-z0-9-]*$")]
MICROS_LIMIT = 10**15
UPLOAD_LIMIT = 1000


def _moment(value: Any) -> Any:
    """Bodies are read strictly, in which a moment would not come as text."""
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("Say the time zone, for example 2027-01-01T00:00:00Z")
    if not 2000 <= moment.year <= 2100:
        raise ValueError("Name a year from 2000 to 2100")
    return moment.astimezone(UTC)


def _day(value: Any) -> Any:
    return date.fromisoformat(value) if isinstance(value, str) else value


class PriceOrder(RequestBody):
    """A price of the operator's. It goes before the list's."""

    provider: ProviderName = Field(description="Whose things they are", examples=["aws", "gcp", "local"])
    region: Word = Field("", description="Empty: all regions of the provider")
    item: Annotated[Item, Field(strict=False)] = Field(
        description="What it is a price of; with it goes the unit, as list_prices tells it"
    )
    name: Word = Field("", description="Of machines and storage: the machine type, or the class of storage")
    term: Annotated[Term, Field(strict=False)] | None = Field(None, description="Of machines; null: on demand")
    micros: int = Field(
        ge=0,
        le=MICROS_LIMIT,
        description="Millionths of a US dollar per unit of the item; of markup: millionths of the provider's cost",
    )
    includes_local_disk: bool | None = Field(None, description="Of machines: with its local disks")
    valid_from: Annotated[datetime, BeforeValidator(_moment)] | None = Field(
        None, description="A full hour that has not begun; null: the coming one"
    )
    source: Annotated[Line, StringConstraints(max_length=300)] = Field("", description="Where the figure is from")
    source_date: Annotated[date, BeforeValidator(_day)] | None = Field(
        None, description="Day of the figure; null: not told", examples=["2026-07-06"]
    )
    note: Annotated[Line, StringConstraints(max_length=300)] = Field(
        "", description="Whatever else is to be known of it; shown as it is"
    )

    @model_validator(mode="after")
    def _fits_the_item(self) -> Self:
        if (self.item in NAMED) is not bool(self.name):
            named = ", ".join(sorted(NAMED))
            raise ValueError(f"A name belongs to these items, and to no other: {named}")
        if self.term is not None and self.item is not Item.MACHINE:
            raise ValueError("Only machines have a term")
        if self.includes_local_disk is not None and self.item is not Item.MACHINE:
            raise ValueError("Only machines have local disks")
        return self


class PriceUpload(RequestBody):
    prices: list[PriceOrder] = Field(
        min_length=1, max_length=UPLOAD_LIMIT, description="All of them or, on error, none"
    )


class PriceFilter(Schema):
    provider: ProviderName | None = Field(None, description="Prices at this provider only: aws, gcp or local")
    region: SomeWord | None = Field(
        None, description="Prices of this region only, for example eu-west-1; not those of all regions"
    )
    item: Item | None = Field(None, description="Prices of this item only")
    name: SomeWord | None = Field(None, description="Prices of this machine type or class of storage only")
    origin: Origin | None = Field(None, description="Prices on this word only: operator, published or list")


class Price(Schema):
    """One price from a full hour on, until a later one of the same thing and origin takes its place."""

    id: str = Field(description="Of the price: prc_…")
    provider: str = Field(description="aws, gcp or local")
    region: str | None = Field(description="null: all regions of the provider")
    item: Item = Field(description="What it is a price of")
    name: str = Field(description="Machine type or class of storage; may be empty")
    term: Term | None = Field(description="Of machines")
    unit: str = Field(description="What `micros` is paid for")
    origin: Origin = Field(
        description="operator: this installation's, goes before all others. published: the provider's price list, as "
        "it was read here. list: came with the product"
    )
    micros: int | None = Field(
        description="Millionths of a US dollar; of markup: of the provider's cost. null: the list's counts again"
    )
    includes_local_disk: bool | None = Field(
        description="Of machines: the price is with their local disks; null: not told, or no machine"
    )
    valid_from: datetime = Field(description="The full hour from which on it counts, UTC; may be to come")
    source: str = Field(description="Where the figure is from, for people; may be empty")
    source_date: date | None = Field(description="Day of the source; null: not told")
    assumption: bool = Field(description="Nobody published it: a figure to begin with")
    note: str = Field(description="Whatever else is to be known of it; may be empty")
    created_by: str = Field(description="Empty: came with the product")
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do with it now, and of the rest why not"
    )


class PricePage(Schema):
    items: list[Price] = Field(description="Last added first, of all times")
    next_cursor: NextCursor


class PricesUploaded(Schema):
    items: list[Price] = Field(description="As they are in the book now, in the order in which they were sent")


class ReadingError(Schema):
    message: str = Field(description="What went wrong, a sentence")
    hint: str = Field(description="What to do about it; may be empty")


class PriceList(Schema):
    """The price list of a provider for a region, which is read once a day."""

    id: str = Field(description="Of the list: pls_…")
    provider: str = Field(description="aws or gcp")
    region: str = Field(description="As the provider calls it, for example eu-west-1")
    tried_at: datetime = Field(description="When somebody last tried to read it")
    read_at: datetime | None = Field(description="When it was last read; null: it never was")
    prices: int = Field(description="How many it told then")
    doubtful: list[str] = Field(description="Prices that were not believed, in words: ten times as high, or a tenth")
    error: ReadingError | None = Field(description="Why the last try failed; prices stay as they were")


class PriceListPage(Schema):
    items: list[PriceList] = Field(description="Regions whose prices were first read last come first")
    next_cursor: NextCursor
