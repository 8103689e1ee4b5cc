"""Looks at every node of every cluster that should serve, and writes down what it sees: states, facts and findings.

Nothing is mended from here (healing.py). Clusters with trouble are looked at, whole, at every run. The others take
turns within a share of one core: in a small installation everything is looked at every time; in a large one a look at a
cluster asks one of its nodes after the other, which also tells of its neighbours, and asks all of them as soon as
that one says, or fails to say, anything but that all is well.

What an operation is working on is its business: the states of those nodes are left alone, their facts are not.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from statistics import median

import structlog
from django.conf import settings
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from backend.clusters import lifecycle, observations
from backend.clusters.models import Cluster, Node
from backend.clusters.observations import Observation
from backend.clusters.states import SERVING, ClusterState, NodeState
from backend.findings import actions as findings
from backend.findings.models import Finding
from backend.findings.states import FindingState
from backend.operations.models import Operation, OperationStep
from backend.operations.states import OPEN, StepState
from provisioner.agent.base import Status
from provisioner.reconcile import dropped_hints, lasting, sent, signs
from provisioner.reconcile.alone import alone
from provisioner.reconcile.looks import Look, look_at
from provisioner.reconcile.verdicts import NOT_SERVING, Verdict, all_is_well, judge

log = structlog.get_logger(__name__)

LONGEST_RUN = 10.0  # seconds; what is not looked at by then has its turn in the next run
LONGEST_SAVED = 10.0  # seconds since the last run whose share of a core may be used now
THREADS = 32
# Quiet clusters are looked at whole as long as a round of all of them takes no longer than this, in seconds. With a
# run's own time on top the state that is shown is true within five seconds.
WHOLE_ROUND = 4.0
MOST_AT_ONCE = 100  # clusters read from the database in one go
# An agent that is silent for longer before its node is seen down was silent for another reason.
SILENCE_COUNTS = timedelta(seconds=30)
# How stale `observed_at` may be while nothing changes: writing it at every look would be most of the database's work.
REFRESH_SECONDS = 30.0
_REFRESHED_PER_SECOND = 50.0  # nodes, in large installations
_FIRST_GUESS = 0.002  # CPU seconds per look until it is measured

# Changes of facts that are not worth a write of their own.
_DISK_NOISE = 0.01  # of the disk
_CLOCK_NOISE_MS = 100

# States that belong to the operation which brings a node in or takes it out.
_OPERATIONS_OWN = frozenset({NodeState.PENDING, NodeState.STARTING, NodeState.JOINING, NodeState.LEAVING})
_CLOCKS_FOR_A_JUDGEMENT = 5


@dataclass
class Pace:
    """What a run leaves for the next one. `after`: the last quiet cluster that was looked at, in the order of ids."""

    after: str = ""
    turn: int = 0  # rounds of all quiet clusters so far
    ran_at: float = 0.0  # by this machine's clock
    cost: float = _FIRST_GUESS  # CPU seconds per look
    clusters: int = 0  # quiet ones, in the last round
    clusters_so_far: int = 0  # in this round
    nodes: int = 0  # of them
    nodes_so_far: int = 0
    round_began_at: float = 0.0
    round_seconds: float = 0.0  # how long the last round took

    def whole(self, share: float) -> bool:
        """Whether all nodes of quiet clusters are asked, and not one of each."""
        return self.nodes * self.cost / share <= WHOLE_ROUND

    def refresh(self) -> timedelta:
        return timedelta(seconds=max(REFRESH_SECONDS, self.nodes / _REFRESHED_PER_SECOND))

    def page_size(self, cpu_seconds: float, *, whole: bool) -> int:
        """How many quiet clusters can be looked at within so much CPU; never so few that nothing moves."""
        looks = self.nodes / max(1, self.clusters) if whole else 1.0
        return max(5, min(MOST_AT_ONCE, int(cpu_seconds / (self.cost * max(1.0, looks)))))

    @classmethod
    def recalled(cls) -> "Pace":
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in lasting.recall("health").items() if name in known})


@dataclass(frozen=True)
class Checked:
    """What a run did. `sick`: whether something is open that healing may do something about."""

    clusters: int = 0
    looks: int = 0
    sick: bool = False


def check_clusters() -> Checked:
    """Look at the clusters with trouble, then at as many others as their share of a core allows."""
    with alone("reconcile-health") as mine, ThreadPoolExecutor(THREADS) as threads:
        return _Run(threads).go() if mine else Checked()


@dataclass
class _Run:
    threads: ThreadPoolExecutor
    pace: Pace = field(default_factory=Pace.recalled)
    clusters: int = 0
    looks: int = 0
    began: float = field(default_factory=time.monotonic)
    cpu_began: float = field(default_factory=time.process_time)
    open_findings: dict[str, list[Finding]] = field(default_factory=lambda: defaultdict(list))

    def go(self) -> Checked:
        share = settings.ENV.ringmaster_health_cpu_share
        now = time.time()
        elapsed = min(max(now - self.pace.ran_at, 0.0), LONGEST_SAVED)
        self.pace.ran_at = now
        for finding in _open_findings():
            self.open_findings[finding.subject].append(finding)
        self._forget_the_gone()
        troubled = list(serving().filter(_trouble()))
        for first in range(0, len(troubled), MOST_AT_ONCE):
            self._check(troubled[first : first + MOST_AT_ONCE], whole=True)
            if self._late():
                break
        self._check_quiet({cluster.id for cluster in troubled}, budget=share * elapsed, whole=self.pace.whole(share))
        lasting.remember("health", asdict(self.pace))
        sick = any(finding.code in signs.HEALABLE for opened in self.open_findings.values() for finding in opened)
        return Checked(clusters=self.clusters, looks=self.looks, sick=sick)

    def _late(self) -> bool:
        return time.monotonic() - self.began > LONGEST_RUN

    def _check_quiet(self, troubled: set[str], *, budget: float, whole: bool) -> None:
        """Go on with the round where the last run stopped, at most once around."""
        began, looks_before = time.process_time(), self.looks
        left = budget
        while not self._late():
            page_size = self.pace.page_size(left, whole=whole)
            page = list(serving().filter(id__gt=self.pace.after).order_by("id")[:page_size])
            quiet = [cluster for cluster in page if cluster.id not in troubled]
            self.pace.nodes_so_far += self._check(quiet, whole=whole)
            self.pace.clusters_so_far += len(quiet)
            spent = time.process_time() - began
            if self.looks > looks_before:
                # Slowly, so that one run on a busy machine does not upset the pace.
                self.pace.cost += 0.2 * (spent / (self.looks - looks_before) - self.pace.cost)
            if len(page) < page_size:
                self._end_of_round()
                break
            self.pace.after = page[-1].id
            left = budget - spent
            if left <= 0:
                break

    def _end_of_round(self) -> None:
        pace, now = self.pace, time.time()
        pace.after, pace.turn = "", pace.turn + 1
        pace.nodes, pace.nodes_so_far = pace.nodes_so_far, 0
        pace.clusters, pace.clusters_so_far = pace.clusters_so_far, 0
        if pace.round_began_at:
            pace.round_seconds = now - pace.round_began_at
        pace.round_began_at = now

    def _check(self, clusters: Sequence[Cluster], *, whole: bool) -> int:
        """Look at these clusters and write down what is seen. How many nodes they have."""
        if not clusters:
            return 0
        members = nodes_of(clusters, stale_after=self.pace.refresh())
        in_work = nodes_in_work(clusters)
        self.clusters += len(clusters)
        looks = self._look(clusters, members, in_work, whole=whole)
        sent.note(look for found in looks.values() for look in found)
        offset = _our_own_clock([look for found in looks.values() for look in found])
        written: list[Observation] = []
        for cluster in clusters:
            seen = [_corrected(look, offset) for look in looks.get(cluster.id, [])]
            written += self._judge_cluster(
                cluster, members.get(cluster.id, []), seen, in_work.get(cluster.id, frozenset())
            )
        observations.write(written)
        return sum(len(nodes) for nodes in members.values())

    def _look(
        self,
        clusters: Sequence[Cluster],
        members: dict[str, list[Node]],
        in_work: dict[str, frozenset[str]],
        *,
        whole: bool,
    ) -> dict[str, list[Look]]:
        """Looks by cluster: at all of its nodes, or at one where that is enough."""
        first: list[Node] = []
        for cluster in clusters:
            nodes = [node for node in members.get(cluster.id, []) if node.agent_address]
            alone_will_do = not whole and cluster.id not in in_work and len(nodes) > 1
            first += [nodes[self.pace.turn % len(nodes)]] if alone_will_do else nodes
        looks = self._ask(first)
        again: list[Node] = []
        for cluster in clusters:
            found, nodes = looks.get(cluster.id, []), members.get(cluster.id, [])
            if len(found) == 1 and len(nodes) > 1 and not all_is_well(found[0], len(nodes)):
                again += [node for node in nodes if node.agent_address and node.id != found[0].node.id]
        for cluster_id, found in self._ask(again).items():
            looks[cluster_id] += found
        return looks

    def _ask(self, nodes: list[Node]) -> dict[str, list[Look]]:
        self.looks += len(nodes)
        by_cluster: dict[str, list[Look]] = defaultdict(list)
        for look in look_at(nodes, self.threads) if nodes else []:
            by_cluster[look.node.cluster_id].append(look)
        return by_cluster

    def _judge_cluster(
        self, cluster: Cluster, members: list[Node], looks: list[Look], in_work: frozenset[str]
    ) -> list[Observation]:
        """What is to be written about its nodes. Findings and the cluster's own state are written here."""
        views = [look.status for look in looks if look.status is not None]
        written: list[Observation] = []
        states = {node.id: NodeState(node.state) for node in members if node.id not in in_work}
        for look in looks:
            verdict = judge(look, views)
            if look.node.id in in_work or look.node.state in _OPERATIONS_OWN:
                verdict = Verdict(NodeState(look.node.state), look.node.state_reason)
                self._say(look, signs.ABOUT_FACTS, signs.of_facts(look, self._known(look.node), timezone.now()))
            else:
                known = self._known(look.node)
                said = signs.of_state(look, verdict, views, known) + signs.of_facts(look, known, timezone.now())
                # A silent node's facts are not known to be over.
                about = signs.ABOUT_STATE + (signs.ABOUT_FACTS if look.status is not None else ())
                self._say(look, about, said)
                states[look.node.id] = verdict.state
            if seen := _observation(look, verdict):
                written.append(seen)
        if len(looks) == 1 and all_is_well(looks[0], len(members)):
            # It vouches for its neighbours.
            written += [_vouched(node) for node in members if node.id != looks[0].node.id and _is_stale(node)]
        dropped_hints.note(cluster, members, views)
        _judge_as_a_whole(cluster, frozenset(states.values()))
        return written

    def _known(self, node: Node) -> frozenset[str]:
        return frozenset(finding.code for finding in self.open_findings.get(node.id, ()))

    def _say(self, look: Look, about: Sequence[str], said: Sequence[signs.Sign]) -> None:
        """Open and renew what is said of a node, and close what else was open about the same."""
        node = look.node
        known = {finding.code: finding for finding in self.open_findings.get(node.id, ())}
        kept = [finding for finding in known.values() if finding.code not in about]
        for sign in said:
            finding = known.get(sign.code)
            if finding is None or (finding.sentence, finding.severity) != (sign.sentence, sign.severity):
                finding = findings.found(
                    cluster=node.cluster,
                    subject=node.id,
                    subject_name=node.name,
                    code=sign.code,
                    severity=sign.severity,
                    sentence=sign.sentence,
                    hint=sign.hint,
                    since=_silent_since(known) if sign.code in signs.DEATHS else None,
                )
                log.warning("found", code=sign.code, node_id=node.id, cluster_id=node.cluster_id, says=sign.sentence)
            kept.append(finding)
        over = [code for code in known if code in about and code not in {sign.code for sign in said}]
        if over:
            findings.over(subject=node.id, codes=over)
        if kept:
            self.open_findings[node.id] = kept
        else:
            self.open_findings.pop(node.id, None)

    def _forget_the_gone(self) -> None:
        """Close what is open about nodes that have ended: replaced, removed, or deleted with their cluster."""
        if not self.open_findings:
            return
        subjects = set(self.open_findings)
        living = set(Node.objects.filter(id__in=subjects, deleted_at=None).values_list("id", flat=True))
        for subject in subjects - living:
            findings.over(subject=subject, codes=[finding.code for finding in self.open_findings.pop(subject)])


