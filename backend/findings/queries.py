"""Reading findings. A page is one statement; those that are about no organisation are for the platform's team only."""

from functools import cache
from typing import Any

from django.db.models import F, QuerySet

from backend.accounts.queries import Identity
from backend.clusters.queries import cluster_not_found
from backend.clusters.reach import clusters, of_clusters
from backend.core.pagination import PageQuery, page
from backend.findings.models import Finding
from backend.findings.states import FindingState, Severity

_COLUMNS = (
    "id",
    "cluster_id",
    "cluster_name",
    "subject",
    "subject_name",
    "code",
    "severity",
    "sentence",
    "hint",
    "state",
    "action",
    "operation_id",
    "due_at",
    "first_seen_at",
    "last_seen_at",
    "closed_at",
)


@cache
def _all_rows() -> QuerySet[Finding, dict[str, Any]]:
    rows: QuerySet[Finding, dict[str, Any]] = Finding.objects.annotate(cluster_name=F("cluster__name")).values(
        *_COLUMNS
    )
    return rows


def list_findings(
    who: Identity,
    query: PageQuery,
    *,
    state: FindingState | None = None,
    severity: Severity | None = None,
    code: str | None = None,
    cluster_id: str | None = None,
) -> dict[str, Any]:
    """The organisation's, newest first; of one cluster if it is named. Raises NotFound for an unknown one."""
    found = _all_rows().filter(of_clusters(who), organisation_id=who.organisation_id)
    if cluster_id is not None:
        if not clusters(who).filter(id=cluster_id).exists():
            raise cluster_not_found()
        found = found.filter(cluster_id=cluster_id)
    for column, value in {"state": state, "severity": severity, "code": code}.items():
        if value is not None:
            found = found.filter(**{column: value})
    return page(found, query, _finding)


def _finding(row: dict[str, Any]) -> dict[str, Any]:
    row["operation_id"] = row["operation_id"] or None
    return row
