"""The whole product in a run folder of its own, driven over its API: for benchmarks and trials."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

ZONES = ("local-1a", "local-1b", "local-1c")
_POLL_SECONDS = 0.1


@contextmanager
def product(run: Path) -> Iterator[httpx.Client]:
    """The whole product in a run folder of its own, and a client that speaks as its owner.

    It is taken away again in any case, also when this process is told to end.
    """
    signal.signal(signal.SIGTERM, _end)
    environment = _environment(run)
    launcher = [sys.executable, "-m", "infra.local.launcher"]
    subprocess.run([*launcher, "start"], env=environment, check=True)
    try:
        known = json.loads((run / "secrets" / "credentials.json").read_text())
        ports = json.loads((run / "ports.json").read_text())
        with httpx.Client(
            base_url=f"http://127.0.0.1:{ports['api']}/api/v1",
            headers={"Authorization": f"Bearer {known['api_token']}"},
            timeout=10,
            trust_env=False,
        ) as api:
            yield api
    finally:
        subprocess.run([*launcher, "clean"], env=environment, check=True)


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def _environment(run: Path) -> dict[str, str]:
    """Stores of its own, also within tests that have been given some, and any free port."""
    given = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    # Several browsers are one person here.
    limits = {f"RINGMASTER_RATE_LIMIT_{whose}": "100000:100000" for whose in ("CALLER", "ORGANISATION")}
    return {**limits, **given, "RINGMASTER_RUN_DIR": str(run), "RINGMASTER_CONSOLE_PORT": "0"}


def start_again(run: Path) -> None:
    """Start what does not run of a product in `run`, as `make up` would. Its ports stay the same."""
    environment = _environment(run)
    subprocess.run([sys.executable, "-m", "infra.local.launcher", "start"], env=environment, check=True)


def place_order(
    api: httpx.Client,
    *,
    zones: Sequence[str] = ZONES,
    nodes_per_zone: int = 1,
    machine_type: str = "local.small",
    engine_version: str | None = None,
) -> dict[str, Any]:
    """Order a cluster, by default of three nodes in three zones: the cluster and its operation."""
    answer = api.post(
        "/clusters",
        json={
            "name": f"e2e-{uuid.uuid4().hex[:8]}",
            "engine": "cassandra",
            "engine_version": engine_version,
            "provider": "local",
            "region": "local-1",
            "zones": list(zones),
            "machine_type": machine_type,
            "nodes_per_zone": nodes_per_zone,
        },
    ).raise_for_status()
    started: dict[str, Any] = answer.json()
    return started


def order(api: httpx.Client, **wanted: Any) -> tuple[str, float]:
    """Order a cluster (as `place_order`) and wait until it is proved: its id and the seconds it took."""
    began = time.monotonic()
    started = place_order(api, **wanted)
    follow(api, started["operation"]["id"])
    return started["cluster"]["id"], time.monotonic() - began


def change(api: httpx.Client, cluster: str, kind: str, **wanted: Any) -> str:
    """Ask for a change of a living cluster: the id of its operation."""
    answer = api.post(f"/clusters/{cluster}/changes", json={"kind": kind, **wanted}).raise_for_status()
    operation: str = answer.json()["operation"]["id"]
    return operation


def follow(api: httpx.Client, operation: str) -> None:
    """Wait until an operation has succeeded. RuntimeError when it ends otherwise or needs a person."""
    while True:
        found = api.get(f"/operations/{operation}").raise_for_status().json()
        if found["state"] == "succeeded":
            return
        if found["state"] in ("blocked", "failed", "cancelled"):
            raise RuntimeError(f"the operation is {found['state']}: {found['reason']}")
        time.sleep(_POLL_SECONDS)


def wait_for_step(api: httpx.Client, operation: str, name: str) -> None:
    """Wait until the last step of that name is done. RuntimeError when the operation ends otherwise or is stuck."""
    while True:
        found = api.get(f"/operations/{operation}").raise_for_status().json()
        steps = [step for step in found["steps"] if step["name"] == name]
        if steps and steps[-1]["state"] == "done":
            return
        if found["state"] in ("succeeded", "blocked", "failed", "cancelled"):
            raise RuntimeError(f"{name} was not done; the operation is {found['state']}: {found['reason']}")
        time.sleep(_POLL_SECONDS)


def delete(api: httpx.Client, cluster: str) -> None:
    follow(api, api.delete(f"/clusters/{cluster}").raise_for_status().json()["operation"]["id"])
