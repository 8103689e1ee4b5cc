"""``GET /metrics/targets``: which nodes Prometheus asks, in the form of its ``http_sd``.

Not in the API's description and of no tenant: it is for the installation's own Prometheus, as ``/metrics`` is.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_GET

from backend.accounts.authentication import source_address
from backend.clusters.models import Node
from backend.core.errors import DomainError, error_response
from backend.core.pagination import prepared

METRICS_NOT_PUBLIC = DomainError(
    "metrics_not_public",
    "Metrics are only for this machine and for holders of the metrics token.",
    status=403,
    hint="Set RINGMASTER_METRICS_TOKEN and send it as a bearer token.",
)


def may_scrape(request: HttpRequest) -> bool:
    """Whether it comes from the installation's own Prometheus: by token, or from this machine."""
    token = settings.ENV.ringmaster_metrics_token
    if token and constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        return True
    # A proxy on this machine would look local, but then it says for whom it asks.
    return source_address(request) in {"127.0.0.1", "::1"} and "X-Forwarded-For" not in request.headers


@require_GET
def targets(request: HttpRequest) -> HttpResponse:
    if not may_scrape(request):
        return error_response(request, METRICS_NOT_PUBLIC)
    return prepared(scrape_targets())


def scrape_targets() -> list[dict[str, Any]]:
    """Every node that has an agent, with the labels that all its series get. One statement.

    The agent is told whose metrics are wanted (`?node=`) and refuses others: between two discoveries an address may
    have passed to another tenant's node.
    """
    rows = (
        Node.objects.filter(deleted_at=None)
        .exclude(agent_address="")
        .order_by("id")
        .values_list(
            "id",
            "agent_address",
            "zone",
            "datacenter__name",
            "cluster_id",
            "cluster__engine",
            "cluster__organisation_id",
        )
    )
    return [
        {
            "targets": [agent_address],
            "labels": {
                "organisation": organisation,
                "cluster": cluster,
                "datacenter": datacenter,
                "zone": zone,
                "node": node,
                "engine": engine,
                "__param_node": node,
            },
        }
        for node, agent_address, zone, datacenter, cluster, engine, organisation in rows
    ]
