"""The whole control plane without machines: API, worker and beat as in production, on the fleet simulator.

Operations take seconds, and everything but the engines is real. `python -m e2e.simulated` serves until its standard
input ends; its first line is JSON: `url`, the `token` and `organisation` of an owner, `stranger`, the token of another
organisation's owner, and `fleet`, the simulator's socket. There is an identity provider `Corp` that nobody answers for.
"""

import json
import os
import signal
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
    stranger: str
    fleet: str


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


def start_celery(processes: Processes, name: str, stores: Stores, *, workers: int, number: int = 1) -> int:
    """A `worker` with so many processes, or `beat`; `number` tells several apart."""
    celery = ("celery", "--app=provisioner.worker", "--quiet")
    own = f"{name}-{number}" if number > 1 else name
    if name == "beat":
        return processes.start(own, *celery, "beat", f"--schedule={stores.folder / own}", "--pidfile=")
    without = ("--without-gossip", "--without-mingle", "--without-heartbeat", f"--hostname={own}@simulated")
    return processes.start(own, *celery, "worker", "--pool=prefork", f"--concurrency={workers}", *without)


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


def _add_identity_provider() -> None:
    from backend.accounts.provider_actions import add_provider

    add_provider(
        name="Corp",
        issuer="https://sso.corp.example",
        client_id="ringmaster",
        client_secret="nobody-asks-for-it",
        scopes="openid email profile",
        groups_claim="groups",
        email_domains=["corp.example"],
        session_hours=12,
        second_factor=False,
    )


def _name_surroundings(folder: Path) -> None:
    """A place for backups, and a mail server that is never reached: what needs them can be ordered."""
    backups = folder / "backups"
    backups.mkdir()
    os.environ.update(
        RINGMASTER_BACKUP_STORE=backups.as_uri(),
        RINGMASTER_SMTP_URL="smtp://127.0.0.1:1",
    )


@dataclass(frozen=True)
class Replicas:
    """Two of everything. `shots` end the first API, the first worker and the beat that leads, with SIGKILL."""

    urls: tuple[str, str]
    token: str
    redis_url: str
    fleet: Fleet
    shots: tuple[Callable[[], None], ...]


@contextmanager
def replicas() -> Iterator[Replicas]:
    with (
        tempfile.TemporaryDirectory(prefix="rm-replicas-") as folder,
        fleet_simulator(Path(folder) / "fleet.sock") as fleet,
        durable_stores() as stores,
    ):
        _name_surroundings(Path(folder))
        prepare()
        tenant = tenant_of("replicas")
        processes = Processes(stores.folder)
        application = "backend.config.asgi:application"
        try:
            with serving(application) as first, serving(application) as second:
                # The first one leads: the second is started when it does.
                start_celery(processes, "beat", stores, workers=0)
                wait(_beat_leads, 60)
                start_celery(processes, "beat", stores, workers=0, number=2)
                for number in (1, 2):
                    start_celery(processes, "worker", stores, workers=2, number=number)
                shots = (
                    lambda: os.kill(first.pid, signal.SIGKILL),
                    lambda: processes.end("worker"),
                    lambda: processes.end("beat"),
                )
                yield Replicas((first.url, second.url), tenant.token, stores.redis_url, fleet, shots)
        finally:
            processes.end_all()


def _beat_leads() -> bool:
    return leaders() == 1


def leaders() -> int:
    """How many sessions hold beat's lock."""
    from django.db import connection

    from provisioner.beat import LOCK

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND (classid::bigint << 32) | objid::bigint = %s",
            [LOCK],
        )
        return int(cursor.fetchone()[0])


@contextmanager
def simulated() -> Iterator[Simulated]:
    with (
        tempfile.TemporaryDirectory(prefix="rm-simulated-") as folder,
        fleet_simulator(socket := Path(folder) / "fleet.sock"),
    ):
        _name_surroundings(Path(folder))
        with _control_plane(socket) as found:
            yield found


@contextmanager
def _control_plane(fleet: Path) -> Iterator[Simulated]:
    with durable_stores() as stores:
        prepare()
        tenant = tenant_of("simulated")
        _add_identity_provider()
        processes = Processes(stores.folder)
        try:
            with serving("backend.config.asgi:application") as api:
                for name in ("worker", "beat"):
                    start_celery(processes, name, stores, workers=2)
                yield Simulated(api.url, tenant.token, tenant.organisation_id, tenant_of("stranger").token, str(fleet))
        finally:
            processes.end_all()


def main() -> None:
    with simulated() as found:
        sys.stdout.write(json.dumps(asdict(found)) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
