"""What all clusters of an organisation could cost less: advice with a sum of money, the largest first."""

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet, Sum

from backend.accounts.queries import Identity
from backend.advisor import rules
from backend.advisor.models import AdviceItem
from backend.advisor.queries import figures, is_dismissed
from backend.core.pagination import foreign_cursor, from_cursor, to_cursor
from backend.prices.states import CURRENCY

_COLUMNS = (
    "id",
    "rule",
    "keyspace",
    "table",
    "severity",
    "words",
    "saving_micros",
    "first_seen_at",
    "last_seen_at",
    "cluster_id",
    "cluster__name",
    "cluster__deleted_at",
)
_BACKUPS, _TABLES = "overdue-backups", "cold-table"


def list_savings(who: Identity, *, limit: int, cursor: str | None) -> dict[str, Any]:
    """Without what was dismissed. Raises Invalid."""
    rows = _of(who, datetime.now(UTC))
    shown = rows.order_by("-saving_micros", "-id")
    if cursor is not None:
        micros, last = _place(cursor)
        shown = shown.filter(Q(saving_micros__lt=micros) | Q(saving_micros=micros, id__lt=last))
    found = list(shown.values(*_COLUMNS)[: limit + 1])
    more = len(found) > limit
    del found[limit:]
    return {
        "currency": CURRENCY,
        "micros": _sum(rows),
        "count": rows.count(),
        "items": [_saving(row) for row in found],
        "next_cursor": to_cursor(found[-1]["saving_micros"], found[-1]["id"]) if more else None,
    }


def _of(who: Identity, now: datetime) -> QuerySet[AdviceItem]:
    """Of clusters that are gone only what their backups cost: the rest went with them."""
    rows = AdviceItem.objects.filter(
        Q(cluster__deleted_at=None) | Q(rule=_BACKUPS),
        cluster__organisation_id=who.organisation_id,
        over_at=None,
        saving_micros__gt=0,
    )
    return rows.exclude(is_dismissed(now))


def _sum(rows: QuerySet[AdviceItem]) -> int:
    """What can be saved together, micro-dollars a month.

    Of a data centre's machines one thing can be done; what cold tables take is a part of what the machines cost. So of
    each cluster either the machines count or its tables, whichever is more; and its backups.
    """
    machines: dict[str, dict[str, int]] = defaultdict(dict)
    tables: dict[str, int] = {}
    backups = 0
    summed = rows.order_by().values("cluster_id", "rule", "subject").annotate(micros=Sum("saving_micros"))
    for row in summed.iterator():
        cluster, micros = row["cluster_id"], row["micros"]
        if row["rule"] == _BACKUPS:
            backups += micros
        elif row["rule"] == _TABLES:
            tables[cluster] = micros
        else:
            places = machines[cluster]
            places[row["subject"]] = max(micros, places.get(row["subject"], 0))
    return backups + sum(max(sum(machines[each].values()), tables.get(each, 0)) for each in {*machines, *tables})


def _place(cursor: str) -> tuple[int, str]:
    """Raises Invalid."""
    try:
        match from_cursor(cursor):
            case [int(micros), str(last)] if type(micros) is int and 0 < micros < 2**62 and "\x00" not in last:
                return micros, last
    except ValueError:
        pass
    raise foreign_cursor()


def _saving(row: dict[str, Any]) -> dict[str, Any]:
    words = row["words"]
    return {
        "id": row["id"],
        "rule": row["rule"],
        "title": rules.TITLES.get(row["rule"], row["rule"]),
        "cluster": {
            "id": row["cluster_id"],
            "name": row["cluster__name"],
            "deleted": row["cluster__deleted_at"] is not None,
        },
        "keyspace": row["keyspace"] or None,
        "table": row["table"] or None,
        "severity": row["severity"],
        "micros": row["saving_micros"],
        "finding": words["finding"],
        "evidence": words["evidence"],
        "formula": words.get("formula", ""),
        "figure": figures().get(words["figure"]),
        "gain": words["gain"],
        "cost": words["cost"],
        "statement": words["statement"],
        "first_seen_at": row["first_seen_at"],
        "last_seen_at": row["last_seen_at"],
    }