def _silent_since(known: Mapping[str, Finding]) -> datetime | None:
    """A death begins with silence: engines agree on it some 20 s later, which is not time of grace once more."""
    silent = known.get(signs.AGENT_SILENT)
    return None if silent is None else max(silent.first_seen_at, timezone.now() - SILENCE_COUNTS)


def serving() -> QuerySet[Cluster]:
    worked_on = (
        Operation.objects.filter(~Q(cluster_id=""), cluster_id=OuterRef("id"), exclusive=True, state__in=OPEN)
        .order_by()
        .values("id")[:1]
    )
    found: QuerySet[Cluster] = (
        Cluster.objects.filter(deleted_at=None, state__in=SERVING)
        .defer("ca_certificate", "options", "settings")
        .annotate(operation_id=Subquery(worked_on))
    )
    return found


def _trouble() -> Q:
    not_up = Node.objects.filter(~Q(state=NodeState.UP), deleted_at=None).values("cluster_id")
    return Q(state=ClusterState.DEGRADED) | Q(id__in=not_up)


def _open_findings() -> list[Finding]:
    codes = (*signs.ABOUT_STATE, *signs.ABOUT_FACTS)
    return list(Finding.objects.filter(state=FindingState.OPEN, code__in=codes, cluster__isnull=False))


