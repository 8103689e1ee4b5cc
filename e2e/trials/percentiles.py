"""Percentiles that the product tells, beside those of a load driver: on real nodes, three shapes of tables.

Three loads run side by side (e2e/trials/load.py), one for each table, and trace what they ask. Then the API is asked
for the charts of each table over a time that holds the whole run in one point: *Latency as clients see it*, merged over
all nodes. It is held against

- `traced`: the percentiles of what coordinators noted of each single request, the same requests counted one by one;
- `buckets`: these numbers put into the buckets of the vocabulary and interpolated as Prometheus does;
- `felt`: what the program felt, which no node can know: with the driver, TLS, loopback and the queue of requests.
  `beyond`: how long the driver waits at the median for a statement that no replica is asked for.

A trace of a write covers what the engine counts as its latency. There the chart must say what `buckets` says, within a
twentieth, or what it would say with one trace more or less, since one may be lost: the way through histograms, scrapes
and the merge of nodes loses nothing. A trace of a read goes on after its
latency was counted, so the chart must not say more than a tenth above it. `beyond_a_tenth` names what differs more from
`traced`, either way: on a busy machine that is much.

Then one load runs by itself, untraced, on a cluster of one node and a journal of which each read filters thousands of
rows for one, so that nearly all the time that the program feels is the database's, and nothing else wants the cores.
There the chart must be within a tenth of the program's own percentiles. (Reads over deleted rows would not do: what a
coordinator makes of an answer comes after the engine has counted the latency.)
Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.percentiles
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from e2e.product import delete, order, product
from e2e.trials.clusters import connecting
from e2e.trials.load import KEYSPACE, Load, Samples, fill, percentile, side_by_side
from e2e.trials.told import next_span
from infra.metrics.vocabulary import SOURCE

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_SPAN_SECONDS, _WARM_UP_SECONDS = 150, 20.0
# Of a load's process until its first request, on a busy machine.
_STARTING_SECONDS = 25.0
_PACE = {"accounts": 30.0, "readings": 20.0, "documents": 15.0}
_JOURNAL_PACE, _JOURNAL_SPAN_SECONDS = 5.0, 300
_CHART = "table-coordinator-latency"
_WITHIN = 0.1
_EXACT = 0.05


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rm-percentiles-") as scratch, product(Path(scratch) / "run") as api:
        cluster, _ = order(api)
        known = connecting(api, cluster)
        fill(known, [*_PACE])
        side_by_side(known, [Load(shape=shape, seconds=_WARM_UP_SECONDS, per_second=_PACE[shape]) for shape in _PACE])
        span = next_span(_SPAN_SECONDS)
        span.wait()
        seconds = span.work_seconds - _STARTING_SECONDS
        nothing = Load(shape="nothing", seconds=seconds, per_second=10.0, write_share=0)
        loads = [Load(shape=shape, seconds=seconds, per_second=_PACE[shape], traced=True) for shape in _PACE]
        *measured, beyond = side_by_side(known, [*loads, nothing])
        told = {shape: span.told(api, cluster, (KEYSPACE, shape), [_CHART]) for shape in _PACE}
        delete(api, cluster)
        alone = _alone(api)
    found = _judged(dict(zip(_PACE, measured, strict=True)), told, percentile(beyond["read"], 0.5))
    away = [row["what"] for row in alone if abs(row["differs"]) > _WITHIN]
    good = found["good"] and not away
    print(json.dumps({"trial": "percentiles", **found, "good": good, "alone": alone, "off": found["off"] + away}))
    return 0 if good else 1


def _alone(api: httpx.Client) -> list[dict[str, Any]]:
    """The journal's reads on one node: what the program felt and what the chart says."""
    cluster, _ = order(api, zones=["local-1a"])
    known = connecting(api, cluster, replication=1)
    fill(known, ["journal"])
    reading = partial(Load, shape="journal", per_second=_JOURNAL_PACE, write_share=0)
    side_by_side(known, [reading(seconds=_WARM_UP_SECONDS)])
    span = next_span(_JOURNAL_SPAN_SECONDS)
    span.wait()
    (samples,) = side_by_side(known, [reading(seconds=span.work_seconds - _STARTING_SECONDS)])
    told = span.told(api, cluster, (KEYSPACE, "journal"), [_CHART])
    rows = []
    for name, share in SHARES.items():
        felt, ours = percentile(samples["read"], share), told[f"{_CHART} read {name}"] or 0.0
        rows.append(
            {
                "what": f"journal read {name}",
                "requests": len(samples["read"]),
                "told_ms": round(ours * 1e3, 3),
                "felt_ms": round(felt * 1e3, 3),
                "differs": round(ours / felt - 1, 3),
                "buckets": round(in_buckets(samples["read"], share) / felt - 1, 3),
            }
        )
    return rows


def in_buckets(samples: Sequence[float], share: float) -> float:
    """The percentile that Prometheus would tell of these samples in the buckets of requests of clients."""
    bounds: list[float] = json.loads(SOURCE.read_text())["bounds"]["client latency"]
    counts = [sum(1 for one in samples if one <= bound) for bound in bounds]
    rank = share * len(samples)
    place = next((index for index, count in enumerate(counts) if count >= rank), None)
    if place is None:
        return bounds[-1]
    low, before = (bounds[place - 1], counts[place - 1]) if place else (0.0, 0)
    return low + (bounds[place] - low) * (rank - before) / (counts[place] - before)


def _judged(measured: dict[str, Samples], told: dict[str, dict[str, float | None]], beyond: float) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    lost: list[str] = []
    for shape, samples in measured.items():
        for kind in ("read", "write"):
            traced, felt = samples[f"{kind} traced"], samples[kind]
            for name, share in SHARES.items():
                exact, ours = percentile(traced, share), told[shape][f"{_CHART} {kind} {name}"] or 0.0
                rows.append(
                    {
                        "what": f"{shape} {kind} {name}",
                        "requests": len(traced),
                        "told_ms": round(ours * 1e3, 3),
                        "traced_ms": round(exact * 1e3, 3),
                        "differs": round(ours / exact - 1, 3),
                        "buckets": round(in_buckets(traced, share) / exact - 1, 3),
                        "felt_ms": round(percentile(felt, share) * 1e3, 3),
                    }
                )
                if kind == "write" and not _is_of_buckets(ours, traced, share):
                    lost.append(rows[-1]["what"])
    above = [row["what"] for row in rows if row["differs"] > _WITHIN and " read " in row["what"]]
    return {
        "good": not lost and not above,
        "off": lost + above,
        "beyond_a_tenth": [row["what"] for row in rows if abs(row["differs"]) > _WITHIN],
        "beyond_ms": round(beyond * 1e3, 3),
        "rows": rows,
    }


def _is_of_buckets(told: float, traced: Sequence[float], share: float) -> bool:
    one = 1 / len(traced)
    low, high = in_buckets(traced, max(one, share - one)), in_buckets(traced, min(1.0, share + one))
    return low * (1 - _EXACT) <= told <= high * (1 + _EXACT)


if __name__ == "__main__":
    sys.exit(main())
