"""Lines of days as files, in pieces: no more than a piece is in memory, however many lines there are."""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from ulid import ULID

from backend.costs.invoices import quantity_of, unit_of
from backend.costs.ranges import Days, month_of
from backend.costs.schemas import ExportFormat
from backend.prices.money import MICROS
from backend.prices.states import CURRENCY, Item

_PIECE = 2000
"""Lines."""
CONTENT_TYPES = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.FOCUS: "text/csv; charset=utf-8",
    ExportFormat.JSON: "application/json",
}
# Entered at the last line of the piece before: every piece costs the same.
_LINES = """
SELECT line.day, line.cluster_id, line.item, line.provider, line.region, line.name, COALESCE(line.price, -1) AS price,
       line.sequence, line.id, line.quantity, line.micros, cluster.name AS cluster, cluster.engine,
       cluster.options -> 'tags' AS tags
  FROM costs_costline line
  LEFT JOIN clusters_cluster cluster ON cluster.id = line.cluster_id AND cluster.organisation_id = line.organisation_id
 WHERE line.organisation_id = %s AND line.day >= %s AND line.day < %s AND (%s = '' OR line.cluster_id = %s)
   AND (line.day, line.cluster_id, line.id) > (%s, %s, %s)
 ORDER BY line.day, line.cluster_id, line.id
 LIMIT %s
"""
_PLAIN = (
    "day",
    "cluster_id",
    "cluster",
    "engine",
    "tags",
    "item",
    "name",
    "provider",
    "region",
    "quantity",
    "unit",
    "price",
    "micros",
)
FOCUS = (
    "AvailabilityZone",
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "CommitmentDiscountCategory",
    "CommitmentDiscountId",
    "CommitmentDiscountName",
    "CommitmentDiscountStatus",
    "CommitmentDiscountType",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "ContractedUnitPrice",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "ListUnitPrice",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "RegionId",
    "RegionName",
    "ResourceId",
    "ResourceName",
    "ResourceType",
    "ServiceCategory",
    "ServiceName",
    "SkuId",
    "SkuPriceId",
    "SubAccountId",
    "SubAccountName",
    "Tags",
)
"""The columns of FOCUS 1.0, all of them. docs/costs.md says which are filled."""

_Line = dict[str, Any]
_Account = tuple[str, str]
"""Id and name of the organisation."""


async def stream(account: _Account, span: Days, cluster_id: str | None, wanted: ExportFormat) -> AsyncIterator[bytes]:
    """Everything in the order of days and clusters."""
    piece: Callable[[Sequence[_Line]], str]
    match wanted:
        case ExportFormat.JSON:
            begin, piece, end = f'{{"currency":"{CURRENCY}","lines":[', _json, "]}"
        case ExportFormat.CSV:
            begin, piece, end = _csv([list(_PLAIN)]), _plain_rows, ""
        case ExportFormat.FOCUS:
            begin, piece, end = _csv([list(FOCUS)]), _focus_rows(account), ""
    yield begin.encode()
    after: tuple[Any, ...] = (date.min, "", "")
    first = True
    while rows := await sync_to_async(_piece)(account[0], span, cluster_id or "", after):
        text = piece(rows)
        yield (text if first or wanted is not ExportFormat.JSON else f",{text}").encode()
        first = False
        last = rows[-1]
        after = (last["day"], last["cluster_id"], last["id"])
    yield end.encode()


