"""Which price counts: a function of the rows of the book and a moment. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from backend.prices.states import REFERENCE_REGIONS, Item, Origin, Term


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A row of the price book. Fields as in models.Price."""

    provider: str
    region: str
    item: Item
    name: str = ""
    term: Term | None = None
    origin: Origin = Origin.LIST
    micros: int | None
    includes_local_disk: bool | None = None
    valid_from: datetime
    source: str = ""
    source_date: date | None = None
    assumption: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class UnitPrice:
    """The price of one unit of an item, and where it comes from."""

    micros: int
    listed: Listed
    borrowed: bool = False
    """It is that of the provider's reference region: nobody named one for the region that was asked for."""


_Key = tuple[str, str, Item, str, Term | None, Origin]


class PriceBook:
    """All prices of all times; `find` says which one counts."""

    def __init__(self, rows: Iterable[Listed]) -> None:
        self._rows: dict[_Key, list[Listed]] = {}
        for row in rows:
            key = (row.provider, row.region, row.item, row.name, row.term, row.origin)
            self._rows.setdefault(key, []).append(row)
        for found in self._rows.values():
            found.sort(key=lambda row: row.valid_from)

    def find(
        self, provider: str, region: str, item: Item, name: str = "", *, term: Term | None = None, at: datetime
    ) -> UnitPrice | None:
        """Origins in their order; of one, the region's price goes before that of all regions.

        The last resort is the price of the provider's reference region, and says so.
        """
        for origin in Origin:
            for place in (region, ""):
                if found := self._in_force((provider, place, item, name, term, origin), at):
                    return found
        reference = REFERENCE_REGIONS.get(provider, region)
        if reference == region:
            return None
        found = self.find(provider, reference, item, name, term=term, at=at)
        return found and UnitPrice(micros=found.micros, listed=found.listed, borrowed=True)

    def _in_force(self, key: _Key, at: datetime) -> UnitPrice | None:
        begun = [row for row in self._rows.get(key, ()) if row.valid_from <= at]
        if not begun or begun[-1].micros is None:
            return None
        return UnitPrice(micros=begun[-1].micros, listed=begun[-1])
