"""Static stability: the databases do not need the control plane.

API, workers, beat, Redis and Postgres are all shot with SIGKILL and stay dead, while an application works at
LOCAL_QUORUM. Then the nodes are killed one after another, in three ways: the engine alone, the engine and the agent,
and the whole machine, which is then switched on again. Each comes back by itself before the next is killed. No
call of the application may fail and no acknowledged write may be lost. Then the control plane is started again: it must
see every node up, and carry out an order. Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.static_stability
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psutil

from e2e.product import order, product, start_again
from e2e.trials.application import Connecting, application
from e2e.trials.clusters import connecting, nodes, wait_until_all_serve
from infra.local import machines

_ENGINE = "org.apache.cassandra.service.CassandraDaemon"
_SHOT = ("backend.config.asgi", "--quiet worker", "--quiet beat", "redis-server", "postgres")
_BEFORE_SECONDS = 3.0
_AFTER_SECONDS = 3.0
_TRUE_AGAIN_SECONDS = 60.0


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rm-stability-") as scratch:
        run = Path(scratch) / "run"
        with product(run) as api:
            cluster, _ = order(api)
            found = stay_up(api, run, cluster, connecting(api, cluster))
    print(json.dumps({"trial": "static_stability", **found}))
    return 0 if found["good"] else 1


def stay_up(api: httpx.Client, run: Path, cluster: str, reaching: Connecting) -> dict[str, object]:
    """The trial on a cluster of a product that runs in `run`; `good` tells whether all was as it should be."""
    known = replace(reaching, consistency="LOCAL_QUORUM", keyspace="stability")
    with application(known, log=run / "stability.log") as running:
        time.sleep(_BEFORE_SECONDS)
        running.begin()
        shot = kill_control_plane(run)
        answered = _answers(api)
        back = [_kill_and_wait(run, known, way) for way in ("engine", "engine and agent", "machine")]
        time.sleep(_AFTER_SECONDS)
        survivors = [process for process in shot if process.is_running()]
        counted = running.report()
        reads = [running.read_back(consistency) for consistency in ("QUORUM", "ALL")]
        began = time.monotonic()
        start_again(run)
        up = time.monotonic() - began
        true = _true_again(api, cluster, since=datetime.now(UTC))
        ordered = order(api, zones=["local-1a"])[1]
    lost = sum(len(read.lost) for read in reads)
    return {
        "good": (
            not counted.failed
            and not counted.wrong_reads
            and counted.acknowledged > 0
            and not lost
            and not survivors
            and not answered
        ),
        **asdict(counted),
        "lost_writes": lost,
        "processes_shot": len(shot),
        "node_back_seconds": [round(seconds, 1) for seconds in back],
        "control_plane_up_seconds": round(up, 1),
        "states_true_seconds": round(true, 1),
        "order_seconds": round(ordered, 1),
    }


def kill_control_plane(run: Path) -> list[psutil.Process]:
    """SIGKILL the supervisor and all that it keeps running: API, workers, beat, Postgres, Redis, Prometheus.

    It is frozen first, so that it starts nothing again meanwhile. Machines are not its children and go on.
    """
    [supervisor] = [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(run / "supervisord.conf") in (process.info["cmdline"] or [])
    ]
    supervisor.suspend()
    shot = [*supervisor.children(recursive=True), supervisor]
    lines = "\n".join(" ".join(process.cmdline()) for process in shot)
    if missing := [word for word in _SHOT if word not in lines]:
        supervisor.resume()
        raise RuntimeError(f"{', '.join(missing)} would not be shot: not a product with stores of its own")
    for process in shot:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(shot, timeout=10)
    return shot


def _answers(api: httpx.Client) -> bool:
    try:
        api.get("/clusters")
    except httpx.TransportError:
        return False
    return True


def _kill_and_wait(run: Path, known: Connecting, way: str) -> float:
    """Kill the next node and wait until all nodes serve again: the seconds from the kill."""
    present = sorted(machines.present(run), key=lambda machine: machine.address)
    number = {"engine": 0, "engine and agent": 1, "machine": 2}[way]
    machine = present[number]
    print(f"killing the {way} of {machine.address}", flush=True)
    began = time.monotonic()
    if way == "machine":
        _switch(run, "kill", machine.name)
        time.sleep(1)
        _switch(run, "start", machine.name)
    else:
        killed = _processes(run / "machines" / machine.name, engine_only=way == "engine")
        # Not before the port is seen closed does waiting for it to open mean anything.
        psutil.wait_procs(killed, timeout=10)
    wait_until_all_serve(known, [other.address for other in present], seconds=180)
    return time.monotonic() - began


def _processes(machine: Path, *, engine_only: bool) -> list[psutil.Process]:
    """SIGKILL a machine's engine, or its engine and its agent: what was killed. Its init stays."""
    killed = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        agent = "--user-data" in line
        if str(machine) in line and (_ENGINE in line or (agent and not engine_only)):
            os.kill(process.pid, signal.SIGKILL)
            killed.append(process)
    if not any(killed):
        raise RuntimeError(f"nothing of {machine.name} runs")
    return killed


def _switch(run: Path, command: str, name: str) -> None:
    """The power of one machine, by hand, as docs/local-provider.md tells."""
    tool = [sys.executable, "-m", "provisioner.providers.local", "--state-dir", str(run), command, name]
    subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)


def _true_again(api: httpx.Client, cluster: str, *, since: datetime) -> float:
    """Wait until the control plane has looked at every node anew and calls it up: the seconds. TimeoutError."""
    began = time.monotonic()
    while True:
        with suppress(httpx.TransportError, httpx.HTTPStatusError):
            found = api.get(f"/clusters/{cluster}").raise_for_status().json()
            looks = nodes(api, cluster)
            fresh = all(_moment(node["observed_at"]) >= since and node["state"] == "up" for node in looks)
            if found["state"] == "active" and fresh:
                return time.monotonic() - began
        if time.monotonic() - began > _TRUE_AGAIN_SECONDS:
            raise TimeoutError(f"the states are not true again after {_TRUE_AGAIN_SECONDS:.0f} s: {looks}")
        time.sleep(0.2)


def _moment(text: str | None) -> datetime:
    return datetime.min.replace(tzinfo=UTC) if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


if __name__ == "__main__":
    sys.exit(main())
