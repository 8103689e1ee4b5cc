"""Reports of costs, as the API tells them. Whose they are is decided here: every statement holds the organisation."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

from django.utils import timezone

from backend.accounts.models import Organisation
from backend.accounts.queries import Identity
from backend.clusters.queries import require_cluster
from backend.core.errors import Invalid
from backend.core.pagination import foreign_cursor
from backend.costs.invoices import clusters_by_id
from backend.costs.models import CostTable, UsageRecord
from backend.costs.ranges import Days, days
from backend.costs.reports import CostGroup, Row, Wish, cursor_of, position, report
from backend.costs.schemas import CostFilter, CostQuery, ExportQuery, UsageFilter
from backend.costs.sharing import PARTS, per_million
from backend.prices.states import CURRENCY


def today() -> date:
    return timezone.now().date()


def wish_of(who: Identity, wanted: CostFilter, *, group: CostGroup = CostGroup.CLUSTER, tag_key: str = "") -> Wish:
    """Raises NotFound, Invalid."""
    if wanted.cluster_id is not None:
        require_cluster(who, wanted.cluster_id)
    if group is CostGroup.TAG and not tag_key:
        raise Invalid(
            "invalid_field",
            "Which tag's values are to be the groups?",
            hint="Name its key, for example tag_key=team.",
            field="tag_key",
        )
    if wanted.table is not None and wanted.keyspace is None:
        raise Invalid(
            "invalid_field", "A table is named with its keyspace.", hint="Send keyspace, too.", field="keyspace"
        )
    key, _, value = (wanted.tag or "").partition("=")
    return Wish(
        organisation_id=who.organisation_id,
        days=days(wanted.begins, wanted.ends, today=today()),
        today=today(),
        group=group,
        tag_key=tag_key,
        cluster_id=wanted.cluster_id,
        tag=(key, value) if wanted.tag else None,
        keyspace=wanted.keyspace,
        table=wanted.table,
    )


def get_costs(who: Identity, wanted: CostQuery) -> dict[str, Any]:
    """Raises NotFound, Invalid."""
    wish = wish_of(who, wanted, group=wanted.group, tag_key=wanted.tag_key)
    after = None if wanted.cursor is None else position(wanted.cursor, wanted.group)
    found = report(wish, limit=wanted.limit, after=after)
    shown = found.rows[: wanted.limit]
    return {
        "from": wish.days.begin,
        "to": wish.days.end,
        "currency": CURRENCY,
        "group": wanted.group,
        "total": _amounts(found.total, found.total["micros"]),
        "groups": found.groups,
        "items": _items(who, wanted.group, shown),
        "next_cursor": cursor_of(shown[-1]) if len(found.rows) > wanted.limit else None,
    }


def _items(who: Identity, group: CostGroup, rows: Iterable[Row]) -> list[dict[str, Any]]:
    rows = list(rows)
    tables: dict[str, CostTable] = {}
    if group is CostGroup.TABLE:
        found = CostTable.objects.filter(organisation_id=who.organisation_id, id__in=[int(row.key) for row in rows])
        tables = {str(table.id): table for table in found}
    ids = {table.cluster_id for table in tables.values()}
    if group is CostGroup.CLUSTER:
        ids = {row.key for row in rows}
    named = clusters_by_id(who, ids)
    return [_item(group, row, tables.get(row.key), named) for row in rows]


def _item(group: CostGroup, row: Row, table: CostTable | None, named: dict[str, dict[str, Any]]) -> dict[str, Any]:
    cluster_id = table.cluster_id if table else row.key if group is CostGroup.CLUSTER else ""
    return {
        "key": row.key,
        "cluster": named.get(cluster_id),
        "table": table and {"keyspace": table.keyspace, "name": table.name, "shared": table.name == ""},
        **_amounts(row.sums, row.micros),
    }


def _amounts(sums: Any, micros: int) -> dict[str, Any]:
    reads, writes = sums.get("reads"), sums.get("writes")
    counted = reads is not None and writes is not None
    return {
        "micros": micros,
        "parts": {name: sums[name] for name in PARTS},
        "unmeasured": sums.get("unmeasured"),
        "reads": reads,
        "writes": writes,
        "per_million_requests": per_million(sums["compute"] + sums["traffic"], reads + writes) if counted else None,
    }


def export_of(who: Identity, wanted: ExportQuery) -> tuple[tuple[str, str], Days]:
    """Whose, and which days. Raises NotFound, Invalid."""
    if wanted.cluster_id is not None:
        require_cluster(who, wanted.cluster_id)
    name = Organisation.objects.values_list("name", flat=True).get(id=who.organisation_id)
    return (who.organisation_id, name), days(wanted.begins, wanted.ends, today=today())


def list_usage(who: Identity, wanted: UsageFilter, limit: int, cursor: str | None) -> dict[str, Any]:
    """Records of usage in the order of their hours. Raises NotFound, Invalid."""
    if wanted.cluster_id is not None:
        require_cluster(who, wanted.cluster_id)
    span = days(wanted.begins, wanted.ends, today=today())
    rows = UsageRecord.objects.filter(
        organisation_id=who.organisation_id, hour__gte=_midnight(span.begin), hour__lt=_midnight(span.end)
    )
    for name in ("cluster_id", "node_id", "item"):
        if (value := getattr(wanted, name)) is not None:
            rows = rows.filter(**{name: value})
    if cursor is not None:
        last = UsageRecord.objects.filter(organisation_id=who.organisation_id, id=cursor).values_list("hour").first()
        if last is None:
            raise foreign_cursor()
        rows = rows.extra(where=["(hour, id) > (%s, %s)"], params=[last[0], cursor])
    found = list(rows.order_by("hour", "id").values(*_USAGE)[: limit + 1])
    more = len(found) > limit
    del found[limit:]
    for row in found:
        row["unit_seconds"] = int(row["unit_seconds"])
    return {"items": found, "next_cursor": found[-1]["id"] if more else None}


_USAGE = (
    "id",
    "cluster_id",
    "node_id",
    "item",
    "provider",
    "region",
    "name",
    "hour",
    "unit_seconds",
    "sequence",
    "created_at",
)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), tzinfo=UTC)
