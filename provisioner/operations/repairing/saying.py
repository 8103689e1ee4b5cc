"""What a run of repairs says while it goes on, and when it ends without the rest."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.clusters.windows import Window
from backend.repairs.models import RepairSegment
from backend.repairs.planning.pace import (
    Effort,
)
from backend.repairs.states import RepairSegmentState
from provisioner.operations.base import Outcome, Wait
from provisioner.operations.repairing.live import Live, forget, share_done, written
from provisioner.operations.repairing.look import ask_all

LOOK = 0.5
"""Seconds between two looks at what runs."""
# How long replicas that are down are waited for when nothing else is left.
DOWN_PATIENCE = timedelta(minutes=15)


def say(
    live: Live,
    nodes: Mapping[str, Node],
    pace: Effort,
    windows: Sequence[Window],
    now: datetime,
    *,
    pause_wanted: bool,
) -> Outcome:
    done = share_done(live)
    if live.rows:
        going = len(live.rows)
        words = f"{going} segment{'s' if going > 1 else ''} running; {live.run.segments_done} done"
        if pause_wanted:
            return Wait(LOOK, f"{words}; it pauses when these have ended", done)
        at_once = max(1, min(going, len(nodes)))
        eta = sum(bundle.seconds_left for bundle in live.queue.bundles) / at_once / pace.duty if not windows else None
        return Wait(LOOK, words, done, eta_seconds=eta)
    note, seconds, only_down = _why_nothing_runs(live, nodes, now)
    if not only_down:
        if live.run.note != note or live.run.idle_since is not None:
            written(live, note=note, idle_since=None)
        return Wait(seconds, note, done)
    since = live.run.idle_since
    # Whoever stopped a node on purpose does not start it for a repair.
    stopped = any(node.state == NodeState.STOPPED for node in nodes.values())
    if since is None and not stopped:
        written(live, note=note, idle_since=now)
    elif stopped or (since is not None and now - since > DOWN_PATIENCE):
        _give_up_the_rest(live, note, now)
        return Wait(0, "It ends without the ranges whose replicas are down", done)
    return Wait(5, note, done)


def _why_nothing_runs(live: Live, nodes: Mapping[str, Node], now: datetime) -> tuple[str, float, bool]:
    """In words; in how many seconds to look again; and whether replicas that are down are all that is waited for."""
    if live.run.brake.get("holds"):
        return f"Nothing new is started: {live.run.brake.get('reason')}", 5, False
    if live.busy_elsewhere:
        return "A repair that somebody else began is waited for", 5, False
    rest = min((at for at in live.slots.rests_until.values() if at > now.timestamp()), default=None)
    if rest is not None:
        return "The nodes rest between segments", max(LOOK, min(rest - now.timestamp(), 10)), False
    again = live.queue.next_try()
    if again is not None and again > now.timestamp():
        return "What failed is tried again soon", max(LOOK, min(again - now.timestamp(), 10)), False
    down = [node.name for node in nodes.values() if node.state != NodeState.UP or node.id in live.silent_since]
    for node_id in list(live.silent_since):
        if _answers(nodes.get(node_id)):
            del live.silent_since[node_id]
    return f"Replicas that are down are waited for: {', '.join(down) or 'some'}", 5, True


def _answers(node: Node | None) -> bool:
    """Whether a node that was silent answers again, or is none of ours any more."""
    return node is None or bool(ask_all([node], lambda agent: agent.status()))


def _give_up_the_rest(live: Live, why: str, now: datetime) -> None:
    waiting = list(live.run.segments.filter(state=RepairSegmentState.WAITING))
    for row in waiting:
        row.state = RepairSegmentState.REPLACED
    fresh = [
        RepairSegment(
            run=live.run,
            keyspace=table.keyspace,
            tables=[table.name],
            mode=live.queue.works[table].mode,
            ranges=[list(own) for own in ranges],
            nodes=[],
            coordinator="",
            state=RepairSegmentState.GIVEN_UP,
            finished_at=now,
            error_code="replica-down",
            error=why,
        )
        for table, ranges in live.queue.left().items()
        if ranges
    ]
    written(live, changed=waiting, fresh=fresh, segments_given_up=live.run.segments_given_up + len(fresh))
    forget(live.run.id)


def closed(live: Live, opens: datetime | None, now: datetime) -> Wait:
    if opens is None:
        words, seconds = "Waits for a window, and none opens: change the windows", 60.0
    else:
        words, seconds = f"Waits for the window that opens at {opens:%Y-%m-%d %H:%M} UTC", (opens - now).total_seconds()
    if live.run.note != words:
        written(live, note=words)
    return Wait(min(60.0, max(1.0, seconds)), words, share_done(live))


def summary(live: Live) -> str:
    given_up = f", {live.run.segments_given_up} given up" if live.run.segments_given_up else ""
    return f"{live.run.segments_done} segments repaired{given_up}"
