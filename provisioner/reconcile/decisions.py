"""What is to be done about a finding, or why nothing is. Pure: a situation in, a decision out.

The rules for a replacement, which is the one thing that cannot be taken back: only after the cluster's grace time, only
one at a time and so many a day, only while a majority of the cluster is seen, only when QUORUM holds without the node,
never beside another operation that has the cluster to itself, and not when a whole zone is away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from backend.clusters import quorum
from backend.clusters.models import Cluster, Node
from backend.clusters.states import HealingMode, NodeState
from backend.clusters.windows import Window, is_open, next_opening
from backend.findings.models import Finding
from provisioner.reconcile import signs
from provisioner.reconcile.looks import Look, MachineFact
from provisioner.reconcile.verdicts import Verdict

# What is left of the time before a machine's retirement when a replacement does not wait for a window any more: it may
# stream for hours.
LEAST_NOTICE = timedelta(hours=12)
# Seconds after an engine's end at which the control plane starts it itself. Before, and in between, its agent does.
START_ENGINE_AFTER = (10, 60, 300, 900, 3600)


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A finding and all that counts for what to do about it, looked at just now.

    `age_seconds`: since it was first seen. `busy_with`: the operation that has the cluster to itself, in words.
    `worked_on`: whether that operation is at this node. `is_being_healed`: whether what was started about the finding
    still runs. `verdicts` and `looks` are by node id.
    """

    finding: Finding
    cluster: Cluster
    node: Node
    nodes: Sequence[Node]
    looks: Mapping[str, Look]
    verdicts: Mapping[str, Verdict]
    age_seconds: float
    busy_with: str = ""
    worked_on: bool = False
    is_being_healed: bool = False
    replaced_today: int = 0
    zone_lost: bool = False
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    windows: Sequence[Window] = ()
    """The cluster's maintenance windows, where the finding is about something that can wait for one."""

    @property
    def look(self) -> Look:
        return self.looks[self.node.id]

    @property
    def verdict(self) -> Verdict:
        return self.verdicts[self.node.id]


@dataclass(frozen=True)
class Nothing:
    """Nothing is done; `why` is shown with the finding. Empty: what is shown there stays."""

    why: str


@dataclass(frozen=True)
class StartMachine:
    pass


@dataclass(frozen=True)
class StartEngine:
    """`attempt` counts from 1; the same attempt may be asked for again and again."""

    attempt: int


@dataclass(frozen=True)
class Replace:
    pass


@dataclass(frozen=True)
class PauseHeavyWork:
    pass


Decision = Nothing | StartMachine | StartEngine | Replace | PauseHeavyWork

ONLY_TOLD = "Nothing is done: healing of this cluster is switched to telling only."


HELD = (
    "Nothing is done: the control plane's own database was restored, so this cluster may have been changed or deleted "
    "since. Whoever runs the installation looks, and lets healing go on (manage.py resume_healing)."
)


def decide(situation: Situation) -> Decision:
    if situation.cluster.healing_held:
        return Nothing(HELD)
    if situation.cluster.healing_mode == HealingMode.TELL:
        return Nothing(ONLY_TOLD)
    if situation.is_being_healed:
        return Nothing("")
    code = situation.finding.code
    if code == signs.DISK_FILLING:
        return _about_disk(situation)
    if situation.worked_on:
        return Nothing(f"Left to the operation that works on it: {situation.busy_with}.")
    if code == signs.DATA_LOST:
        return _about_lost_data(situation)
    if situation.node.stop_wanted:
        return Nothing("Someone stopped this node, so it is neither started nor replaced by itself.")
    if code == signs.ENGINE_DOWN:
        return _about_engine(situation)
    if code == signs.MACHINE_RETIRING:
        return _about_retirement(situation)
    return _about_death(situation)


def _about_disk(situation: Situation) -> Decision:
    status = situation.look.status
    if status is None or status.disk is None or signs.used_percent(status.disk) < signs.DISK_STOPS_WORK:
        return Nothing("")
    return PauseHeavyWork()


