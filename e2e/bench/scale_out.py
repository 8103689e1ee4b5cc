"""Seconds from the API request until a fourth node is proved in a ring of three with 1 GiB, against a bare join.

All nodes are in one zone and the data has replication factor 3, so that one node can be added: it takes over three
quarters of a GiB. Ours is the whole product: order over HTTP, worker, machine, enrolment, the node held back until it
sees ring and schema, streaming, check of its data, proof. The other side is a script that starts the fourth JVM by
hand in a ring of the same kind (same command lines, keys, settings, tokens, shortened timers, no limit on streaming)
and waits until every node sees it and rows are read at ALL through it. Afterwards it looks at the disk: a join that
streamed nothing would be quick. Prints one JSON object as its last line.

    python -m e2e.bench.scale_out [--pairs 3] [--side both] [--mebibytes 1024]
"""

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from backend.clusters.tokens import allocate, allocate_more
from e2e.bench.bare_ring import JOINING, BareRing, bare_ring, data_bytes, take_blueprints
from e2e.bench.filling import fill, read_at_all, sample, wait_until_quiet
from e2e.bench.sides import Figures, parser
from e2e.product import change, follow, order, product, wait_for_step
from e2e.trials.application import Connecting
from e2e.trials.clusters import addresses, connecting

MOST_RATIO = 1.25
_ZONE = ["local-1a"]
_MACHINE = "local.medium"


def main() -> int:
    options = parser(__doc__ or "", pairs=3)
    options.add_argument("--mebibytes", type=int, default=1024)
    given = options.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch, ExitStack() as stack:
        place = Path(scratch)
        api = stack.enter_context(product(place / "run"))
        measure_bare = measure_ours = None
        if given.side != "ours":
            blueprints, known = take_blueprints(
                api, place / "run", place / "bare", zones=_ZONE, nodes_per_zone=4, machine_type=_MACHINE
            )
            ring = stack.enter_context(bare_ring(blueprints, known, place / "kept"))
            rows = prepare_bare(ring, mebibytes=given.mebibytes)

            def measure_bare() -> float:
                return join_bare(ring, rows)

        if given.side != "bare":
            cluster, ours, held = prepare_ours(api, mebibytes=given.mebibytes)

            def measure_ours() -> float:
                return join_ours(api, cluster, ours, held)

        figures.run(given.pairs, measure_ours, measure_bare)
    return figures.tell(
        "scale_out", most_ratio=MOST_RATIO, notes=f"API request to proved, 3 to 4 nodes, {given.mebibytes} MiB, RF 3"
    )


def prepare_ours(api: httpx.Client, *, mebibytes: int) -> tuple[str, Connecting, int]:
    cluster, _ = order(api, zones=_ZONE, nodes_per_zone=3, machine_type=_MACHINE)
    known = connecting(api, cluster)
    rows = fill(known, mebibytes=mebibytes)
    wait_until_quiet(known, known.contact_points)
    return cluster, known, rows


def join_ours(api: httpx.Client, cluster: str, known: Connecting, rows: int) -> float:
    """Scale out to four nodes, measured until the new one is proved; then back to three."""
    began = time.monotonic()
    operation = change(api, cluster, "scale", nodes_per_zone=4)
    wait_for_step(api, operation, "prove_node")
    seconds = time.monotonic() - began
    follow(api, operation)
    _check_sample(known, rows)
    follow(api, change(api, cluster, "scale", nodes_per_zone=3))
    wait_until_quiet(known, addresses(api, cluster))
    return seconds


def prepare_bare(ring: BareRing, *, mebibytes: int) -> int:
    """Three nodes with the data, stopped and kept; the fourth has its configuration. How many rows they hold."""
    [three] = allocate(racks=1, nodes_per_rack=3)
    ring.form(3, three)
    rows = fill(ring.known, mebibytes=mebibytes)
    wait_until_quiet(ring.known, [one.address for one in ring.blueprints[:3]])
    ring.keep()
    seeds = [one.address for one in ring.blueprints[:3]]
    tokens = allocate_more({str(number): tokens for number, tokens in enumerate(three)}, ["new"])["new"]
    ring.configure(ring.blueprints[3], tokens=tokens, seeds=seeds, bootstrap=True)
    return rows


def join_bare(ring: BareRing, rows: int) -> float:
    """Start the fourth node in the ring of three: the seconds until all agree and it serves at ALL."""
    ring.bring_back()
    new = ring.blueprints[3]
    everyone = [one.address for one in ring.blueprints]
    wait_until_quiet(ring.known, everyone[:3])
    began = time.monotonic()
    ring.start(new, JOINING)
    ring.wait_until_agreed([new.address], members=everyone)
    ring.wait_until_agreed(everyone)
    ring.prove(new.address)
    seconds = time.monotonic() - began
    held = data_bytes(ring.blueprints[0])
    if data_bytes(new) < held / 2:
        raise RuntimeError(f"the bare join took over {data_bytes(new)} bytes of {held}: it has lost data")
    _check_sample(ring.known, rows)
    return seconds


def _check_sample(known: Connecting, rows: int) -> None:
    keys = sample(rows)
    found = read_at_all(known, keys)
    if found != len(keys):
        raise RuntimeError(f"{found} of {len(keys)} sampled rows are read at ALL")


if __name__ == "__main__":
    sys.exit(main())
