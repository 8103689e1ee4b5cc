"""The whole control plane without machines: API, worker and beat as in production, on the fleet simulator.

Operations take seconds, and everything but the engines is real. `python -m e2e.simulated` serves until its standard
input ends; its first line is JSON: `url`, and the `token` and `organisation` of an owner.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.bench.durable import Processes, Stores, durable_stores
from e2e.bench.tenants import tenant_of
from e2e.serving import serving
from infra.local import services
from provisioner.fleet.client import Fleet


@dataclass(frozen=True)
class Simulated:
    url: str
    token: str
    organisation: str


@contextmanager
def fleet_simulator(socket: Path) -> Iterator[Fleet]:
    """Answers for every machine and every agent, also to processes that are started meanwhile."""
    os.environ.update(
        RINGMASTER_TEST_FLEET=str(socket), RINGMASTER_TEST_CATALOG="true", RINGMASTER_PUBLIC_URL="http://127.0.0.1:1"
    )
    command = [sys.executable, "-m", "provisioner.fleet.server", str(socket)]
    process = subprocess.Popen([*services.dying_with_parent("TERM", wanted=True), *command])
    try:
        wait(socket.exists, 60)
        yield Fleet(socket)
    finally:
        process.terminate()
        process.wait(20)


def wait(there: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not there():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.05)


def start_celery(processes: Processes, name: str, stores: Stores, *, workers: int) -> int:
    """A `worker` with so many processes, or `beat`."""
    celery = ("celery", "--app=provisioner.worker", "--quiet")
    if name == "beat":
        return processes.start("beat", *celery, "beat", f"--schedule={stores.folder / 'schedule'}", "--pidfile=")
    without = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return processes.start("worker", *celery, "worker", "--pool=prefork", f"--concurrency={workers}", *without)


def prepare() -> None:
    """The catalogue with what only tests order, prices and the control plane's authorities."""
    from backend.backups.locations import ensure_operators
    from backend.catalog import actions as catalog
    from backend.clusters import authorities
    from backend.prices import actions as prices

    catalog.load(with_tests=True, clouds={"aws": ["eu-west-1"]})
    prices.load()
    authorities.ensure_control_plane_pki()
    ensure_operators()


@contextmanager
def _surroundings(folder: Path) -> Iterator[None]:
    """A place for backups, and a mail server that is never reached: what needs them can be ordered."""
    backups = folder / "backups"
    backups.mkdir()
    os.environ.update(
        RINGMASTER_BACKUP_STORE=backups.as_uri(),
        RINGMASTER_SMTP_URL="smtp://127.0.0.1:1",
    )
    yield


@contextmanager
def simulated() -> Iterator[Simulated]:
    with (
        tempfile.TemporaryDirectory(prefix="rm-simulated-") as folder,
        fleet_simulator(Path(folder) / "fleet.sock"),
        _surroundings(Path(folder)),
        durable_stores() as stores,
    ):
        prepare()
        tenant = tenant_of("simulated")
        processes = Processes(stores.folder)
        try:
            with serving("backend.config.asgi:application") as api:
                for name in ("worker", "beat"):
                    start_celery(processes, name, stores, workers=2)
                yield Simulated(api.url, tenant.token, tenant.organisation_id)
        finally:
            processes.end_all()


def main() -> None:
    with simulated() as found:
        sys.stdout.write(json.dumps(asdict(found)) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