def nodes_of(clusters: Sequence[Cluster], *, stale_after: timedelta) -> dict[str, list[Node]]:
    """Living nodes by cluster id, in their order, each with `is_stale`, its cluster and its data centre. One query."""
    by_id = {cluster.id: cluster for cluster in clusters}
    # Tokens are long, and nothing here needs them.
    nodes = (
        Node.objects.filter(cluster_id__in=list(by_id), deleted_at=None)
        .select_related("datacenter")
        .defer("tokens", "machine_id", "machine_type", "is_seed", "datacenter__zones")
        .order_by("position")
    )
    now = timezone.now()
    members: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        node.cluster = by_id[node.cluster_id]
        vars(node)["is_stale"] = node.observed_at is None or now - node.observed_at > stale_after
        members[node.cluster_id].append(node)
    return members


def nodes_in_work(clusters: Sequence[Cluster]) -> dict[str, frozenset[str]]:
    """Ids of the nodes that the exclusive operation on a cluster works on now, by cluster id."""
    operations = {vars(cluster)["operation_id"]: cluster.id for cluster in clusters if vars(cluster)["operation_id"]}
    if not operations:
        return {}
    steps = OperationStep.objects.filter(operation_id__in=list(operations)).order_by("operation_id", "position")
    plans: dict[str, list[OperationStep]] = defaultdict(list)
    for step in steps.only("operation_id", "position", "group", "state", "target"):
        plans[step.operation_id].append(step)
    return {
        cluster_id: frozenset(_targets_now(plans.get(operation_id, [])))
        for operation_id, cluster_id in operations.items()
    }


