"""Writing down what agents tell about their machines. Each call may be repeated, also late."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from backend.clusters.models import Node
from backend.operations import actions as operations
from backend.tuning.models import DiskMeasurement, NodeTuning
from backend.tuning.queries import without_time
from backend.tuning.states import FIGURES, CheckStatus


@transaction.atomic
def reported(node_id: str, report: Mapping[str, Any]) -> None:
    """`report` as GET /v1/tuning of the node's agent answered just now. People who look are told when it is another."""
    node = Node.objects.filter(id=node_id, deleted_at=None).values(
        "cluster_id", "cluster__organisation_id", "generation"
    )
    about = node.first()
    if about is None:
        return
    known = NodeTuning.objects.select_for_update().filter(node_id=node_id).first()
    same_machine = known is not None and known.generation == about["generation"]
    told = without_time(report)
    if known is not None and same_machine and known.report == told:
        NodeTuning.objects.filter(node_id=node_id).update(checked_at=Now())
        return
    passed = {check["name"] for check in told["checks"] if check["status"] == CheckStatus.PASS}
    if known is not None and same_machine:
        passed |= set(known.passed)
    NodeTuning.objects.update_or_create(
        node_id=node_id,
        defaults={
            "generation": about["generation"],
            "report": told,
            "passed": sorted(passed),
            "checked_at": Now(),
        },
    )
    operations.notify(about["cluster__organisation_id"], "cluster", about["cluster_id"], about["cluster_id"])


def still_so(node_ids: Iterable[str]) -> None:
    """The agents of these nodes have told the same again. One statement."""
    NodeTuning.objects.filter(node_id__in=list(node_ids)).update(checked_at=Now())


@transaction.atomic
def measured(node_id: str, result: Mapping[str, Any]) -> None:
    """`result` as the agent's job measure-io answered: docs/node.md."""
    node = Node.objects.select_related("cluster").get(id=node_id)
    DiskMeasurement.objects.update_or_create(
        node_id=node_id,
        defaults={
            "generation": node.generation,
            "verdict": result["verdict"],
            "figures": {name: {key: result[name][key] for key in ("median", "spread", "verdict")} for name in FIGURES},
            "warnings": list(result["warnings"]),
            "measured_at": result["measured_at"],
        },
    )
    operations.notify(node.cluster.organisation_id, "cluster", node.cluster_id, node.cluster_id)
