"""What the agent takes of its machine: memory and CPU at rest, and while it is scraped every 15 s.

One real node; its agent watches over the engine as always. With few tables and with many, each of which has its
histograms. Prints one JSON object as its last line; `ratio` is the larger of memory and CPU while scraped, each by what
is allowed, with the fewest tables.

    python -m e2e.bench.agent_footprint [--tables 20,200] [--seconds 60]
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from e2e.bench.metrics_scrape import measured

MOST_MEMORY = 40 * 2**20
MOST_CPU = 0.005
"""Of one core."""


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--tables", default="20,200", help="numbers of tables, with commas between")
    options.add_argument("--seconds", type=int, default=60, help="how long the agent is watched each time")
    given = options.parse_args()
    environment = {"RINGMASTER_TEST_TABLES": given.tables, "RINGMASTER_TEST_SECONDS": str(given.seconds)}
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch:
        return tell(measured("^TestTheAgentIsMeasured$", Path(scratch) / "figures.json", environment))


def tell(found: dict[str, Any]) -> int:
    notes = []
    for name in ("idle", "scraped"):
        for one in found[name]:
            share, memory = one["cpu_seconds"] / one["seconds"], one["rss_bytes"] / 2**20
            notes.append(f"{one['tables']} tables, {name}: {memory:.1f} MiB, {100 * share:.2f} % of a core")
    first = found["scraped"][0]
    cpu, memory = first["cpu_seconds"] / first["seconds"] / MOST_CPU, first["rss_bytes"] / MOST_MEMORY
    document = {
        "name": "agent_footprint",
        "ours": round(first["rss_bytes"] / 2**20, 1),
        "other": MOST_MEMORY / 2**20,
        "unit": "MiB",
        "ratio": round(max(cpu, memory), 3),
        "runs": len(found["scraped"]),
        "notes": "; ".join(notes),
    }
    print(json.dumps(document))
    return 0 if max(cpu, memory) <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
