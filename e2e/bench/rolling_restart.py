"""Seconds of a rolling restart of three nodes under load, against the sum of three bare drain-and-starts.

Both sides run the application of the trials (two writers and two readers at QUORUM, replication factor 3). Ours is
one operation, from the API request to its end: each node is drained, stopped, started and proved before the next. The
other side does it by hand: SIGTERM, which drains the engine; wait for its end; start it; wait until rows are read at
ALL through every node, because before that the next may not go. No call of the application may fail in ours. Prints
one JSON object as its last line.

    python -m e2e.bench.rolling_restart [--pairs 3] [--side both]
"""

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from backend.clusters.tokens import allocate
from e2e.bench.bare_ring import BareRing, bare_ring, take_blueprints
from e2e.bench.sides import Figures, parser
from e2e.product import change, follow, order, product
from e2e.trials.application import Connecting, Running, application
from e2e.trials.clusters import addresses, connecting, wait_until_all_serve

MOST_RATIO = 1.3


def main() -> int:
    given = parser(__doc__ or "", pairs=3).parse_args()
    figures = Figures()
    failed: list[int] = []
    bare_failed: list[int] = []
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch, ExitStack() as stack:
        place = Path(scratch)
        run = place / "run"
        api = stack.enter_context(product(run))
        measure_bare = measure_ours = None
        if given.side != "ours":
            blueprints, known = take_blueprints(api, run, place / "bare")
            ring = stack.enter_context(bare_ring(blueprints, known, place / "kept"))
            ring.form(3, [tokens for [tokens] in allocate(racks=3, nodes_per_rack=1)])
            theirs = stack.enter_context(application(known, log=place / "bare.log"))

            def measure_bare() -> float:
                return restart_bare(ring, theirs, bare_failed)

        if given.side != "bare":
            cluster, _ = order(api)
            ours = connecting(api, cluster)
            running = stack.enter_context(application(ours, log=place / "ours.log"))

            def measure_ours() -> float:
                return restart_ours(api, cluster, ours, running, failed)

        figures.run(given.pairs, measure_ours, measure_bare)
    return figures.tell(
        "rolling_restart",
        most_ratio=MOST_RATIO,
        good=not any(failed),
        notes=f"three nodes under load; failed calls: ours {sum(failed)}, bare {sum(bare_failed)}",
    )


def restart_ours(api: httpx.Client, cluster: str, known: Connecting, running: Running, failed: list[int]) -> float:
    """Adds the failed calls of the application to `failed`."""
    wait_until_all_serve(known, addresses(api, cluster))
    running.begin()
    began = time.monotonic()
    follow(api, change(api, cluster, "rolling_restart"))
    seconds = time.monotonic() - began
    _count(running, failed)
    return seconds


def restart_bare(ring: BareRing, running: Running, failed: list[int]) -> float:
    members = [one.address for one in ring.blueprints]
    wait_until_all_serve(ring.known, members)
    running.begin()
    seconds = 0.0
    for one in ring.blueprints:
        began = time.monotonic()
        ring.stop(one)
        ring.start(one, {})
        wait_until_all_serve(ring.known, members)
        seconds += time.monotonic() - began
    _count(running, failed)
    return seconds


def _count(running: Running, failed: list[int]) -> None:
    counted = running.report()
    if not counted.acknowledged:
        raise RuntimeError("the application did nothing: there was no load")
    failed.append(counted.failed)
    for error in counted.errors:
        print(f"  {error}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
