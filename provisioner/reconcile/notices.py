"""Reads what clouds have announced about our machines, shows it, and has nodes replaced before their machines go.

Once per account and region in which there are nodes, not per cluster. What is announced is a finding with its date; a
retirement is acted on by the rules of decisions.py, in a maintenance window if one begins before the date.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from django.utils import timezone

from backend.cloud_accounts.models import CloudAccount
from backend.clusters.models import Node
from backend.clusters.states import SERVING
from backend.findings import actions as findings
from backend.findings.models import Finding
from backend.findings.states import FindingState, Severity
from provisioner.operations import names
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import Notice, ProviderError
from provisioner.reconcile import signs
from provisioner.reconcile.alone import alone
from provisioner.reconcile.healing import heal_clusters

log = structlog.get_logger(__name__)

_CODES = {
    "retirement": signs.MACHINE_RETIRING,
    "maintenance": signs.MACHINE_MAINTENANCE,
    "rebalance": signs.MACHINE_REBALANCE,
}
_CRITICAL_BEFORE = timedelta(days=1)


def read_notices() -> int:
    """Read all regions with nodes, then have done what is to be done. How many notices are about nodes in service."""
    with alone("reconcile-notices") as mine:
        if not mine:
            return 0
        told = _read()
    heal_clusters((signs.MACHINE_RETIRING,))
    return told


def _read() -> int:
    opened = list(Finding.objects.filter(state=FindingState.OPEN, code__in=signs.ANNOUNCED))
    # One query for all nodes of the installation: few columns, twelve times an hour.
    rows = Node.objects.filter(deleted_at=None, cluster__state__in=SERVING).order_by()
    machines: dict[tuple[str, str | None, str], dict[str, str]] = {}
    columns = ("cluster__provider", "cluster__cloud_account_id", "datacenter__region", "id")
    for provider, account_id, region, node_id in rows.values_list(*columns):
        machines.setdefault((provider, account_id, region), {})[names.machine_of(node_id)] = node_id
    brought = {account_id for _, account_id, _ in machines if account_id is not None}
    accounts = CloudAccount.objects.in_bulk(brought) if brought else {}
    announced: set[tuple[str, str]] = set()
    unknown: set[str] = set()
    for (provider, account_id, region), here in machines.items():
        account = None if account_id is None else accounts[account_id]
        try:
            notices = surroundings().provider(provider, account).notices(region=region)
        except ProviderError as error:
            log.warning("notices unknown", provider=provider, region=region, code=error.code, reason=error.message)
            unknown |= set(here.values())
            continue
        announced |= _tell([(here[notice.machine], notice) for notice in notices if notice.machine in here], opened)
    for finding in opened:
        if (finding.subject, finding.code) not in announced and finding.subject not in unknown:
            findings.over(subject=finding.subject, codes=[finding.code])
    return len(announced)


def _tell(notices: Sequence[tuple[str, Notice]], opened: Sequence[Finding]) -> set[tuple[str, str]]:
    """Open and renew findings. Subject and code of each; of several about one machine the earliest counts."""
    known = {(finding.subject, finding.code): finding for finding in opened}
    nodes = Node.objects.select_related("cluster").in_bulk([node_id for node_id, _ in notices]) if notices else {}
    said: set[tuple[str, str]] = set()
    for node_id, notice in sorted(notices, key=lambda each: (each[1].before is None, each[1].before)):
        code = _CODES.get(notice.kind, signs.MACHINE_MAINTENANCE)
        if (node_id, code) in said:
            continue
        said.add((node_id, code))
        node = nodes[node_id]
        sentence, severity = _sentence(node, notice), _severity(code, notice.before)
        before = known.get((node_id, code))
        if before is not None and (before.sentence, before.severity) == (sentence, severity):
            continue
        log.warning("announced", code=code, node_id=node_id, cluster_id=node.cluster_id, says=notice.message)
        findings.found(
            cluster=node.cluster,
            subject=node_id,
            subject_name=node.name,
            code=code,
            severity=severity,
            sentence=sentence,
            hint=_HINTS[code],
            due=notice.before,
        )
    return said


def _sentence(node: Node, notice: Notice) -> str:
    when = "" if notice.before is None else f", at {notice.before:%Y-%m-%d %H:%M} UTC"
    return f"The machine of {node.name}{when}: {notice.message.rstrip('.')}."


def _severity(code: str, before: datetime | None) -> Severity:
    if code != signs.MACHINE_RETIRING:
        return Severity.INFO
    soon = before is not None and before - timezone.now() < _CRITICAL_BEFORE
    return Severity.CRITICAL if soon else Severity.WARNING


_HINTS = {
    signs.MACHINE_RETIRING: "The node is replaced before, in a maintenance window if one begins in time.",
    signs.MACHINE_MAINTENANCE: "Its data survives it. Nothing has to be done.",
    signs.MACHINE_REBALANCE: "The cloud would rather have it elsewhere; replace the node if you want that, too.",
}
