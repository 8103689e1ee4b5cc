"""A cluster's own series in Prometheus' text format, for a Prometheus of its users."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest

from backend.accounts.authentication import TokenAuth
from backend.accounts.queries import Identity, hash_secret, require
from backend.accounts.states import Permission
from backend.clusters.queries import cluster_not_found
from backend.core.errors import TooManyRequests, Unauthenticated
from backend.metrics.models import MetricsToken
from backend.metrics.promql import Matcher, selector
from backend.metrics.queries import find_cluster
from backend.metrics.store import Instant, Series, raw_store
from backend.metrics.vocabulary import metrics_by_series

PREFIX = "rmm_"
PER_MINUTE = 12
"""Requests for one cluster: two servers that ask every fifteen seconds, and some more."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class FederationScope(StrEnum):
    ALL = "all"
    NODE = "node"
    TABLE = "table"


_NAMES = {
    FederationScope.ALL: "ringmaster_.+",
    FederationScope.NODE: "ringmaster_(node|agent)_.+",
    FederationScope.TABLE: "ringmaster_table_.+",
}


@dataclass(frozen=True)
class Reader:
    """Who holds the metrics token of a cluster."""

    cluster_id: str


class FederationAuth(TokenAuth):
    """The cluster's metrics token, or an API token that may read clusters."""

    openapi_description = "The metrics token of the cluster (rmm_…), or an API token that may read clusters."

    def authenticate(self, request: HttpRequest, token: str) -> Any:
        if not token.startswith(PREFIX):
            return super().authenticate(request, token)
        row = MetricsToken.objects.filter(secret_hash=hash_secret(token)).first()
        if row is None:
            raise Unauthenticated(
                "invalid_token",
                "This metrics token is not known.",
                hint="Check that it was copied whole, or make a new one with create_metrics_token.",
            )
        return Reader(row.cluster_id)


def token_shape(row: MetricsToken | None) -> dict[str, Any]:
    names = ("hint", "created_by", "created_at")
    return {"exists": row is not None} | {name: getattr(row, name, None) for name in names}


def get_token(who: Identity, cluster_id: str) -> dict[str, Any]:
    return token_shape(MetricsToken.objects.filter(cluster=find_cluster(who, cluster_id)).first())


def federate(who: Identity | Reader, cluster_id: str, scope: FederationScope) -> str:
    """All series of a cluster as they are now. NotFound, Forbidden, TooManyRequests, MetricsUnavailable."""
    if isinstance(who, Reader):
        if who.cluster_id != cluster_id:
            raise cluster_not_found()
        wanted = who.cluster_id
    else:
        require(who, Permission.CLUSTERS_READ)
        wanted = find_cluster(who, cluster_id).id
    _slow_down(wanted)
    where = f'{selector([Matcher("cluster", (wanted,))])},__name__=~"{_NAMES[scope]}"'
    at = datetime.now(UTC).timestamp()
    return text(raw_store().ask([Instant(query=f"{{{where}}}", at=at)])[0])


def _seconds() -> float:
    return time.time()


def _slow_down(cluster_id: str) -> None:
    """Counted in the cache, which all processes share; two at the same moment may count as one."""
    minute, second = divmod(_seconds(), 60)
    key = f"federate:{cluster_id}:{int(minute)}"
    count = cache.get(key, 0) + 1
    if count > PER_MINUTE:
        raise TooManyRequests(
            "too_many_requests",
            f"The numbers of a cluster may be fetched {PER_MINUTE} times a minute.",
            hint="Ask every fifteen seconds at most.",
            retry_after=int(60 - second) + 1,
        )
    cache.set(key, count, 120)


def text(found: Iterable[Series]) -> str:
    """Prometheus' text format, the series of a metric together under its type."""
    metrics = metrics_by_series()
    by_metric: dict[str, list[str]] = {}
    for series in found:
        name = series.labels["__name__"]
        if name in metrics and series.points:
            labels = ",".join(
                f'{label}="{_escaped(value)}"'
                for label, value in series.labels.items()
                if label not in ("__name__", "organisation", "job", "instance")
            )
            by_metric.setdefault(metrics[name].name, []).append(f"{name}{{{labels}}} {series.points[0][1]!r}\n")
    lines = []
    for name in sorted(by_metric):
        metric = metrics[name] if name in metrics else metrics[f"{name}_count"]
        lines += [f"# HELP {name} {_escaped(metric.help)}\n", f"# TYPE {name} {metric.type}\n", *by_metric[name]]
    return "".join(lines)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
