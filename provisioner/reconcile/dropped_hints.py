"""Notices for which nodes others no longer kept what they missed, and remembers it until they have begun to pull.

The others tell it with their view of the ring. A finding is open from then until a catch-up was begun (repairs.py).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone

from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.findings import actions as findings
from backend.findings.models import Finding
from backend.findings.states import FindingState, Severity
from backend.repairs.models import RepairRun
from backend.repairs.states import RepairRunReason
from provisioner.agent.base import Status

HINTS_DROPPED = "hints-dropped"
# What is older is left to the schedule.
TOLD_FOR = timedelta(days=1)
# A node is not made to pull while others still drop hints for it. They are asked every two seconds, and look themselves
# every ten.
QUIET = timedelta(minutes=1)


def note(cluster: Cluster, members: Sequence[Node], views: Sequence[Status]) -> None:
    """Write down what these views tell of dropped hints. Where they tell nothing the database is not asked."""
    dropped = _dropped(views)
    for node in members:
        at = dropped.get(str(node.address)) if node.address is not None else None
        if at is None or at < timezone.now() - TOLD_FOR or not _is_new(node, at):
            continue
        findings.found(
            cluster=cluster,
            subject=node.id,
            subject_name=node.name,
            code=HINTS_DROPPED,
            severity=Severity.WARNING,
            sentence=f"{node.name} was away longer than other nodes keep what it misses; since then it misses writes.",
            hint="Nothing: when it serves again it pulls what it missed from its peers.",
        )


def _dropped(views: Sequence[Status]) -> dict[str, datetime]:
    """When hints were dropped last, by this machine's clock, by the address of the node that they were for."""
    last: dict[str, datetime] = {}
    for view in views:
        for peer in view.ring.peers if view.ring is not None else ():
            if peer.hints_dropped_at is None:
                continue
            ahead = timedelta() if view.time is None else view.time - timezone.now()
            at = peer.hints_dropped_at - ahead
            last[peer.address] = max(at, last.get(peer.address, at))
    return last


def _is_new(node: Node, at: datetime) -> bool:
    """Whether nothing was done about it yet, nor is it written down already."""
    newest = Finding.objects.filter(cluster_id=node.cluster_id, subject=node.id, code=HINTS_DROPPED).order_by("-id")
    known = newest.first()
    if known is not None and at <= (known.closed_at or known.last_seen_at):
        return False
    return not _caught_up(node.cluster_id, node.id, at)


def _caught_up(cluster_id: str, node_id: str, since: datetime) -> bool:
    runs = RepairRun.objects.filter(cluster_id=cluster_id, reason=RepairRunReason.CATCH_UP, created_at__gte=since)
    return runs.filter(asked__node=node_id).exists()


def due() -> list[Finding]:
    """Of nodes that serve again and for which nobody drops hints any more. What is open about others that have ended,
    or have caught up since, is closed."""
    opened = list(Finding.objects.filter(code=HINTS_DROPPED, state=FindingState.OPEN))
    if not opened:
        return []
    states = dict(
        Node.objects.filter(id__in=[one.subject for one in opened], deleted_at=None).values_list("id", "state")
    )
    found = []
    for finding in opened:
        if finding.subject not in states or _caught_up(str(finding.cluster_id), finding.subject, finding.last_seen_at):
            findings.over(subject=finding.subject, codes=[HINTS_DROPPED])
        elif states[finding.subject] == NodeState.UP and timezone.now() - finding.last_seen_at > QUIET:
            found.append(finding)
    return found
