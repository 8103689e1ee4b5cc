"""What it takes to plan a run of repairs on the largest ring: 1,000 nodes of 256 vnodes, 100 tables. Pure computing.

The ring is given as an agent gives it, a list of ranges with their replicas; making that up is not measured. Measured:
grouping it by sets of replicas, queueing 100 tables from 10 MiB to 10 TiB in ten keyspaces of two ways of replication,
foretelling segments and hours of the run, and handing out the first round of segments until every node is busy. Then,
not measured, all other segments are cut once: that each range of each table is in one of them is checked by the tokens
that they cover together, and is fatal when wrong.
Peak memory is that of the whole process. Prints one JSON object as its last line.

    python -m e2e.bench.repair_planning [--nodes 1000] [--vnodes 256] [--tables 100]
"""

import argparse
import json
import random
import resource
import sys
import time

from backend.repairs.planning import tokens
from backend.repairs.planning.forecast import forecast
from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import MIB, effort
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.segments import Segment, Slots, Table, Work

MOST_SECONDS = 10.0
MOST_MIB = 500
KEYSPACES = 10
FACTORS = (3, 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--vnodes", type=int, default=256)
    parser.add_argument("--tables", type=int, default=100)
    given = parser.parse_args()
    told = [_told(given.nodes, given.vnodes, factor) for factor in FACTORS]
    works = _works(given.tables)

    began = time.process_time()
    rings = [Ring.of(ranges) for ranges in told]
    by_keyspace = {f"k{at}": rings[at % len(rings)] for at in range(KEYSPACES)}
    queue = Queue(by_keyspace, works)
    told_of = forecast(queue, effort(100))
    foretold = time.process_time() - began
    slots, first_round = Slots(), list[Segment]()
    while (taken := queue.take(slots, now=0.0)) is not None:
        slots.start(taken)
        first_round.append(taken)
    seconds = time.process_time() - began
    segments = len(first_round)
    covered = sum(tokens.width(own.ranges) * len(own.tables) for own in first_round)
    for segment in queue.segments():
        segments += 1
        covered += tokens.width(segment.ranges) * len(segment.tables)
    cut = time.process_time() - began - seconds
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    if told_of.segments > segments or covered != given.tables * tokens.width(tokens.WHOLE):
        print("not every range of every table is planned once", file=sys.stderr)
        return 1
    print(
        json.dumps(
            {
                "name": "repair_planning",
                "ours": round(seconds, 2),
                "other": MOST_SECONDS,
                "unit": "s of CPU",
                "ratio": round(seconds / MOST_SECONDS, 3),
                "runs": 1,
                "notes": (
                    f"{given.nodes} nodes, {given.vnodes} vnodes, {given.tables} tables; {segments} segments; "
                    f"foretold after {foretold:.1f} s; first round of {len(first_round)} handed out; "
                    f"cutting all of them, which runs do as they go, {cut:.1f} s; "
                    f"peak memory {memory:.0f} MiB of {MOST_MIB}"
                ),
            }
        )
    )
    return 0 if seconds <= MOST_SECONDS and memory <= MOST_MIB else 1


def _told(nodes: int, vnodes: int, factor: int) -> list[tuple[int, int, list[str]]]:
    """Ranges with their replicas; nodes are dealt out to three racks, and each rack gets a replica first."""
    draw = random.Random(7)
    owners = sorted(
        (draw.randrange(tokens.FIRST + 1, tokens.LAST), node) for node in range(nodes) for _ in range(vnodes)
    )
    names = [f"node_{node:06}" for node in range(nodes)]
    found = []
    for at, (end, _) in enumerate(owners):
        replicas: list[int] = []
        racks: set[int] = set()
        step = at
        while len(replicas) < min(factor, nodes):
            node = owners[step % len(owners)][1]
            if node not in replicas and (node % 3 not in racks or len(racks) == 3):
                replicas.append(node)
                racks.add(node % 3)
            step += 1
        found.append((owners[at - 1][0], end, [names[node] for node in replicas]))
    return found


def _works(tables: int) -> list[Work]:
    draw = random.Random(11)
    return [
        Work(
            table=Table(f"k{at % KEYSPACES}", f"t{at}"),
            mode=RepairMode.FULL,
            bytes=round(10 * MIB * 10 ** draw.uniform(0, 6)),
            deadline=draw.uniform(0, 864_000),
        )
        for at in range(tables)
    ]


if __name__ == "__main__":
    sys.exit(main())
