"""Reading what agents told about their machines."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.clusters.models import Node
from backend.clusters.queries import node_not_found
from backend.clusters.states import SERVING, NodeState
from backend.tuning.models import NodeTuning
from backend.tuning.states import CHECK_TITLES, STEP_TITLES, CheckStatus, advice, title_of

Report = dict[str, Any]


def get_tuning(who: Identity, cluster_id: str, node_id: str) -> dict[str, Any]:
    """The last report of a node's machine; none until its agent was reached. Raises NotFound. One statement."""
    of_tenant = Node.objects.filter(id=node_id, cluster_id=cluster_id, cluster__organisation_id=who.organisation_id)
    node = of_tenant.select_related("tuning").first()
    if node is None:
        raise node_not_found()
    row: NodeTuning | None = getattr(node, "tuning", None)
    if row is None or row.generation != node.generation:
        return {"checked_at": None, "report": None}
    return {"checked_at": row.checked_at, "report": _shown(row)}


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


def without_time(report: Mapping[str, Any]) -> Report:
    """What two reports are compared by."""
    return {name: value for name, value in report.items() if name != "checked_at"}


def nodes_to_ask(*, older_than: timedelta, at_most: int) -> list[Node]:
    """Nodes in service whose report is missing, of an earlier machine, or old; the oldest first. One statement."""
    due = Q(tuning=None) | Q(tuning__checked_at__lt=Now() - older_than) | ~Q(tuning__generation=F("generation"))
    rows = Node.objects.filter(due, deleted_at=None, state=NodeState.UP, cluster__state__in=SERVING)
    chosen = rows.select_related("cluster", "datacenter", "tuning").defer("tokens")
    return list(chosen.order_by(F("tuning__checked_at").asc(nulls_first=True), "id")[:at_most])
