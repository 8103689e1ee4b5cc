"""CPU of one scrape of every table's metrics, ours against Prometheus' JMX exporter in the same engine.

One real node with its agent. 10, 200 and 1,000 tables, each written to and read, so that every one has its histograms.
The exporter (io.prometheus.jmx:jmx_prometheus_javaagent, from Maven Central) is loaded into the same JVM beside our
collector, told to publish all of the engine's metrics but those that have a second, older name. Each side is warmed up
and scraped in turn; both are taken packed, as Prometheus takes them. CPU is the engine's and, for ours, the agent's
with it. Beside them: the engine's virtual tables over CQL, and fifteen metrics of each table in bulk by Jolokia, which
both publish far less. Prints one JSON object as its last line; `ratio` is CPU with the most tables.

    python -m e2e.bench.metrics_scrape [--tables 10,200,1000]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from infra.local.layout import layout

MOST_CPU = 0.05
EXPORTER = "io.prometheus.jmx:jmx_prometheus_javaagent:1.0.1"
"""The latest 1.x there."""

_GIVE_UP_MINUTES = 30


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--tables", default="10,200,1000", help="numbers of tables, with commas between")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch:
        jar = exporter(Path(scratch))
        environment = {"RINGMASTER_TEST_TABLES": given.tables, "RINGMASTER_EXPORTER_JAR": str(jar)}
        return tell(measured("^TestScrapesAreMeasuredAgainstTheExporter$", Path(scratch) / "figures.json", environment))


def exporter(folder: Path) -> Path:
    """Fetch the exporter's jar into a folder. CalledProcessError when Maven cannot."""
    command = ("mvn", "-B", "-q", "org.apache.maven.plugins:maven-dependency-plugin:2.8:get")
    jar = folder / "exporter.jar"
    subprocess.run([*command, f"-Dartifact={EXPORTER}", "-Dtransitive=false", f"-Ddest={jar}"], check=True)
    return jar


def measured(test: str, figures: Path, environment: dict[str, str]) -> dict[str, Any]:
    """What one of the agent's tests measured. RuntimeError when it failed."""
    place = layout()
    command = ("go", "test", "-tags", "engine,bench", "-run", test, "-v", "-count=1", f"-timeout={_GIVE_UP_MINUTES}m")
    done = subprocess.run(
        [*command, "./cmd/agent"],
        cwd=place.checkout / "images" / "agent",
        env={
            **os.environ,
            **environment,
            "RINGMASTER_CACHE_DIR": str(place.engines),
            "RINGMASTER_METRICS_FIGURES": str(figures),
        },
        # What the test says is for people, and the last line of this program is not its.
        stdout=sys.stderr,
        check=False,
        # The test ends its process group when it ends.
        start_new_session=True,
    )
    if done.returncode != 0 or not figures.is_file():
        raise RuntimeError("nothing was measured; see above")
    found: dict[str, Any] = json.loads(figures.read_text())
    return found


def tell(found: dict[str, Any]) -> int:
    notes = []
    for tables in found["ours"]:
        for name in ("ours", "exporter", "virtual_tables", "jolokia"):
            one = found[name][tables]
            size = (
                f", {one['bytes'] / 2**20:.2f} MiB ({one['packed_bytes'] / 2**20:.2f} packed)" if one["series"] else ""
            )
            notes.append(f"{tables} tables, {name}: {one['cpu_seconds']:.3f} CPU-s, {one['seconds']:.3f} s{size}")
    most = max(found["ours"], key=int)
    ours, theirs = found["ours"][most]["cpu_seconds"], found["exporter"][most]["cpu_seconds"]
    document = {
        "name": "metrics_scrape",
        "ours": round(ours, 4),
        "other": round(theirs, 3),
        "unit": "CPU-s",
        "ratio": round(ours / theirs, 4),
        "runs": 20,
        "notes": "; ".join(notes),
    }
    print(json.dumps(document))
    return 0 if ours / theirs <= MOST_CPU else 1


if __name__ == "__main__":
    sys.exit(main())
