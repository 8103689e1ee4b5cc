"""Asks agents how their machines are tuned, each about once an hour, and says what has got worse since first boot.

A report that says the same as before costs a share of one statement for all that were asked; only another is written.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import structlog

from backend.clusters.models import Node
from backend.findings import actions as findings
from backend.findings.states import Severity
from backend.tuning import actions
from backend.tuning.models import NodeTuning
from backend.tuning.queries import drifted_checks, nodes_to_ask, without_time
from backend.tuning.states import CHECK_TITLES, title_of
from provisioner.agent.base import AgentClient, AgentError
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

TUNING_DRIFT = "tuning-drift"
OLDER_THAN = timedelta(hours=1)
NODES_PER_RUN = 100  # every two minutes: 3,000 nodes an hour
BUDGET = 20.0  # seconds of looks per run
THREADS = 16

Report = Mapping[str, Any]


def refresh_reports() -> int:
    """Ask the nodes whose report is oldest. How many answered."""
    with alone("reconcile-tuning") as mine, ThreadPoolExecutor(THREADS) as threads:
        return _refresh(threads) if mine else 0


def _refresh(threads: ThreadPoolExecutor) -> int:
    nodes = nodes_to_ask(older_than=OLDER_THAN, at_most=NODES_PER_RUN)
    # The clients are made here: only this thread may use the database.
    agents = [surroundings().agent(node) for node in nodes]
    ends_at = time.monotonic() + BUDGET
    answers = list(threads.map(lambda node, agent: _ask(node, agent, ends_at), nodes, agents))
    told = [(node, answer) for node, answer in zip(nodes, answers, strict=True) if answer is not None]
    unchanged = [node.id for node, report in told if _is_known(node, report)]
    if unchanged:
        actions.still_so(unchanged)
    for node, report in told:
        if node.id not in unchanged:
            _write(node, report)
    return len(told)


def _ask(node: Node, agent: AgentClient, ends_at: float) -> Report | None:
    if time.monotonic() > ends_at:
        return None
    try:
        return agent.tuning()
    except AgentError as error:
        log.info("tuning not known", node_id=node.id, reason=str(error))
        return None


def _known(node: Node) -> NodeTuning | None:
    """Of the machine that the node has now."""
    row: NodeTuning | None = getattr(node, "tuning", None)
    return row if row is not None and row.generation == node.generation else None


def _is_known(node: Node, report: Report) -> bool:
    row = _known(node)
    return row is not None and row.report == without_time(report)


def _write(node: Node, report: Report) -> None:
    row = _known(node)
    passed = [] if row is None else row.passed
    drifted = drifted_checks(report, passed)
    # Findings first: once the report is written, the same report is not looked at again.
    if drifted:
        _found(node, report, drifted)
    else:
        findings.over(subject=node.id, codes=[TUNING_DRIFT])
    actions.reported(node.id, report)


def _found(node: Node, report: Report, drifted: Sequence[str]) -> None:
    worse = [check for check in report["checks"] if check["name"] in drifted]
    each = "; ".join(
        f"{title_of(check['name'], CHECK_TITLES)}: {check['found'] or 'nothing'} instead of {check['wanted']}"
        for check in worse
    )
    log.warning("tuning got worse", node_id=node.id, cluster_id=node.cluster_id, checks=list(drifted))
    findings.found(
        cluster=node.cluster,
        subject=node.id,
        subject_name=node.name,
        code=TUNING_DRIFT,
        severity=Severity.WARNING,
        sentence=f"{node.name} is not tuned as it was after its first boot. {each}. {worse[0]['cost']}".strip(),
        hint="`ringmaster-agent tune` on the machine puts settings back; a restart of the machine does so, too.",
    )