def _piece(organisation_id: str, span: Days, cluster_id: str, after: tuple[Any, ...]) -> list[_Line]:
    values = [organisation_id, span.begin, span.end, cluster_id, cluster_id, *after, _PIECE]
    with connection.cursor() as cursor:
        cursor.execute(_LINES, values)
        columns = [column.name for column in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    if not connection.in_atomic_block:
        # A reader may be slow: it holds no connection meanwhile.
        connection.close()
    return rows


def _plain(line: _Line) -> _Line:
    item = Item(line["item"])
    return {
        **{name: line[name] for name in ("cluster_id", "item", "name", "provider", "region", "micros")},
        "day": line["day"].isoformat(),
        "cluster": line["cluster"] or "",
        "engine": line["engine"] or "",
        "tags": json.loads(line["tags"] or "{}"),
        "quantity": quantity_of(item, int(line["quantity"])),
        "unit": unit_of(item),
        "price": None if line["price"] < 0 else line["price"],
    }


def _json(rows: Sequence[_Line]) -> str:
    return ",".join(json.dumps(_plain(row), separators=(",", ":")) for row in rows)


def _plain_rows(rows: Sequence[_Line]) -> str:
    plain = [_plain(row) for row in rows]
    return _csv([[_told(row[name]) for name in _PLAIN] for row in plain])


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return "" if value is None else str(value)


def _focus_rows(account: _Account) -> Callable[[Sequence[_Line]], str]:
    def piece(rows: Sequence[_Line]) -> str:
        filled = [_focus(account, row) for row in rows]
        return _csv([[each.get(name, "") for name in FOCUS] for each in filled])

    return piece


def _focus(account: _Account, line: _Line) -> dict[str, str]:
    plain, item, day = _plain(line), Item(line["item"]), line["day"]
    month = month_of(day)
    cost, price = _decimal(line["micros"]), "" if plain["price"] is None else _decimal(plain["price"])
    sku = "/".join(part for part in (line["provider"], line["region"], line["item"], line["name"]) if part)
    filled = {
        "BilledCost": cost,
        "EffectiveCost": cost,
        "ListCost": cost,
        "ContractedCost": cost,
        "ListUnitPrice": price,
        "ContractedUnitPrice": price,
        "BillingAccountId": account[0],
        "BillingAccountName": account[1],
        "BillingCurrency": CURRENCY,
        "BillingPeriodStart": _moment(month.begin),
        "BillingPeriodEnd": _moment(month.end),
        "ChargePeriodStart": _moment(day),
        "ChargePeriodEnd": _moment(date.fromordinal(day.toordinal() + 1)),
        "ChargeCategory": "Usage",
        "ChargeClass": "Correction" if _came_late(line, month) else "",
        "ChargeDescription": " ".join(part for part in (item.value.replace("_", " "), line["name"]) if part),
        "ChargeFrequency": "Usage-Based",
        "PricingCategory": "Standard",
        "PricingQuantity": plain["quantity"],
        "PricingUnit": plain["unit"],
        "ConsumedQuantity": plain["quantity"],
        "ConsumedUnit": plain["unit"],
        "InvoiceIssuerName": "Ringmaster",
        "ProviderName": "Ringmaster",
        "PublisherName": "Ringmaster",
        "RegionId": line["region"],
        "RegionName": line["region"],
        "ServiceCategory": "Databases",
        "ServiceName": "Ringmaster",
        "SkuId": sku,
        "SkuPriceId": "" if plain["price"] is None else f"{sku}@{plain['price']}",
        "Tags": json.dumps(plain["tags"], sort_keys=True),
    }
    if line["cluster_id"]:
        filled |= {"ResourceId": line["cluster_id"], "ResourceName": plain["cluster"], "ResourceType": "Cluster"}
    return filled


def _came_late(line: _Line, month: Days) -> bool:
    """A correction of a month that was over: its id tells when it was written."""
    return line["sequence"] > 0 and ULID.from_str(line["id"].partition("_")[2].upper()).datetime.date() > month.end


def _decimal(micros: int) -> str:
    sign = "-" if micros < 0 else ""
    return f"{sign}{abs(micros) // MICROS}.{abs(micros) % MICROS:06d}"


def _moment(day: date) -> str:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([[_plain_cell(cell) for cell in row] for row in rows])
    return out.getvalue()


def _plain_cell(text: str) -> str:
    """Nothing that a spreadsheet would take for a formula; a number below zero stays one."""
    formula = text[:1] in ("=", "+", "@", "\t", "\r") or (text[:1] == "-" and not text[1:2].isdigit())
    return f"'{text}" if formula else text
