"""Start and stop one installation's control plane: stores, migrations, first owner, and everything that serves."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local import api, machines, ports, programs, services, stamps
from infra.local.layout import Layout
from infra.local.programs import STORES, Installation
from infra.local.supervision import SupervisionError, Supervisor, configuration

# Of a busy machine, on which engines start, too; a few seconds are usual.
_READY_SECONDS = 180.0
_STORES_SECONDS = 60.0
_OWNER_EMAIL = "owner@ringmaster.local"
_ORGANISATION = "Demo"
_SOURCES = (
    "backend",
    "provisioner",
    "infra/local",
    "infra/deploy/prometheus",
    "infra/deploy/alertmanager",
    "requirements-dev.txt",
    "frontend/dist",
)

Say = Callable[[str], None]


class StartError(RuntimeError):
    """The control plane does not come up. The text says what failed and where to look."""


@dataclass(frozen=True)
class Started:
    """What `start` found or did: `fresh` when this very call started the supervisor."""

    installation: Installation
    fresh: bool


def supervisor_of(place: Layout) -> Supervisor:
    """The supervisor of this installation, whether it runs or not."""
    return Supervisor(place.run, services.socket_folder(place.run))


def start(place: Layout, *, say: Say, reloading: bool = False) -> Started:
    """Bring the control plane up, or find it up and leave it alone. Raises StartError, ServiceError and others' own.

    A control plane that runs other code or another configuration than this checkout holds is started anew; the
    machines and their engines go on meanwhile.
    """
    place.run.mkdir(parents=True, exist_ok=True)
    # Postgres may have to run under its own account and must be able to walk in; what is private has its own mode.
    place.run.chmod(0o711 if services.fallback_account() else 0o700)
    place.logs.mkdir(exist_ok=True)
    programs.write_keys(place)
    supervisor = supervisor_of(place)
    code = _fingerprint(place, reloading=reloading)
    if supervisor.is_up():
        running = _read_state(place)
        if running is None:
            say("An earlier start did not get to its end: starting the control plane anew")
        elif running["fingerprint"] == code:
            installation = _installation(place, supervisor, running["ports"], reloading=reloading)
            names = [status.name for status in supervisor.status() if status.pid == 0]
            supervisor.start_programs(names)
            _wait_until_ready(installation)
            return Started(installation, fresh=False)
        else:
            say("The code or the configuration has changed: starting the control plane anew")
        stop(place, with_machines=False)
    installation = _installation(place, supervisor, _choose_ports(place, say, reloading=reloading), reloading=reloading)
    _state_file(place).unlink(missing_ok=True)
    try:
        _start_all(installation, supervisor, say)
    except (StartError, services.ServiceError, SupervisionError, machines.MachinesError):
        # Half a control plane helps nobody; the logs stay.
        stop(place, with_machines=False)
        raise
    _write_state(place, code, installation.ports)
    return Started(installation, fresh=True)


def is_running(place: Layout) -> bool:
    """Whether a control plane runs that was started to the end."""
    return _read_state(place) is not None and supervisor_of(place).is_up()


def stop(place: Layout, *, with_machines: bool) -> int:
    """Stop everything that runs; returns how many machines were switched off. Data stays."""
    supervisor = supervisor_of(place)
    # Workers first: nobody may switch machines on again, or wonder why they are off.
    if supervisor.is_up():
        others = [status.name for status in supervisor.status() if status.name not in STORES]
        supervisor.stop_programs(others, seconds=20)
    stopped = machines.stop(place.run) if with_machines else 0
    supervisor.shut_down()
    return stopped


def _start_all(installation: Installation, supervisor: Supervisor, say: Say) -> None:
    place = installation.place
    listing = programs.programs(installation)
    environment = programs.environment(installation)
    for folder in ("beat", "redis", "prometheus", "prometheus-history", "alertmanager"):
        (place.run / folder).mkdir(exist_ok=True)
    (place.run / "prometheus.yml").write_text(programs.prometheus_configuration(installation))
    (place.run / "alertmanager.yml").write_text(programs.alertmanager_configuration(installation))
    supervisor.configuration.write_text(configuration(supervisor, listing, cwd=place.checkout))
    names = [program.name for program in listing]
    if "postgres" in names:
        services.prepare_postgres(place.run / "postgres", installation.sockets)
    supervisor.start(place.python, environment=environment)
    stores = [name for name in names if name in STORES]
    say("Starting Postgres and Redis")
    supervisor.start_programs(stores)
    _wait_for_stores(installation, stores)
    say("Preparing the database")
    _prepare_database(installation, environment)
    say("Starting API, workers, Prometheus and Alertmanager")
    supervisor.start_programs([name for name in names if name not in STORES])
    switched_on = machines.start(place.run)
    if switched_on:
        say(f"Switching on {switched_on} machines")
    _wait_until_ready(installation)


def _prepare_database(installation: Installation, environment: dict[str, str]) -> None:
    place = installation.place
    result = subprocess.run(
        [
            *(place.python, "-m", "infra.local.prepare_database", f"--organisation={_ORGANISATION}"),
            *(f"--owner-email={_OWNER_EMAIL}", f"--credentials-file={place.credentials_file}"),
            f"--enrol-certificate-file={installation.enrol_certificate}",
            f"--enrol-key-file={installation.enrol_key}",
        ],
        cwd=place.checkout,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    log = place.logs / "prepare_database.log"
    log.write_text(result.stdout + result.stderr)
    if result.returncode != 0:
        last = (result.stderr.strip() or result.stdout.strip()).splitlines()[-1:]
        raise StartError(f"The database cannot be prepared: {' '.join(last)}\nAll of it is in {log}")


def _wait_for_stores(installation: Installation, stores: list[str]) -> None:
    deadline = time.monotonic() + _STORES_SECONDS
    checks = {"postgres": services.postgres_is_ready, "redis": services.redis_is_ready}
    for name in stores:
        while not checks[name](installation.sockets):
            if time.monotonic() > deadline:
                raise StartError(f"{name} does not come up: see {installation.place.logs}/{name}.log")
            time.sleep(0.05)
    if "postgres" in stores:
        services.create_database(installation.sockets)


def _wait_until_ready(installation: Installation) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not api.is_ready(installation.api_url):
        if time.monotonic() > deadline:
            raise StartError(f"The API does not become ready: see {installation.place.logs}/api.log")
        time.sleep(0.1)


def _choose_ports(place: Layout, say: Say, *, reloading: bool) -> dict[str, int]:
    remembered = ports.read(place.ports_file)
    asked = os.environ.get("RINGMASTER_CONSOLE_PORT", "")
    if asked.isdigit() and int(asked):
        remembered.pop(ports.CONSOLE, None)
    # 0 asks for any free port, as it does elsewhere.
    wanted = int(asked) if asked.isdigit() else ports.CONSOLE_PORT
    names = [
        ports.CONSOLE,
        "enrol",
        "prometheus",
        "prometheus_history",
        "alertmanager",
        *(["api"] if reloading else []),
    ]
    chosen = ports.choose(names, remembered=remembered, preferred={ports.CONSOLE: wanted})
    if wanted and chosen[ports.CONSOLE] not in {wanted, remembered.get(ports.CONSOLE)}:
        say(f"Port {wanted} is taken: the console is on {chosen[ports.CONSOLE]}")
    chosen.setdefault("api", chosen[ports.CONSOLE])
    ports.write(place.ports_file, chosen)
    return chosen


def _installation(place: Layout, supervisor: Supervisor, chosen: dict[str, int], *, reloading: bool) -> Installation:
    return Installation(place=place, ports=chosen, sockets=supervisor.sockets, reloading=reloading)


def _fingerprint(place: Layout, *, reloading: bool) -> str:
    """What must be the same for a running control plane to count as the one that is asked for.

    A reloading one follows the sources by itself.
    """
    paths = [] if reloading else [place.checkout / source for source in _SOURCES]
    given = [f"{name}={os.environ.get(name, '')}" for name in ("DATABASE_URL", "REDIS_URL", "RINGMASTER_CONSOLE_PORT")]
    return stamps.fingerprint(paths, facts=[f"reloading={reloading}", *given, str(place.engines)])


def _state_file(place: Layout) -> Path:
    return place.run / "state.json"


def _write_state(place: Layout, code: str, chosen: dict[str, int]) -> None:
    _state_file(place).write_text(json.dumps({"fingerprint": code, "ports": chosen}) + "\n")


def _read_state(place: Layout) -> dict[str, Any] | None:
    with suppress(FileNotFoundError, ValueError):
        state: dict[str, Any] = json.loads(_state_file(place).read_text())
        return state
    return None