def _about_lost_data(situation: Situation) -> Decision:
    if situation.verdict.state is not NodeState.DATA_LOST:
        return Nothing("")
    return _replacement(situation)


def _about_engine(situation: Situation) -> Decision:
    if situation.verdict.state is not NodeState.DOWN or situation.look.status is None:
        return Nothing("")
    attempt = sum(1 for seconds in START_ENGINE_AFTER if situation.age_seconds >= seconds)
    return StartEngine(attempt) if attempt else Nothing("Its agent starts the engine again by itself.")


def _about_retirement(situation: Situation) -> Decision:
    """In a maintenance window if one begins long enough before, else at once: the date does not wait for windows."""
    if situation.verdict.state is not NodeState.UP:
        return Nothing(
            "It is not replaced for what is announced while it does not serve: that has a finding of its own."
        )
    if not is_open(situation.windows, situation.now):
        opens, due = next_opening(situation.windows, situation.now), situation.finding.due_at
        if opens is not None and (due is None or opens <= due - LEAST_NOTICE):
            return Nothing(f"It is replaced in the maintenance window that begins at {opens:%Y-%m-%d %H:%M} UTC.")
    # It serves until the new one has all its data, so no row is without a replica meanwhile, however many there are.
    return _replacement(situation, losing=False)


def _about_death(situation: Situation) -> Decision:
    if situation.verdict.state is not NodeState.DOWN or situation.look.status is not None:
        return Nothing("")
    grace = situation.cluster.healing_grace_seconds
    if situation.age_seconds < grace:
        if situation.look.machine is MachineFact.STOPPED:
            return StartMachine()
        return Nothing(f"It is replaced when it has been dead for {grace} s.")
    if situation.look.machine is MachineFact.UNKNOWN:
        return Nothing(
            "It is not replaced: its provider does not answer, so nobody could see to it that the old machine is off."
        )
    return _replacement(situation)


def _replacement(situation: Situation, *, losing: bool = True) -> Decision:
    """`losing`: what the node has cannot be asked of it any more."""
    for rule in (_waits_for_operation, _majority_unseen, _quorum_at_risk, _zone_lost, _enough_for_today):
        if (losing or rule is not _quorum_at_risk) and (why := rule(situation)):
            return Nothing(why)
    return Replace()


def _waits_for_operation(situation: Situation) -> str:
    return f"Its replacement waits for another operation: {situation.busy_with}." if situation.busy_with else ""


def _majority_unseen(situation: Situation) -> str:
    up = sum(1 for verdict in situation.verdicts.values() if verdict.state is NodeState.UP)
    total = len(situation.nodes)
    if up * 2 > total:
        return ""
    return (
        f"It is not replaced: only {up} of {total} nodes are seen to be up, and without a majority nobody knows which "
        "side of a cut this is."
    )


def _quorum_at_risk(situation: Situation) -> str:
    missing = [
        node
        for node in situation.nodes
        if node.id != situation.node.id and situation.verdicts[node.id].state is not NodeState.UP
    ]
    replicas = len(situation.node.datacenter.zones)
    left = quorum.left_without(_place(situation.node), replicas=replicas, down=[_place(node) for node in missing])
    needed = quorum.needed(replicas)
    if left >= needed:
        return ""
    return (
        f"It is not replaced by itself: {left} of {replicas} replicas of some rows are up and QUORUM needs {needed}, "
        "so writes that only this node has could be lost. Start what is down first, or order the replacement yourself."
    )


def _zone_lost(situation: Situation) -> str:
    if not situation.zone_lost:
        return ""
    return (
        f"It is not replaced: most nodes in {situation.node.zone} are dead, so the zone is probably away and comes "
        "back with their data."
    )


def _enough_for_today(situation: Situation) -> str:
    most = situation.cluster.healing_replacements_per_day
    if situation.replaced_today < most:
        return ""
    return (
        f"It is not replaced: {situation.replaced_today} nodes of this cluster were replaced by themselves within a "
        f"day, and its healing settings allow {most}."
    )


def _place(node: Node) -> quorum.Place:
    return quorum.Place(node.id, node.datacenter_id, node.zone)
