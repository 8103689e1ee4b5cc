"""Reading advice, the schema and settings of tables, and what was changed by it."""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.advisor import rules
from backend.advisor.models import AdviceItem, Review, TableChange, TableSchema
from backend.advisor.rules.facts import AdviceSeverity
from backend.advisor.states import (
    DEFAULTS,
    TableChangeState,
    reason_against_applying,
    reason_against_dismissing,
    reason_against_reviewing,
    reason_against_undoing,
)
from backend.backups.models import Backup
from backend.backups.states import BackupState
from backend.catalog.queries import answers_questions
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.states import ClusterState
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed

_COLUMNS = (
    "id",
    "rule",
    "keyspace",
    "table",
    "subject",
    "severity",
    "words",
    "saving_micros",
    "first_seen_at",
    "last_seen_at",
    "over_at",
    "dismissed_at",
    "dismissed_by",
    "dismissed_reason",
    "dismissed_until",
)
_CHANGE_COLUMNS = (
    "id",
    "rule",
    "keyspace",
    "table",
    "before",
    "after",
    "rewrite",
    "state",
    "undoes_id",
    "operation_id",
    "ordered_by",
    "ordered_at",
    "ended_at",
)


def find_cluster(who: Identity, cluster_id: str) -> Cluster:
    """Raises NotFound."""
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def due_reviews(at_most: int) -> list[Review]:
    """Of clusters that serve, those that people wait for first; of deleted ones while there is something to say."""
    said = Exists(AdviceItem.objects.filter(cluster=OuterRef("cluster"), over_at=None))
    wanted = Q(cluster__deleted_at=None) | said | has_backups("cluster__")
    rows = Review.objects.filter(wanted, due_at__lte=datetime.now(UTC)).select_related("cluster")
    return list(rows.order_by("due_at")[:at_most])


def has_backups(path: str = "") -> Q:
    """Of clusters, or of what `path` leads to them from: those that are deleted, and whose backups are there."""
    kept = Backup.objects.filter(cluster=OuterRef(f"{path}pk"), state=BackupState.COMPLETE)
    return Q(Exists(kept), **{f"{path}deleted_at__isnull": False})


@cache
def figures() -> dict[str, dict[str, str]]:
    """Who measured or wrote what gains rest on, by the name of the figure."""
    found: dict[str, dict[str, str]] = json.loads((Path(rules.__file__).parent / "figures.json").read_text())
    return found


def is_dismissed(now: datetime) -> Q:
    return Q(dismissed_at__isnull=False) & (Q(dismissed_until=None) | Q(dismissed_until__gt=now))


def list_advice(
    who: Identity,
    cluster_id: str,
    query: PageQuery,
    *,
    keyspace: str | None = None,
    table: str | None = None,
    severity: AdviceSeverity | None = None,
    dismissed: bool = False,
) -> dict[str, Any]:
    """What there is to say now, newest first, and when it was worked out. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    now = datetime.now(UTC)
    open_ = AdviceItem.objects.filter(cluster=cluster, over_at=None)
    rows = open_.filter(is_dismissed(now)) if dismissed else open_.exclude(is_dismissed(now))
    for column, value in {"keyspace": keyspace, "table": table, "severity": severity}.items():
        if value is not None:
            rows = rows.filter(**{column: value})
    changing = _changing(cluster)
    review = Review.objects.filter(cluster=cluster).first()
    counted = open_.exclude(is_dismissed(now)).values_list("severity", flat=True)
    found = page(rows.values(*_COLUMNS), query, lambda row: advice_shape(who, cluster, row, changing, now))
    return found | {
        "counts": {each.value: list(counted).count(each.value) for each in AdviceSeverity},
        "dismissed": open_.filter(is_dismissed(now)).count(),
        "review": review_shape(review),
        "allowed_actions": [allowed("review_cluster", against_reviewing(who, cluster))],
    }


def against_reviewing(who: Identity, cluster: Cluster) -> str | None:
    return reason_against_reviewing(
        may=Permission.CLUSTERS_WRITE in who.permissions,
        reviewed=answers_questions(cluster.engine),
        cluster=ClusterState(cluster.state),
    )


def review_shape(review: Review | None) -> dict[str, Any]:
    return {
        "computed_at": review and review.computed_at,
        "schema_read_at": review and review.schema_read_at,
        "window_seconds": review.window_seconds if review is not None and review.computed_at else None,
        "waiting": review is not None and review.asked_at is not None,
        "problem": (review and review.problem) or None,
    }


def find_advice(who: Identity, cluster: Cluster, advice_id: str) -> dict[str, Any]:
    """A row as a page has it. Raises NotFound."""
    row = AdviceItem.objects.filter(cluster=cluster, id=advice_id).values(*_COLUMNS).first()
    if row is None:
        raise NotFound(
            "advice_not_found", "There is no such advice.", hint="List the cluster's advice; it may be true no longer."
        )
    return dict(row)


def get_advice(who: Identity, cluster_id: str, advice_id: str) -> dict[str, Any]:
    """Also when it is true no longer. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    row = find_advice(who, cluster, advice_id)
    return advice_shape(who, cluster, row, _changing(cluster), datetime.now(UTC))


