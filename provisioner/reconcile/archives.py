"""Archives of commit logs: nodes are told of orders, and asked once in a minute what they stored.

Clusters that archive nothing cost one indexed query for all of them together.
"""

import time
from dataclasses import asdict
from datetime import timedelta

import structlog

from backend.backups import archive_progress, archive_queries, vault_keys
from backend.backups.archive_progress import Entry
from backend.backups.models import ArchiveStream, LogArchive
from backend.clusters.models import Node
from backend.clusters.states import NodeState
from provisioner.agent.base import AgentClient, AgentError, ArchiveReport
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

AT_MOST = 200  # archives per run
BUDGET = 20.0  # seconds per run
ASK_EVERY = timedelta(seconds=55)
_JOB = "set-archive"
_MOST_PAGES = 20  # of one node per run


def see_to_archives() -> int:
    """How many archives were looked at."""
    with alone("reconcile-archives") as mine:
        return look() if mine else 0


def look() -> int:
    began, count = time.monotonic(), 0
    for archive in archive_queries.to_ask(every=ASK_EVERY, at_most=AT_MOST):
        if time.monotonic() - began > BUDGET:
            break
        nodes = Node.objects.filter(cluster_id=archive.cluster_id, deleted_at=None, state=NodeState.UP)
        for node in nodes.select_related("cluster"):
            try:
                _see_to(archive, node)
            except AgentError as error:
                log.info("archive not looked at", cluster_id=archive.cluster_id, node_id=node.id, reason=str(error))
        archive_progress.looked_at(archive)
        count += 1
    return count


def _see_to(archive: LogArchive, node: Node) -> None:
    agent = surroundings().agent(node)
    stream = ArchiveStream.objects.filter(node=node, ended_at=None).first()
    if not archive.enabled:
        if stream is not None and _tell(agent, {"on": False}) is not None:
            archive_progress.node_told(archive, node, stream="")
        return
    report = None if stream is None else agent.archive(after=stream.sequence)
    if stream is None or report is None or report.stream != stream.name or stream.revision != archive.revision:
        if stream is not None and report is not None and report.stream == stream.name:
            # The order may begin another stream: what this one has is read before.
            _read(agent, stream, report)
        name = _tell(
            agent,
            {
                "on": True,
                "store": vault_keys.store_of(archive.location, archive.organisation_id),
                "encryption": vault_keys.encryption(vault_keys.key_of(archive.organisation_id)),
                "interval_seconds": archive.interval_seconds,
            },
        )
        if not name:
            return
        stream = archive_progress.node_told(archive, node, stream=name)
        if stream is None:
            return
        report = agent.archive(after=stream.sequence)
    _read(agent, stream, report)


def _tell(agent: AgentClient, parameters: dict[str, object]) -> str | None:
    """The stream that the node has from now on; None: it did not do it, which its log tells."""
    # Each order is a job of its own; one that was done is forgotten.
    agent.delete_job(_JOB)
    job = agent.ensure_job(_JOB, "set-archive", parameters, wait_seconds=2)
    if job.state != "succeeded":
        log.warning("archive not set", job_state=job.state, code=job.error_code, reason=job.error_message)
        return None
    return str(job.result["stream"])


def _read(agent: AgentClient, stream: ArchiveStream, report: ArchiveReport) -> None:
    """Page by page."""
    for _ in range(_MOST_PAGES):
        if report.stream != stream.name or report.began_at is None or report.covered_until is None:
            return
        read = archive_progress.read(
            stream.id,
            [Entry(**asdict(one)) for one in report.entries],
            began_at=report.began_at,
            covered_until=report.covered_until,
            waiting_bytes=report.waiting_bytes,
            problem=report.problem,
            more=report.more,
        )
        if not report.more:
            return
        report = agent.archive(after=read)
