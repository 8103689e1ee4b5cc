"""Costs over HTTP: reports, forecast, what changed, invoices, exports, and usage records."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Path, Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import prepared
from backend.costs import exports, forecasting, invoices, queries, schemas

router = Router(tags=["costs"])
_FILE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "A file, in the order of days",
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/json": {"schema": {"type": "object"}},
            },
        }
    }
}


@router.get("/costs", operation_id="get_costs", response=schemas.Costs, by_alias=True)
def get_costs(request: HttpRequest, wanted: Query[schemas.CostQuery]) -> HttpResponse:
    """What was spent, by cluster, table, engine, tag, day or month. Groups sum to the total to the micro-dollar."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_costs(who, wanted))


@router.get("/costs/forecast", operation_id="get_cost_forecast", response=schemas.CostForecast)
def get_cost_forecast(request: HttpRequest, wanted: Query[schemas.ForecastFilter]) -> HttpResponse:
    """What the running month came to so far, and will come to if it goes on like the last seven days."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(forecasting.get_forecast(who, wanted.cluster_id))


@router.get("/costs/changes", operation_id="get_cost_changes", response=schemas.CostChanges)
def get_cost_changes(request: HttpRequest, wanted: Query[schemas.ChangesFilter]) -> HttpResponse:
    """What is otherwise than in the same days of the month before, in words."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(invoices.get_changes(who, wanted.month, wanted.cluster_id))


@router.get("/costs/invoices/{month}", operation_id="get_invoice", response=schemas.Invoice)
def get_invoice(
    request: HttpRequest, month: Annotated[schemas.Month, Path()], page: Query[schemas.InvoicePage]
) -> HttpResponse:
    """Lines of a month: one for each thing of each cluster and each price that it had."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(invoices.get_invoice(who, month, limit=page.limit, cursor=page.cursor))


@router.get("/costs/export", operation_id="export_costs", response=None, openapi_extra=_FILE)
def export_costs(request: HttpRequest, wanted: Query[schemas.ExportQuery]) -> Any:
    """Every line of every day: as CSV, JSON, or CSV with the columns of FOCUS 1.0."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    account, span = queries.export_of(who, wanted)
    name = f"costs-{span.begin}-{span.end}.{'json' if wanted.format is schemas.ExportFormat.JSON else 'csv'}"
    return StreamingHttpResponse(
        exports.stream(account, span, wanted.cluster_id, wanted.format),
        content_type=exports.CONTENT_TYPES[wanted.format],
        headers={"Content-Disposition": f'attachment; filename="{name}"', "X-Accel-Buffering": "no"},
    )


@router.get("/usage", operation_id="list_usage", response=schemas.UsagePage)
def list_usage(request: HttpRequest, wanted: Query[schemas.UsageQuery]) -> HttpResponse:
    """Usage records of closed hours, in the order of the hours. They are never changed, only added to."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_usage(who, wanted, wanted.limit, wanted.cursor))
