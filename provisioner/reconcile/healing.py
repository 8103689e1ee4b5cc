"""Does something about what was found: starts engines and machines, replaces dead nodes, holds back what needs room.

Health (health.py) opens findings; here each is looked at afresh, judged by the rules of decisions.py and acted on.
What was done, or why nothing was, is written into the finding, and so is the operation that was started. Anything may
be done twice, and nothing is remembered but in those rows.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import structlog
from django.db.models import Count
from django.db.models.functions import Now
from django.utils import timezone

from backend.accounts.queries import Identity
from backend.accounts.states import Permission, Role
from backend.changes import actions as changes
from backend.changes.schemas import ReplaceNode
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import maintenance_windows
from backend.core.errors import DomainError
from backend.findings import actions as findings
from backend.findings.models import Finding
from backend.findings.states import FindingState
from backend.operations import actions as operations
from backend.operations.models import Operation, OperationStep
from backend.operations.states import OPEN, OperationState, StepState, title
from provisioner.agent.base import AgentClient, AgentError, AgentRefused, Job
from provisioner.operations import names
from provisioner.operations.node_steps import provider_of
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import ProviderError
from provisioner.reconcile import signs
from provisioner.reconcile.alone import alone
from provisioner.reconcile.decisions import (
    Decision,
    Nothing,
    PauseHeavyWork,
    Replace,
    Situation,
    StartEngine,
    StartMachine,
    decide,
)
from provisioner.reconcile.health import nodes_in_work, nodes_of, serving
from provisioner.reconcile.looks import look_at
from provisioner.reconcile.verdicts import judge

log = structlog.get_logger(__name__)

ACTOR = "ringmaster"
"""Who the control plane is in activity and audit log when it acts by itself."""

BUDGET = 10.0  # seconds after which nothing new is begun
AT_MOST = 100  # clusters per run
THREADS = 32
_LOOK_SECONDS = 0.5
# A zone is taken for lost when so many of its nodes are dead, and these are most of it.
_DEAD_IN_A_LOST_ZONE = 3
# Steps and kinds that write data anew before they delete the old, so that they need as much room again.
_HEAVY_STEPS = frozenset({"upgrade_sstables", "clean_up", "rebuild"})
_HEAVY_KINDS = frozenset({"repair"})


def heal_clusters(codes: Sequence[str] = signs.HEALABLE) -> int:
    """Do what can be done about what is open of these codes. How many findings something was done about."""
    with alone("reconcile-healing") as mine, ThreadPoolExecutor(THREADS) as threads:
        return _heal(threads, codes) if mine else 0


def _heal(threads: ThreadPoolExecutor, codes: Sequence[str]) -> int:
    began, done = time.monotonic(), 0
    opened: dict[str, list[Finding]] = defaultdict(list)
    # In no order: what takes long must not keep the rest from its turn.
    found = Finding.objects.filter(state=FindingState.OPEN, code__in=codes, cluster__isnull=False)
    for finding in found.order_by("?"):
        opened[finding.cluster_id or ""].append(finding)
    lost = _lost_zones([finding for about in opened.values() for finding in about if finding.code in signs.DEATHS])
    for cluster in serving().filter(id__in=list(opened)[:AT_MOST]):
        if time.monotonic() - began > BUDGET:
            break
        for situation in _situations(cluster, opened[cluster.id], lost, threads):
            done += _act(situation, decide(situation))
    return done


def _situations(
    cluster: Cluster, opened: Sequence[Finding], lost: frozenset[tuple[str, str]], threads: ThreadPoolExecutor
) -> list[Situation]:
    """The cluster as it is now, once for each finding. Worst first: what was dead longest is replaced first."""
    nodes = nodes_of([cluster], stale_after=timedelta(0)).get(cluster.id, [])
    looks = {look.node.id: look for look in look_at([node for node in nodes if node.agent_address], threads)}
    views = [look.status for look in looks.values() if look.status is not None]
    verdicts = {node_id: judge(look, views) for node_id, look in looks.items()}
    seen = [node for node in nodes if node.id in looks]
    by_id = {node.id: node for node in seen}
    operation_id = vars(cluster)["operation_id"]
    busy = Operation.objects.get(id=operation_id) if operation_id is not None else None
    in_work = nodes_in_work([cluster]).get(cluster.id, frozenset())
    started = [finding.operation_id for finding in opened if finding.operation_id]
    at_it = set(Operation.objects.filter(id__in=started, state__in=OPEN).values_list("id", flat=True))
    now = timezone.now()
    can_wait = any(finding.code in signs.ANNOUNCED for finding in opened)
    windows = maintenance_windows(cluster.id) if can_wait else []
    return [
        Situation(
            finding=finding,
            cluster=cluster,
            node=by_id[finding.subject],
            nodes=seen,
            looks=looks,
            verdicts=verdicts,
            age_seconds=(now - finding.first_seen_at).total_seconds(),
            busy_with="" if busy is None else f"{title(busy.kind).lower()} ({busy.id})",
            is_being_healed=finding.operation_id in at_it,
            worked_on=finding.subject in in_work,
            replaced_today=_replaced_today(cluster),
            now=now,
            windows=windows,
            zone_lost=(cluster.provider, by_id[finding.subject].zone) in lost,
        )
        for finding in sorted(opened, key=lambda finding: finding.first_seen_at)
        if finding.subject in by_id
    ]


def _replaced_today(cluster: Cluster) -> int:
    return Operation.objects.filter(
        cluster_id=cluster.id, kind="replace_node", actor=ACTOR, created_at__gt=Now() - timedelta(days=1)
    ).count()


def _lost_zones(deaths: Sequence[Finding]) -> frozenset[tuple[str, str]]:
    """Provider and name of the zones most of whose nodes are dead: a replacement there would not start either."""
    if len(deaths) < _DEAD_IN_A_LOST_ZONE:
        return frozenset()
    place = ("cluster__provider", "zone")
    subjects = [finding.subject for finding in deaths]
    dead = Counter(Node.objects.filter(id__in=subjects, deleted_at=None).values_list(*place))
    suspects = {where for where, number in dead.items() if number >= _DEAD_IN_A_LOST_ZONE}
    living = (
        Node.objects.filter(deleted_at=None, zone__in={zone for _, zone in suspects})
        .order_by()
        .values_list(*place)
        .annotate(number=Count("id"))
    )
    return frozenset(
        (provider, zone)
        for provider, zone, number in living
        if (provider, zone) in suspects and dead[provider, zone] * 2 > number
    )


def _act(situation: Situation, decision: Decision) -> bool:
    finding, node = situation.finding, situation.node
    operation_id = ""
    match decision:
        case Nothing(why):
            said, did = why, False
        case StartMachine():
            said, did = _start_machine(node), True
        case StartEngine(attempt):
            said, did = _start_engine(finding, node, attempt), True
        case PauseHeavyWork():
            said, did = _pause_heavy_work(situation.cluster), True
        case Replace():
            said, operation_id = _replace(situation)
            did = operation_id != ""
    if said:
        findings.acted(finding.id, said, operation_id=operation_id)
    return did


def _start_machine(node: Node) -> str:
    provider = provider_of(node.cluster)
    try:
        provider.start_machine(region=node.datacenter.region, name=names.machine(node))
    except ProviderError as error:
        return f"Its machine could not be started: {error.message}"
    log.warning("machine started", node_id=node.id, cluster_id=node.cluster_id)
    return "Its machine was off and has been started."


def _start_engine(finding: Finding, node: Node, attempt: int) -> str:
    agent = surroundings().agent(node)
    name = f"heal-{finding.id.replace('_', '-')}-{attempt}"
    times = "once" if attempt == 1 else f"{attempt} times"
    try:
        job = _job_or_none(agent, name)
        if job is None:
            job = agent.ensure_job(name, "start", {}, wait_seconds=_LOOK_SECONDS)
            log.warning("engine started", node_id=node.id, cluster_id=node.cluster_id, attempt=attempt, job=job.state)
    except AgentError as error:
        return f"The engine could not be started: {error}"
    if job.state == "failed":
        return f"Started the engine {times}, and it did not come up: {job.error_message}"
    return f"Started the engine {times}."


def _job_or_none(agent: AgentClient, name: str) -> Job | None:
    """Looked at first: to ask for a job that has failed is to have it done anew, and each attempt has its time."""
    try:
        return agent.job(name)
    except AgentRefused as error:
        if error.code == "job-not-found":
            return None
        raise


def _replace(situation: Situation) -> tuple[str, str]:
    """What to say, and the id of the operation that was started."""
    node = situation.node
    try:
        begun = changes.begin(situation.cluster.id, ReplaceNode(kind="replace_node", node_id=node.id), actor=ACTOR)
    except DomainError as error:
        return f"It is not replaced: {error.message}", ""
    log.warning(
        "replacing",
        node_id=node.id,
        cluster_id=node.cluster_id,
        code=situation.finding.code,
        operation_id=begun.operation.id,
    )
    when = f"after {situation.age_seconds:.0f} s" if situation.finding.code in signs.DEATHS else "at once"
    if situation.finding.code == signs.MACHINE_RETIRING:
        when = "before its machine is taken away"
    said = (f"Replaced by a new node on a new machine, {when}.", *begun.proposal.over_ceilings)
    return " ".join(said), begun.operation.id


def _pause_heavy_work(cluster: Cluster) -> str:
    """Pause what would need room that is not there."""
    who = Identity(
        organisation_id=cluster.organisation_id,
        user_id="",
        user_email=ACTOR,
        role=Role.OWNER,
        permissions=frozenset({Permission.OPERATIONS_WRITE}),
    )
    said = "Repairs, upgrades of files and clean-ups are paused until there is room."
    running = Operation.objects.filter(
        cluster_id=cluster.id, state=OperationState.RUNNING, pausable=True, pause_requested_at=None
    )
    for operation in running:
        if not _is_heavy(operation):
            continue
        try:
            operations.pause(who, operation.id)
        except DomainError as error:
            said = f"{title(operation.kind)} ({operation.id}) could not be paused: {error.message}"
        else:
            said = f"Paused {title(operation.kind).lower()} ({operation.id}) until there is room."
            log.warning("paused for want of room", operation_id=operation.id, cluster_id=cluster.id)
    return said


def _is_heavy(operation: Operation) -> bool:
    if operation.kind in _HEAVY_KINDS:
        return True
    open_steps = OperationStep.objects.filter(
        operation_id=operation.id, state__in=[StepState.RUNNING, StepState.PENDING]
    ).order_by("position")
    first = open_steps.values_list("name", flat=True).first()
    return first in _HEAVY_STEPS
