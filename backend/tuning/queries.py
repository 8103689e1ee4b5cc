"""Reading what agents told about their machines."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from statistics import median
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.clusters.models import Node
from backend.clusters.queries import node_not_found, require_cluster
from backend.clusters.states import SERVING, NodeState
from backend.tuning.models import DiskMeasurement, NodeTuning
from backend.tuning.states import CHECK_TITLES, FIGURES, STEP_TITLES, CheckStatus, Verdict, advice, title_of

Report = dict[str, Any]


def get_tuning(who: Identity, cluster_id: str, node_id: str) -> dict[str, Any]:
    """The last report of a node's machine, none until its agent was reached, and what its disks do. Raises NotFound."""
    of_tenant = Node.objects.filter(id=node_id, cluster_id=cluster_id, cluster__organisation_id=who.organisation_id)
    node = of_tenant.select_related("tuning", "disk_measurement").first()
    if node is None:
        require_cluster(who, cluster_id)
        raise node_not_found()
    row: NodeTuning | None = getattr(node, "tuning", None)
    if row is None or row.generation != node.generation:
        return {"checked_at": None, "report": None, "disks": _disks(node)}
    return {"checked_at": row.checked_at, "report": _shown(row), "disks": _disks(node)}


def _disks(node: Node) -> dict[str, Any] | None:
    """What was measured on the machine that the node has now, and the one value for its cluster."""
    row: DiskMeasurement | None = getattr(node, "disk_measurement", None)
    if row is None or row.generation != node.generation:
        return None
    alike = DiskMeasurement.objects.filter(
        node__cluster_id=node.cluster_id, node__machine_type=node.machine_type, node__deleted_at=None
    ).filter(generation=F("node__generation"))
    steady = [other.figures for other in alike.exclude(verdict=Verdict.NOISY)]
    return {
        "measured_at": row.measured_at,
        "verdict": row.verdict,
        "warnings": row.warnings,
        "figures": row.figures,
        "cluster": {
            "nodes": len(steady),
            **{name: round(median(figures[name]["median"] for figures in steady)) for name in FIGURES},
        }
        if steady
        else None,
    }


def _shown(row: NodeTuning) -> Report:
    report: Report = row.report
    drifted = set(drifted_checks(report, row.passed))
    return report | {
        "checks": [
            check | {"title": title_of(check["name"], CHECK_TITLES), "drifted": check["name"] in drifted}
            for check in report["checks"]
        ],
        "first_boot": None if report["first_boot"] is None else _first_boot(report["first_boot"]),
    }


def _first_boot(boot: Report) -> Report:
    return boot | {
        "steps": [
            step
            | {
                "title": title_of(step["name"], STEP_TITLES),
                "error": None
                if step["error"] is None
                else step["error"] | {"hint": advice(step["error"]["code"]).hint},
            }
            for step in boot["steps"]
        ]
    }


def drifted_checks(report: Mapping[str, Any], passed: list[str]) -> list[str]:
    """Names of checks that fail now and that this machine has passed before, in the report's order."""
    return [
        check["name"] for check in report["checks"] if check["status"] == CheckStatus.FAIL and check["name"] in passed
    ]


def drifted_by_node(node_ids: Sequence[str]) -> dict[str, int]:
    """How many checks of each node's machine fail that it has passed before; nodes without a report are left out."""
    rows = NodeTuning.objects.filter(node__in=node_ids, generation=F("node__generation"))
    return {row.node_id: len(drifted_checks(row.report, row.passed)) for row in rows}


def without_time(report: Mapping[str, Any]) -> Report:
    """What two reports are compared by."""
    return {name: value for name, value in report.items() if name != "checked_at"}


def nodes_to_ask(*, older_than: timedelta, at_most: int) -> list[Node]:
    """Nodes in service whose report is missing, of an earlier machine, or old; the oldest first. One statement."""
    due = Q(tuning=None) | Q(tuning__checked_at__lt=Now() - older_than) | ~Q(tuning__generation=F("generation"))
    rows = Node.objects.filter(due, deleted_at=None, state=NodeState.UP, cluster__state__in=SERVING)
    chosen = rows.select_related("cluster", "datacenter", "tuning").defer("tokens")
    return list(chosen.order_by(F("tuning__checked_at").asc(nulls_first=True), "id")[:at_most])
