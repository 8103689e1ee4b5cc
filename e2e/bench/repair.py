"""Seconds until a node that missed writes is healed by our catch-up, against `nodetool repair -full`.

Three real nodes with their agents and no control plane. Four equal tables of rows of 16 KiB, replication factor 3; no
hints. A tenth of the rows of three of them is written anew while one node is stopped. Then that node is healed: one
table by `nodetool repair -full` (in a JVM of its own, as people run it), one by two of our repair jobs that pull half
of the ranges from each peer, one by an incremental job, whose table was marked repaired before the damage. All limits
are the engine's own. Every stale row is read from the node itself afterwards. The fourth table is clean and is
repaired in full by both sides in turn, three counted rounds. Bytes are what all nodes received. Prints one JSON object
as its last line; `ratio` is the catch-up's time.

    python -m e2e.bench.repair [--mebibytes 128]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from infra.local.layout import layout

MOST_CATCH_UP = 0.4
MOST_CATCH_UP_BYTES = 0.3
MOST_INCREMENTAL = 0.15
MOST_CLEAN = 1.0
_GIVE_UP_MINUTES = 20
_TEST = "^TestRepairsAreMeasuredAgainstNodetool$"


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--mebibytes", type=int, default=128, help="of each of the four tables")
    given = options.parse_args()
    return tell(measured(given.mebibytes))


def measured(mebibytes: int) -> dict[str, Any]:
    """What the agent's test measured. RuntimeError when it failed."""
    place = layout()
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch:
        figures = Path(scratch) / "figures.json"
        command = (
            "go",
            "test",
            "-tags",
            "engine,bench",
            "-run",
            _TEST,
            "-v",
            "-count=1",
            f"-timeout={_GIVE_UP_MINUTES}m",
        )
        done = subprocess.run(
            [*command, "./cmd/agent"],
            cwd=place.checkout / "images" / "agent",
            env={
                **os.environ,
                "RINGMASTER_CACHE_DIR": str(place.engines),
                "RINGMASTER_REPAIR_FIGURES": str(figures),
                "RINGMASTER_TEST_MIB": str(mebibytes),
            },
            check=False,
            # The test ends its process group when it ends.
            start_new_session=True,
        )
        if done.returncode != 0 or not figures.is_file():
            raise RuntimeError("the repairs were not measured; see above")
        found: dict[str, Any] = json.loads(figures.read_text())
        return found


def tell(found: dict[str, Any]) -> int:
    theirs, pull, incremental = found["nodetool_full"], found["pull"], found["incremental"]
    clean = [statistics.median(one["seconds"] for one in found[side]) for side in ("clean_ours", "clean_nodetool")]
    ratios = {
        "catch-up time": (pull["seconds"] / theirs["seconds"], MOST_CATCH_UP),
        "catch-up bytes": (pull["bytes"] / theirs["bytes"], MOST_CATCH_UP_BYTES),
        "incremental time": (incremental["seconds"] / theirs["seconds"], MOST_INCREMENTAL),
        "clean time": (clean[0] / clean[1], MOST_CLEAN),
    }
    mebibytes = {name: found[name]["bytes"] / 2**20 for name in ("nodetool_full", "pull", "incremental")}
    notes = [f"{name} ratio {ratio:.3f} (at most {most})" for name, (ratio, most) in ratios.items()]
    notes += [f"incremental {incremental['seconds']:.2f} s", f"clean {clean[0]:.2f} s, nodetool {clean[1]:.2f} s"]
    notes += [f"{name} moved {size:.0f} MiB" for name, size in mebibytes.items()]
    notes.append(f"{found['table_mib']} MiB a table and node, {found['stale_percent']} % stale on one of three")
    document = {
        "name": "repair",
        "ours": round(pull["seconds"], 2),
        "other": round(theirs["seconds"], 2),
        "unit": "s",
        "ratio": round(ratios["catch-up time"][0], 3),
        "runs": len(found["clean_ours"]),
        "notes": "; ".join(notes),
    }
    print(json.dumps(document))
    return 0 if all(ratio <= most for ratio, most in ratios.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