def _changing(cluster: Cluster) -> frozenset[tuple[str, str]]:
    rows = TableChange.objects.filter(cluster=cluster, state=TableChangeState.APPLYING)
    return frozenset(rows.values_list("keyspace", "table"))


def advice_shape(
    who: Identity, cluster: Cluster, row: dict[str, Any], changing: frozenset[tuple[str, str]], now: datetime
) -> dict[str, Any]:
    words, may = row["words"], Permission.CLUSTERS_WRITE in who.permissions
    until = row["dismissed_until"]
    dismissed = row["dismissed_at"] is not None and (until is None or until > now)
    against = reason_against_applying(
        may=may,
        cluster=ClusterState(cluster.state),
        by_hand=words["why_by_hand"],
        changing=(row["keyspace"], row["table"]) in changing,
        is_over=row["over_at"] is not None,
    )
    return {
        "id": row["id"],
        "rule": row["rule"],
        "title": rules.TITLES.get(row["rule"], row["rule"]),
        "keyspace": row["keyspace"] or None,
        "table": row["table"] or None,
        "severity": row["severity"],
        "finding": words["finding"],
        "evidence": words["evidence"],
        "gain": words["gain"],
        "figure": figures().get(words["figure"]),
        "cost": words["cost"],
        "saving_micros": row["saving_micros"],
        "formula": words.get("formula", ""),
        "statement": words["statement"],
        "change": words["change"],
        "first_seen_at": row["first_seen_at"],
        "last_seen_at": row["last_seen_at"],
        "over_at": row["over_at"],
        "dismissal": {
            "at": row["dismissed_at"],
            "by": row["dismissed_by"],
            "reason": row["dismissed_reason"],
            "until": until,
        }
        if dismissed
        else None,
        "allowed_actions": [
            allowed("apply_advice", against),
            allowed("dismiss_advice", reason_against_dismissing(may=may)),
        ],
    }


# Tables


def get_table_schema(who: Identity, cluster_id: str, keyspace: str, table: str) -> dict[str, Any]:
    """How a table is made and set, as a node told it last. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    row = TableSchema.objects.filter(cluster=cluster, keyspace=keyspace, name=table).first()
    if row is None:
        raise NotFound(
            "table_not_described",
            "No node has described this table yet, or it was dropped.",
            hint="Schemas are read every 15 minutes; review_cluster reads them now.",
        )
    return {
        "keyspace": row.keyspace,
        "table": row.name,
        "view_of": row.view_of or None,
        "statement": row.statement,
        "columns": row.columns,
        "indexes": [one | {"values": one.get("values")} for one in row.indexes],
        "options": [
            {
                "name": name,
                "value": value,
                "usual": DEFAULTS.get(name),
                "is_usual": name in DEFAULTS and value == DEFAULTS[name],
            }
            for name, value in sorted(row.options.items())
        ],
        "read_at": row.read_at,
    }


def list_table_changes(
    who: Identity, cluster_id: str, query: PageQuery, *, keyspace: str | None = None, table: str | None = None
) -> dict[str, Any]:
    """What was changed by advice, newest first. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    rows: QuerySet[TableChange, dict[str, Any]] = TableChange.objects.filter(cluster=cluster).values(*_CHANGE_COLUMNS)
    for column, value in {"keyspace": keyspace, "table": table}.items():
        if value is not None:
            rows = rows.filter(**{column: value})
    changing = _changing(cluster)
    return page(rows, query, lambda row: change_shape(who, cluster, row, changing))


def find_change(cluster: Cluster, change_id: str) -> TableChange:
    """Raises NotFound."""
    row = TableChange.objects.filter(cluster=cluster, id=change_id).first()
    if row is None:
        raise NotFound("table_change_not_found", "There is no such change.", hint="List the cluster's table changes.")
    return row


def change_shape(
    who: Identity, cluster: Cluster, row: dict[str, Any], changing: frozenset[tuple[str, str]]
) -> dict[str, Any]:
    against = reason_against_undoing(
        may=Permission.CLUSTERS_WRITE in who.permissions,
        cluster=ClusterState(cluster.state),
        state=TableChangeState(row["state"]),
        is_undo=row["undoes_id"] is not None,
        changing=(row["keyspace"], row["table"]) in changing,
    )
    return {name: value for name, value in row.items() if name != "undoes_id"} | {
        "title": rules.TITLES.get(row["rule"], row["rule"]),
        "undoes": row["undoes_id"],
        "allowed_actions": [allowed("undo_table_change", against)],
    }


def get_change(who: Identity, cluster: Cluster, change_id: str) -> dict[str, Any]:
    row = TableChange.objects.filter(cluster=cluster, id=change_id).values(*_CHANGE_COLUMNS).get()
    return change_shape(who, cluster, dict(row), _changing(cluster))
