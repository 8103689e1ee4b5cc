"""``GET /metrics``: a few true numbers for Prometheus, in its text format."""

from collections.abc import Iterable

from django.db.models import Count, DurationField, ExpressionWrapper, F, Max
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET
from prometheus_client import Counter, Histogram, generate_latest
from prometheus_client.core import REGISTRY, GaugeMetricFamily
from prometheus_client.registry import Collector

from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.clusters.states import ClusterState
from backend.config import signs_of_life
from backend.core.errors import error_response
from backend.metrics.discovery import METRICS_NOT_PUBLIC, may_scrape
from backend.operations.models import Operation
from backend.operations.states import OperationState

_REQUESTS = Counter("ringmaster_http_requests", "Answered requests of this process", ["method", "route", "status"])
_SECONDS = Histogram(
    "ringmaster_http_request_seconds",
    "Seconds until the answer (streams: until it began)",
    ["route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def count_request(method: str, route: str, status: int, seconds: float) -> None:
    """``route`` is the pattern, not the address: the number of series must not grow with the customers."""
    _REQUESTS.labels(method, route or "unknown", str(status)).inc()
    _SECONDS.labels(route or "unknown").observe(seconds)


class _StateCollector(Collector):
    """Counted when asked, so the numbers are the database's and the same from every process."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        operations = GaugeMetricFamily("ringmaster_operations", "Operations by state", labels=["state"])
        clusters = GaugeMetricFamily("ringmaster_clusters", "Clusters by state", labels=["state"])
        operation_counts = dict(Operation.objects.values_list("state").annotate(Count("id")).order_by())
        cluster_counts = dict(Cluster.objects.values_list("state").annotate(Count("id")).order_by())
        for operation_state in OperationState:
            operations.add_metric([operation_state], operation_counts.get(operation_state, 0))
        for cluster_state in ClusterState:
            clusters.add_metric([cluster_state], cluster_counts.get(cluster_state, 0))
        return [operations, clusters, _late(), _untied(), *_heard()]

    def describe(self) -> Iterable[GaugeMetricFamily]:
        # Without it the registry would collect at import time, before there is a database.
        return []


def _late() -> GaugeMetricFamily:
    """By the database's clock, which also decided what is due."""
    now = Now()
    waiting = Operation.objects.filter(due_at__lte=now).exclude(lease_until__gt=now)
    oldest = waiting.aggregate(late=Max(ExpressionWrapper(now - F("due_at"), DurationField())))["late"]
    help_text = "How long the operation that is due for longest has waited for a worker"
    return GaugeMetricFamily(
        "ringmaster_operations_late_seconds", help_text, value=oldest.total_seconds() if oldest else 0
    )


def _untied() -> GaugeMetricFamily:
    """Workers tie what is committed every few seconds (decision 61); until then triggers alone guard a record."""
    oldest = AuditRecord.objects.filter(sequence=None).aggregate(
        age=Max(ExpressionWrapper(Now() - F("created_at"), DurationField()))
    )["age"]
    help_text = "Age of the oldest audit record that is not tied into its organisation's chain yet"
    return GaugeMetricFamily(
        "ringmaster_audit_untied_seconds", help_text, value=max(0.0, oldest.total_seconds()) if oldest else 0
    )


def _heard() -> list[GaugeMetricFamily]:
    found = signs_of_life.read()
    broker = GaugeMetricFamily("ringmaster_broker_up", "Whether Redis answers", value=found.broker_up)
    workers = GaugeMetricFamily(
        "ringmaster_worker_heard_timestamp_seconds", "When a worker last took a message", labels=["worker"]
    )
    for name, when in found.workers.items():
        workers.add_metric([name], when)
    queued = GaugeMetricFamily("ringmaster_queue_messages", "Messages that wait for a worker", labels=["queue"])
    for queue, length in found.queued.items():
        queued.add_metric([queue], length)
    shown = [broker, workers, queued]
    if found.beat is not None:
        shown.append(
            GaugeMetricFamily("ringmaster_beat_rang_timestamp_seconds", "When beat last sent something", found.beat)
        )
    return shown


REGISTRY.register(_StateCollector())


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    if not may_scrape(request):
        return error_response(request, METRICS_NOT_PUBLIC)
    return HttpResponse(generate_latest(REGISTRY), content_type="text/plain; version=0.0.4; charset=utf-8")