def _targets_now(plan: Sequence[OperationStep]) -> set[str]:
    running = {step.target for step in plan if step.state in (StepState.RUNNING, StepState.UNDOING)}
    if running:
        return running
    # Between two groups, also while it is paused: the node that was worked on last may still be drained, and the next
    # one may be taken down at any moment.
    done = [step for step in plan if step.state in (StepState.DONE, StepState.UNDONE)]
    pending = [step for step in plan if step.state == StepState.PENDING]
    last = {step.target for step in done if step.group == done[-1].group}
    return last | {step.target for step in pending if step.group == pending[0].group}


def _our_own_clock(looks: Sequence[Look]) -> int:
    """By how many milliseconds our clock is wrong, if it is: when most nodes of many say so, it is not theirs."""
    offsets = [look.clock_offset_ms for look in looks if look.clock_offset_ms is not None]
    middle = round(median(offsets)) if len(offsets) >= _CLOCKS_FOR_A_JUDGEMENT else 0
    if abs(middle) <= 500:
        return 0
    log.error("this machine's clock is wrong", by_ms=-middle, nodes_asked=len(offsets))
    return middle


def _corrected(look: Look, our_error_ms: int) -> Look:
    if not our_error_ms or look.clock_offset_ms is None:
        return look
    return replace(look, clock_offset_ms=look.clock_offset_ms - our_error_ms)


