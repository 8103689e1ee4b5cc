"""How the nodes bear a run of repairs, and how fast they may send for it."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from backend.clusters.models import Node
from backend.repairs.models import RepairSchedule
from backend.repairs.planning.pace import (
    Brake,
    Load,
    Tolerance,
    braked,
    trouble_of,
)
from provisioner.agent.base import AgentRefused, Job
from provisioner.agent.repairs import NodeLoad, RepairActivity
from provisioner.operations.base import Outcome, Wait
from provisioner.operations.repairing.live import Live, written
from provisioner.operations.repairing.look import ask_all, side_by_side, up

LOAD_EVERY = 10.0
"""Seconds between two looks at how the nodes bear it."""
_MOST_LOOKED_AT = 48


def see_how_nodes_bear_it(live: Live, nodes: Mapping[str, Node], schedule: RepairSchedule, now: datetime) -> None:
    # In the row, as any of several processes may be the one that goes on.
    stored = live.run.brake
    looked = stored.get("looked", {"at": 0.0, "dropped": {}})
    if now.timestamp() - looked["at"] < LOAD_EVERY:
        return
    at_work = {node for segment in live.segments.values() for node in segment.nodes}
    serving = up(nodes.values())
    asked = sorted(serving, key=lambda node: node.id not in at_work)[:_MOST_LOOKED_AT]
    loads = ask_all(asked, lambda agent: agent.load())
    activities = ask_all(asked, lambda agent: agent.repairs())
    tolerance = Tolerance(read_p99_ms=schedule.read_p99_target_ms)
    trouble, holds = "", False
    dropped = dict(looked["dropped"])
    for node_id, load in loads.items():
        why, stops = trouble_of(_load(nodes[node_id], load, dropped.get(node_id)), tolerance)
        trouble, holds = trouble or why, holds or stops
        dropped[node_id] = _counted(load)
    brake = Brake(**{name: stored[name] for name in asdict(Brake()) if name in stored})
    after = braked(brake, trouble, holds=holds, now=now.timestamp())
    foreign = _foreign(live, nodes, activities)
    written(live, brake=asdict(after) | {"looked": {"at": now.timestamp(), "dropped": dropped}}, foreign=foreign)


def _counted(told: NodeLoad) -> list[Any]:
    """How many messages were dropped, and since which start of the engine."""
    return [told.engine_started_at.isoformat(), told.dropped_messages]


def _load(node: Node, told: NodeLoad, before: list[Any] | None) -> Load:
    started, count = before or _counted(told)
    return Load(
        node=node.name,
        pending_compactions=told.pending_compactions,
        dropped=max(0, told.dropped_messages - count) if started == told.engine_started_at.isoformat() else 0,
        read_p99_ms=told.read_p99_ms,
        # A machine that does not tell of its disk is not braked for it.
        disk_free_bytes=told.disk_free_bytes if told.disk_total_bytes else 2 * told.largest_table_bytes,
        disk_total_bytes=told.disk_total_bytes,
        largest_table_bytes=told.largest_table_bytes,
    )


def _foreign(live: Live, nodes: Mapping[str, Node], activities: Mapping[str, RepairActivity]) -> list[dict[str, Any]]:
    """Repairs that this run has not begun, and one of its own that was given up for lost and goes on all the same."""
    jobs = {row.job for row in live.rows.values()}
    ours = {one.id for activity in activities.values() for one in activity.repairs if one.job in jobs}
    addresses = {nodes[row.coordinator].address for row in live.rows.values() if row.coordinator in nodes}
    found = []
    for node_id, activity in sorted(activities.items()):
        for one in activity.repairs:
            mine = one.id in ours or (not one.job and one.coordinator in addresses)
            if not mine:
                found.append({"node_id": node_id, "keyspace": one.keyspace, "tables": list(one.tables)})
    return found


def set_pace(live: Live, nodes: Mapping[str, Node], mib_s: int | None) -> bool:
    """Sets what nodes may send, on those where it is not set yet; None: as configured. Whether all know."""
    pace = live.run.pace
    if pace.get("mib_s") != mib_s:
        number = int(pace.get("number", 0)) + 1
        pace = {"mib_s": mib_s, "number": number, "told": []}
        written(live, pace=pace)
    waiting = [node for node in up(nodes.values()) if node.id not in pace.get("told", ())]
    if not waiting or not pace:
        return True
    name = f"repair-pace-{live.run.id}-{pace['number']}"
    wanted = {"stream_mib_s": mib_s, "compaction_mib_s": None}
    answers = side_by_side(
        waiting, lambda node: node, lambda agent, _: agent.ensure_job(name, "set-throughput", wanted, wait_seconds=1.0)
    )
    told = [
        node.id
        for node, answer in zip(waiting, answers, strict=True)
        # An engine that has no such limits says so, and there is nothing to put back.
        if (isinstance(answer, Job) and answer.state != "running") or isinstance(answer, AgentRefused)
    ]
    if told:
        written(live, pace=pace | {"told": [*pace["told"], *told]})
    return len(told) == len(waiting)


def put_back(live: Live, nodes: Mapping[str, Node]) -> Outcome | None:
    """None when the nodes' limits are as configured. A node that is down has them so when it starts."""
    if not live.run.pace or set_pace(live, nodes, None):
        return None
    return Wait(1, "the nodes to have their limits back")
