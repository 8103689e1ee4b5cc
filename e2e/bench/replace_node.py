"""Seconds from the SIGKILL of a node's machine until the ring is whole again, against a bare replacement.

Three nodes in three zones hold 1 GiB at replication factor 3. Everything on a machine is killed and nothing starts it
again, while its provider goes on calling it running. Ours is self-healing: it must notice that the machine is dead,
wait for its grace time (the smallest that the API takes), fence the machine, make another, have it take over the tokens
and the data, and prove it. The other side starts the replacement at the very instant of the kill, by hand, with the
shortened waits that are only right when the dead machine is known to be gone. Both end when all three nodes agree on
the ring and sampled rows are read at ALL. Prints one JSON object as its last line.

    python -m e2e.bench.replace_node [--pairs 3] [--side both] [--mebibytes 1024]
"""

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from backend.clusters.tokens import allocate
from e2e.bench.bare_ring import REPLACING, BareRing, bare_ring, take_blueprints
from e2e.bench.filling import fill, read_at_all, sample, wait_until_quiet
from e2e.bench.sides import Figures, parser
from e2e.product import order, product, wait_for_step
from e2e.trials.application import Connecting
from e2e.trials.clusters import addresses, connecting, nodes
from e2e.trials.driver_under_change import GRACE_SECONDS, hang, wait_for_replacement

MOST_RATIO = 1.5
_MACHINE = "local.medium"
_SAMPLE_SECONDS = 120.0


def main() -> int:
    options = parser(__doc__ or "", pairs=3)
    options.add_argument("--mebibytes", type=int, default=1024)
    given = options.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch, ExitStack() as stack:
        place = Path(scratch)
        run = place / "run"
        api = stack.enter_context(product(run))
        measure_bare = measure_ours = None
        if given.side != "ours":
            # Four blueprints, one of them for the replacement; zones do not matter to a node that has all the data.
            blueprints, known = take_blueprints(
                api, run, place / "bare", zones=["local-1a"], nodes_per_zone=4, machine_type=_MACHINE
            )
            ring = stack.enter_context(bare_ring(blueprints, known, place / "kept"))
            rows = prepare_bare(ring, mebibytes=given.mebibytes)

            def measure_bare() -> float:
                return replace_bare(ring, rows)

        if given.side != "bare":
            cluster, ours, held = prepare_ours(api, mebibytes=given.mebibytes)

            def measure_ours() -> float:
                return replace_ours(api, run, cluster, ours, held)

        figures.run(given.pairs, measure_ours, measure_bare)
    return figures.tell(
        "replace_node",
        most_ratio=MOST_RATIO,
        notes=f"SIGKILL to whole and read at ALL, {given.mebibytes} MiB, RF 3, {GRACE_SECONDS} s of grace in ours",
    )


def prepare_ours(api: httpx.Client, *, mebibytes: int) -> tuple[str, Connecting, int]:
    cluster, _ = order(api, machine_type=_MACHINE)
    known = connecting(api, cluster)
    healing = {"mode": "act", "grace_seconds": GRACE_SECONDS, "replacements_per_day": 100}
    api.patch(f"/clusters/{cluster}", json={"healing": healing}).raise_for_status()
    rows = fill(known, mebibytes=mebibytes)
    wait_until_quiet(known, known.contact_points)
    return cluster, known, rows


def replace_ours(api: httpx.Client, run: Path, cluster: str, known: Connecting, rows: int) -> float:
    victim = min(nodes(api, cluster), key=lambda node: str(node["id"]))
    wait_until_quiet(known, addresses(api, cluster))
    began = time.monotonic()
    hang(run, victim["id"])
    operation = wait_for_replacement(api, cluster, victim["id"])
    wait_for_step(api, operation, "prove_node")
    _read_sample(known, addresses(api, cluster), rows)
    return time.monotonic() - began


def prepare_bare(ring: BareRing, *, mebibytes: int) -> int:
    [three] = allocate(racks=1, nodes_per_rack=3)
    ring.form(3, three)
    rows = fill(ring.known, mebibytes=mebibytes)
    wait_until_quiet(ring.known, [one.address for one in ring.blueprints[:3]])
    ring.keep()
    seeds = [one.address for one in ring.blueprints[:2]]
    ring.configure(ring.blueprints[3], tokens=three[2], seeds=seeds, bootstrap=True)
    return rows


def replace_bare(ring: BareRing, rows: int) -> float:
    ring.bring_back()
    first, second, victim, new = ring.blueprints
    wait_until_quiet(ring.known, [first.address, second.address, victim.address])
    began = time.monotonic()
    ring.kill(victim)
    ring.start(new, {**REPLACING, "replace_address_first_boot": victim.address})
    members = [first.address, second.address, new.address]
    ring.wait_until_agreed([new.address], members=members)
    ring.wait_until_agreed(members)
    _read_sample(ring.known, members, rows)
    return time.monotonic() - began


def _read_sample(known: Connecting, members: list[str], rows: int) -> None:
    """Return when all sampled rows are read at ALL. TimeoutError when some never are."""
    keys, give_up_at = sample(rows), time.monotonic() + _SAMPLE_SECONDS
    while (found := read_at_all(known, keys, contact_points=members)) != len(keys):
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"{found} of {len(keys)} sampled rows are read at ALL after {_SAMPLE_SECONDS:.0f} s")
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
