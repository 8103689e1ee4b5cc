"""Seconds from the API request until a new cluster is proved, against the bare floor.

Ours is the whole product: order over HTTP, worker, machines, enrolment, start, roles, proof. The other side is a script
that starts the same three JVMs side by side with the same command lines, settings and certificates (taken from a
cluster that ours has just made, with empty data folders) and proves the same: ring and schema agreed on every node, a
keyspace made, a row written at ALL and read at ALL through each node. It makes no machines and sets up no roles.
Pairs are interleaved. Prints one JSON object as its last line.

    python -m e2e.bench.order_to_cql [--pairs 5]
"""

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from e2e.bench.bare_proof import prove
from e2e.product import ZONES, delete, order, product

MOST_RATIO = 1.25


@dataclass(frozen=True)
class BareNode:
    """One node to start by hand: its command line and folder, both rewritten to a place of the bench's own."""

    address: str
    command: list[str]
    folder: Path


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    pairs = parser.parse_args().pairs
    ours: list[float] = []
    other: list[float] = []
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch:
        place = Path(scratch)
        with product(place / "run") as api:
            bare = take_down(api, place, order(api)[0])
            for number in range(1, pairs + 1):
                if number % 2:
                    ours.append(measured_order(api))
                    other.append(start_bare(bare))
                else:
                    other.append(start_bare(bare))
                    ours.append(measured_order(api))
                print(f"pair {number}: ours {ours[-1]:.2f} s, bare {other[-1]:.2f} s", flush=True)
    ratio = statistics.median(ours) / statistics.median(other)
    print(
        json.dumps(
            {
                "name": "order_to_cql",
                "ours": round(statistics.median(ours), 2),
                "other": round(statistics.median(other), 2),
                "unit": "s",
                "ratio": round(ratio, 3),
                "runs": pairs,
                "notes": f"API request to proved, three nodes; ours {_range(ours)}, bare side by side {_range(other)}",
            }
        )
    )
    return 0 if ratio <= MOST_RATIO else 1


def _range(seconds: list[float]) -> str:
    return f"{min(seconds):.2f}-{max(seconds):.2f}"


def measured_order(api: httpx.Client) -> float:
    cluster, seconds = order(api)
    delete(api, cluster)
    return seconds


def take_down(api: httpx.Client, place: Path, cluster: str) -> list[BareNode]:
    """Copy how the nodes of a running cluster are started, then delete the cluster."""
    nodes: list[dict[str, Any]] = api.get(f"/clusters/{cluster}/nodes").raise_for_status().json()["items"]
    addresses = {node["address"] for node in nodes}
    bare: list[BareNode] = []
    for machine in (place / "run" / "machines").glob("*/machine.json"):
        address = json.loads(machine.read_text())["address"]
        if address in addresses:
            bare.append(_copy(machine.parent, place / "bare" / address, address))
    assert len(bare) == len(ZONES), bare
    delete(api, cluster)
    return bare


def _copy(machine: Path, folder: Path, address: str) -> BareNode:
    """The engine's configuration and keys of one machine, with every path in them pointing to the copy."""
    command = command_line(machine)
    copy_files(machine, folder)
    return BareNode(address, [word.replace(str(machine), str(folder)) for word in command], folder)


def copy_files(machine: Path, folder: Path) -> None:
    """Copy configuration and keys of a machine's engine; paths in them that point to the machine point to the copy."""
    folder.mkdir(parents=True)
    for source in machine.rglob("*"):
        relative = source.relative_to(machine)
        wanted = "conf" in relative.parts or "identity" in relative.parts or "tls" in relative.parts
        if source.is_file() and wanted:
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes().replace(str(machine).encode(), str(folder).encode()))


def command_line(machine: Path) -> list[str]:
    """How the machine's engine was started, from the kernel."""
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
            continue
        if b"org.apache.cassandra.service.CassandraDaemon" in words and str(machine).encode() in b" ".join(words):
            return [word.decode() for word in words if word]
    raise RuntimeError(f"no engine of {machine.name} runs")


def start_bare(nodes: list[BareNode]) -> float:
    """Start all JVMs side by side on empty folders and prove the ring: the seconds it took."""
    for node in nodes:
        _empty_data(node.folder)
    began = time.monotonic()
    processes = [
        subprocess.Popen(
            node.command,
            cwd=node.folder,
            stdin=subprocess.DEVNULL,
            stdout=(node.folder / "out.log").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        for node in nodes
    ]
    try:
        first = nodes[0].folder
        prove([node.address for node in nodes], ca_file=_authority(first))
        return time.monotonic() - began
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            process.wait()


def _empty_data(folder: Path) -> None:
    engine = folder / "data" / "cassandra"
    for name in ("data", "commitlog", "hints", "saved_caches", "logs", "tmp"):
        subprocess.run(["rm", "-rf", str(engine / name)], check=True)
        (engine / name).mkdir(parents=True)


def _authority(folder: Path) -> Path:
    """The cluster's CA among the copied files: what the engine trusts."""
    text = next(folder.rglob("cassandra.yaml")).read_text()
    for line in text.splitlines():
        if line.strip().startswith("truststore:"):
            return Path(line.split(":", 1)[1].strip().strip('"'))
    raise RuntimeError("cassandra.yaml names no truststore")


if __name__ == "__main__":
    sys.exit(main())
