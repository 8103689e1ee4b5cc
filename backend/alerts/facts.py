"""``GET /metrics/clusters``: what only the control plane knows of clusters, for Prometheus; thresholds of alerts too.

As discovery, it is for the installation's own Prometheus. Six statements, however many clusters there are.
"""

import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from backend.alerts.catalogue import RULES
from backend.alerts.queries import Effective, effective_rules
from backend.alerts.rules import FOR_SECONDS, THRESHOLD
from backend.backups.trouble import promises
from backend.clusters.models import Cluster, Node
from backend.clusters.states import SERVING, NodeState
from backend.core.errors import error_response
from backend.metrics.discovery import METRICS_NOT_PUBLIC, may_scrape
from backend.metrics.federation import CONTENT_TYPE
from backend.repairs.queries import tables_that_need_repair
from backend.tuning.queries import drifted_by_node

_NODE = ("organisation", "cluster", "datacenter", "zone", "node")
_TABLE = ("organisation", "cluster", "keyspace", "table")
# In these a node is not expected to serve: it comes or goes, or somebody stopped it.
_AWAY_ON_PURPOSE = frozenset(
    {NodeState.PENDING, NodeState.STARTING, NodeState.JOINING, NodeState.LEAVING, NodeState.STOPPED, NodeState.DELETED}
)
# Between time-based UUIDs' zero and 1970, in hundreds of nanoseconds.
_UUID_EPOCH = 0x01B21DD213814000

Sample = tuple[tuple[str, ...], float]


@require_GET
def cluster_facts(request: HttpRequest) -> HttpResponse:
    if not may_scrape(request):
        return error_response(request, METRICS_NOT_PUBLIC)
    return HttpResponse(page(), content_type=CONTENT_TYPE)


def page() -> str:
    """All of it in Prometheus' text format."""
    clusters = list(
        Cluster.objects.filter(state__in=SERVING)
        .order_by("id")
        .only("id", "organisation_id", "active_at", "created_at")
    )
    rules = effective_rules([cluster.id for cluster in clusters])
    nodes = list(
        Node.objects.filter(deleted_at=None, cluster__in=clusters)
        .select_related("cluster", "datacenter")
        .defer("tokens")
        .order_by("id")
    )
    tables = list(_tables({cluster.id: cluster for cluster in clusters}))
    repaired = "ringmaster_table_repair_counted_from_timestamp_seconds"
    return "".join(
        [
            *_metric(
                THRESHOLD,
                "Where a rule of alerts begins to hold; NaN: it is switched off.",
                ("organisation", "cluster", "rule"),
                _thresholds(clusters, rules),
            ),
            *_metric(
                FOR_SECONDS,
                "How long it must have held.",
                ("organisation", "cluster", "rule"),
                _waits(clusters, rules),
            ),
            *_metric(
                "ringmaster_node_expected_up",
                "1 unless the node comes, goes, or was stopped on purpose.",
                _NODE,
                ((_of_node(node), float(_expected(node))) for node in nodes),
            ),
            *_metric(
                "ringmaster_node_tuning_drift",
                "Checks of tuning that the machine passed once and fails now, and settings the engine has otherwise.",
                _NODE,
                _drift(nodes),
            ),
            *_metric(
                repaired,
                "From when on repairs count: the oldest of all ranges' last repairs; before there is "
                "one, when the table was made.",
                _TABLE,
                ((labels, since) for labels, since, _ in tables),
            ),
            *_metric(
                "ringmaster_table_gc_grace_seconds",
                "For how long deletions are kept.",
                _TABLE,
                ((labels, grace) for labels, _, grace in tables),
            ),
            *_metric(
                "ringmaster_backup_promised_timestamp_seconds",
                "By when the next complete backup must be there for the schedule to keep its promise.",
                ("organisation", "cluster", "schedule"),
                (((row.cluster.organisation_id, row.cluster_id, row.name), at.timestamp()) for row, at in promises()),
            ),
        ]
    )


def _thresholds(clusters: list[Cluster], rules: dict[str, list[Effective]]) -> Iterator[Sample]:
    for cluster in clusters:
        for rule, own in zip(RULES, rules[cluster.id], strict=True):
            number = 0.0 if own.threshold is None else own.threshold
            yield (cluster.organisation_id, cluster.id, rule.key), number if own.enabled else float("nan")


def _waits(clusters: list[Cluster], rules: dict[str, list[Effective]]) -> Iterator[Sample]:
    for cluster in clusters:
        for rule, own in zip(RULES, rules[cluster.id], strict=True):
            yield (cluster.organisation_id, cluster.id, rule.key), float(own.for_seconds)


def _of_node(node: Node) -> tuple[str, ...]:
    return (node.cluster.organisation_id, node.cluster_id, node.datacenter.name, node.zone, node.id)


def _expected(node: Node) -> bool:
    return not node.stop_wanted and node.state not in _AWAY_ON_PURPOSE


def _drift(nodes: list[Node]) -> Iterator[Sample]:
    drifted = drifted_by_node([node.id for node in nodes])
    for node in nodes:
        yield _of_node(node), float(len(node.drift) + drifted.get(node.id, 0))


def _tables(clusters: dict[str, Cluster]) -> Iterator[tuple[tuple[str, ...], float, float]]:
    """Labels, from when on repairs count, and gc_grace in seconds."""
    for row, grace in tables_that_need_repair(list(clusters), datetime.now(UTC)):
        cluster = clusters[row.cluster_id]
        since = row.repaired_at or made_at(row.table_id) or cluster.active_at or cluster.created_at
        yield (cluster.organisation_id, cluster.id, row.keyspace, row.name), since.timestamp(), grace


def made_at(table_id: str) -> datetime | None:
    """When a table was made: engines give tables ids that are time-based UUIDs. None for other ids."""
    try:
        found = uuid.UUID(table_id)
    except ValueError:
        return None
    if found.version != 1:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(found.time - _UUID_EPOCH) // 10)


def _metric(name: str, about: str, labels: tuple[str, ...], samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}\n# TYPE {name} gauge\n"
    for values, number in samples:
        pairs = ",".join(f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=True))
        yield f"{name}{{{pairs}}} {'NaN' if number != number else repr(number)}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
