"""Metrics over HTTP."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import prepared
from backend.metrics import actions, csv_files, federation, queries, schemas
from backend.metrics.federation import FederationAuth
from backend.metrics.schemas import AnswerFormat

router = Router(tags=["metrics"])
_OR_CSV: dict[str, Any] = {"responses": {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}}


@router.get("/metrics/catalogue", operation_id="get_metrics_catalogue", response=schemas.MetricsCatalogue)
def get_metrics_catalogue(request: HttpRequest) -> HttpResponse:
    """Dashboards with their charts, and the columns of the page of tables."""
    require(identity(request), Permission.CLUSTERS_READ)
    return prepared(queries.get_catalogue())


@router.get(
    "/clusters/{cluster_id}/metrics",
    operation_id="get_cluster_metrics",
    response=schemas.Metrics,
    by_alias=True,
    openapi_extra=_OR_CSV,
)
def get_cluster_metrics(request: HttpRequest, cluster_id: str, wanted: Query[schemas.DashboardQuery]) -> HttpResponse:
    """The charts of a dashboard over a time, for the cluster or split by zone or node; or of one table."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    found = queries.get_cluster_metrics(
        who,
        cluster_id,
        dashboard=wanted.dashboard,
        charts=wanted.chart,
        by=wanted.by,
        node_id=wanted.node_id,
        zone=wanted.zone,
        keyspace=wanted.keyspace,
        table=wanted.table,
        begins=wanted.begins,
        ends=wanted.ends,
        step=wanted.step,
    )
    return _csv(csv_files.of_charts(found), wanted.dashboard) if _as_csv(request, wanted.format) else prepared(found)


@router.get(
    "/clusters/{cluster_id}/tables/metrics",
    operation_id="list_table_metrics",
    response=schemas.TableMetricsPage,
    openapi_extra=_OR_CSV,
)
def list_table_metrics(request: HttpRequest, cluster_id: str, wanted: Query[schemas.TablesQuery]) -> HttpResponse:
    """Every table with its numbers of now, its sparklines, and when it was repaired and backed up."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    as_csv = _as_csv(request, wanted.format)
    wish = queries.TablesWish(
        sort=wanted.sort.removeprefix("-"),
        descending=wanted.sort.startswith("-"),
        q=wanted.q,
        keyspace=wanted.keyspace,
        system=wanted.system,
        limit=None if as_csv else wanted.limit,
        cursor=None if as_csv else wanted.cursor,
        sparklines=wanted.sparklines and not as_csv,
        begins=wanted.begins,
        ends=wanted.ends,
    )
    found = queries.list_table_metrics(who, cluster_id, wish)
    return _csv(csv_files.of_tables(found), "tables") if as_csv else prepared(found)


@router.get(
    "/clusters/{cluster_id}/tables/{keyspace}/{table}/metrics",
    operation_id="get_table_metrics",
    response=schemas.Metrics,
    by_alias=True,
    openapi_extra=_OR_CSV,
)
def get_table_metrics(
    request: HttpRequest, cluster_id: str, keyspace: str, table: str, wanted: Query[schemas.TableChartsQuery]
) -> HttpResponse:
    """The charts of a table over a time. Percentiles are those of all its replicas together."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    found = queries.get_table_metrics(
        who,
        cluster_id,
        keyspace,
        table,
        charts=wanted.chart,
        begins=wanted.begins,
        ends=wanted.ends,
        step=wanted.step,
    )
    as_csv = _as_csv(request, wanted.format)
    return _csv(csv_files.of_charts(found), "table") if as_csv else prepared(found)


def _as_csv(request: HttpRequest, wanted: AnswerFormat | None) -> bool:
    if wanted is not None:
        return wanted is AnswerFormat.CSV
    return "text/csv" in request.headers.get("Accept", "")


def _csv(text: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


@router.get(
    "/clusters/{cluster_id}/metrics/token", operation_id="get_metrics_token", response=schemas.MetricsTokenShown
)
def get_metrics_token(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Whether there is a token that opens the numbers of this cluster, and nothing else."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(federation.get_token(who, cluster_id))


@router.post(
    "/clusters/{cluster_id}/metrics/token",
    operation_id="create_metrics_token",
    response={201: schemas.NewMetricsToken},
)
def create_metrics_token(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Makes a token for federate_metrics. The one that was there is worth nothing any more."""
    return prepared(actions.create_token(identity(request), cluster_id), status=201)


@router.delete("/clusters/{cluster_id}/metrics/token", operation_id="revoke_metrics_token", response={204: None})
def revoke_metrics_token(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Revokes the token at once."""
    actions.revoke_token(identity(request), cluster_id)
    return HttpResponse(status=204)


@router.get(
    "/clusters/{cluster_id}/metrics/federate",
    operation_id="federate_metrics",
    response=None,
    auth=FederationAuth(),
    openapi_extra={
        "responses": {
            200: {"description": "Prometheus' text format", "content": {"text/plain": {"schema": {"type": "string"}}}},
            429: {"$ref": "#/components/responses/Error429"},
        }
    },
)
def federate_metrics(request: HttpRequest, cluster_id: str, wanted: Query[schemas.FederationQuery]) -> HttpResponse:
    """The cluster's own series for a Prometheus of yours: give it this address and the cluster's metrics token."""
    found = federation.federate(request.auth, cluster_id, wanted.scope)  # type: ignore[attr-defined]  # set by ninja
    return HttpResponse(found, content_type=federation.CONTENT_TYPE)