def _is_stale(node: Node) -> bool:
    stale: bool = vars(node)["is_stale"]
    return stale


def _observation(look: Look, verdict: Verdict) -> Observation | None:
    """What is to be written, or None: nothing has changed, and what is written is fresh enough."""
    node, status = look.node, look.status
    seen = Observation(
        node_id=node.id,
        before=NodeState(node.state),
        state=verdict.state,
        reason=verdict.reason,
        visible=False,
        clock_offset_ms=look.clock_offset_ms,
    )
    if status is not None:
        seen = _with_facts(seen, status)
    visible = (seen.state, seen.reason) != (node.state, node.state_reason) or any(
        getattr(seen, name) not in ("", getattr(node, name))
        for name in ("host_id", "engine_version", "agent_version", "running_revision")
    )
    visible = visible or (
        seen.engine_certificate_expires_at is not None
        and seen.engine_certificate_expires_at != node.engine_certificate_expires_at
    )
    if not visible and not _is_stale(node) and not _facts_moved(node, seen):
        return None
    if verdict.state != node.state:
        log.info(
            "node changed", node_id=node.id, cluster_id=node.cluster_id, state=verdict.state, reason=verdict.reason
        )
    return replace(seen, visible=visible)


def _with_facts(seen: Observation, status: Status) -> Observation:
    disk = status.disk
    return replace(
        seen,
        host_id=status.ring.host_id if status.ring is not None else "",
        engine_version=status.engine_version,
        agent_version=status.agent_version,
        running_revision=status.running_revision,
        disk_total_bytes=None if disk is None else disk.total_bytes,
        disk_free_bytes=None if disk is None else disk.free_bytes,
        data_bytes=None if disk is None or not disk.data_bytes else disk.data_bytes,
        engine_certificate_expires_at=_whole_second(status.engine_certificate_expires_at),
    )


def _whole_second(when: datetime | None) -> datetime | None:
    return None if when is None else when.replace(microsecond=0)


def _facts_moved(node: Node, seen: Observation) -> bool:
    if seen.disk_free_bytes is not None:
        before = node.disk_free_bytes
        if before is None or abs(before - seen.disk_free_bytes) > _DISK_NOISE * (seen.disk_total_bytes or 0):
            return True
    if seen.clock_offset_ms is None:
        return False
    return node.clock_offset_ms is None or abs(node.clock_offset_ms - seen.clock_offset_ms) > _CLOCK_NOISE_MS


def _vouched(node: Node) -> Observation:
    return Observation(
        node_id=node.id,
        before=NodeState(node.state),
        state=NodeState(node.state),
        reason=node.state_reason,
        visible=False,
    )


def _judge_as_a_whole(cluster: Cluster, states: frozenset[NodeState]) -> None:
    """`states`: of the nodes that no operation works on."""
    if states & NOT_SERVING:
        if cluster.state == ClusterState.ACTIVE and lifecycle.cluster_degraded(cluster.id):
            log.error("cluster degraded", cluster_id=cluster.id)
        return
    well = NodeState.UP in states and vars(cluster)["operation_id"] is None
    if well and cluster.state == ClusterState.DEGRADED and lifecycle.cluster_recovered(cluster.id):
        log.info("cluster recovered", cluster_id=cluster.id)
