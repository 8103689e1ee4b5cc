"""The processes that make up the product on this machine, and the environment they share."""

from __future__ import annotations

import base64
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import yaml

from infra.local import ports, services, system
from infra.local.layout import Layout

STORES = ("postgres", "redis")
_WORKER_PROCESSES = 4  # steps mostly wait for nodes; two cores carry four of them


@dataclass(frozen=True)
class Installation:
    """One running copy of the product: its folders, its ports, and whether its code reloads as it is edited."""

    place: Layout
    ports: dict[str, int]
    sockets: Path
    reloading: bool = False

    @property
    def public_url(self) -> str:
        """Where people open the console."""
        return f"http://{ports.LOOPBACK}:{self.ports[ports.CONSOLE]}"

    @property
    def api_port(self) -> int:
        """The console's port, except while developing: then Vite has that and passes the API's requests on."""
        return self.ports["api"]

    @property
    def api_url(self) -> str:
        return f"http://{ports.LOOPBACK}:{self.api_port}"

    @property
    def enrol_url(self) -> str:
        return f"https://{ports.LOOPBACK}:{self.ports['enrol']}/enrol/v1"

    @property
    def enrol_certificate(self) -> Path:
        return self.place.secrets / "enrol.crt"

    @property
    def enrol_key(self) -> Path:
        return self.place.secrets / "enrol.key"


@dataclass(frozen=True)
class Program:
    """A process that the supervisor keeps running. `stop_seconds` is its grace before SIGKILL."""

    name: str
    command: tuple[str, ...]
    stop_signal: str = "TERM"
    stop_seconds: int = 10


def environment(installation: Installation) -> dict[str, str]:
    """Every variable that the product's processes need, on top of what this process has."""
    place = installation.place
    home = system.java_home()
    # Five processes import the same packages at every start: compiled ones make that a third of the work.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        **({} if home is None else {"JAVA_HOME": str(home)}),
        "PATH": f"{place.venv / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONUNBUFFERED": "1",
        "DATABASE_URL": os.environ.get("DATABASE_URL") or services.postgres_url(installation.sockets),
        "REDIS_URL": os.environ.get("REDIS_URL") or services.redis_url(installation.sockets),
        "RINGMASTER_SECRET_KEY_FILE": str(place.secrets / "django.key"),
        "RINGMASTER_MASTER_KEY_FILE": str(place.secrets / "master.key"),
        "RINGMASTER_STATE_DIR": str(place.run),
        "RINGMASTER_CACHE_DIR": str(place.engines),
        "RINGMASTER_AGENT_BINARY": str(place.agent),
        "RINGMASTER_BACKUP_STORE": (place.run / "backups").as_uri(),
        "RINGMASTER_PUBLIC_URL": installation.public_url,
        "RINGMASTER_ENROL_URL": installation.enrol_url,
        "RINGMASTER_CONSOLE_DIR": "" if installation.reloading else str(place.console),
        "RINGMASTER_API_URL": installation.api_url,
        "RINGMASTER_PROMETHEUS_URL": f"http://{ports.LOOPBACK}:{installation.ports['prometheus']}",
        "RINGMASTER_PROMETHEUS_HISTORY_URL": f"http://{ports.LOOPBACK}:{installation.ports['prometheus_history']}",
        "RINGMASTER_PROMETHEUS_DIR": str(place.secrets),
        "RINGMASTER_ALERTMANAGER_URL": f"http://{ports.LOOPBACK}:{installation.ports['alertmanager']}",
        "RINGMASTER_ALERTS_TOKEN_FILE": str(place.secrets / "alerts.token"),
        # Whoever tries this on a machine of theirs has their receivers there, too.
        "RINGMASTER_ALERT_NETWORKS": os.environ.get("RINGMASTER_ALERT_NETWORKS") or "127.0.0.0/8,::1/128",
        "DEBUG": "true" if installation.reloading else "false",
    }


def write_keys(place: Layout) -> None:
    """Make the keys of an installation unless they are there; files 0600 in a folder 0700."""
    place.secrets.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, value in (
        ("django.key", secrets.token_urlsafe(48)),
        ("master.key", base64.b64encode(secrets.token_bytes(32)).decode()),
        ("alerts.token", secrets.token_urlsafe(32)),
    ):
        write_private(place.secrets / name, value + "\n", keep=True)


def write_private(path: Path, text: str, *, keep: bool = False) -> None:
    """Write a file that only its owner can read, all or nothing. `keep` leaves one that exists as it is."""
    if keep and path.exists():
        return
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def programs(installation: Installation) -> list[Program]:
    """What runs, in the order of starting. Given stores (DATABASE_URL, REDIS_URL) are used, not started."""
    listing = []
    run, sockets = installation.place.run, installation.sockets
    if not os.environ.get("DATABASE_URL"):
        command = services.postgres_command(run / "postgres", sockets, die_with_parent=True)
        listing.append(Program("postgres", tuple(command), stop_signal="INT", stop_seconds=30))
    if not os.environ.get("REDIS_URL"):
        command = services.redis_command(run / "redis", sockets, die_with_parent=True)
        listing.append(Program("redis", tuple(command)))
    return listing + [_bound_to_supervisor(program) for program in _own(installation)]


def _own(installation: Installation) -> list[Program]:
    place = installation.place
    python = str(place.python)
    reloading = installation.reloading
    uvicorn = (python, "-m", "uvicorn", "--host", ports.LOOPBACK, "--no-server-header", "--timeout-graceful-shutdown=3")
    reload = ("--reload", f"--reload-dir={place.checkout / 'backend'}") if reloading else ()
    api = (*uvicorn, f"--port={installation.api_port}", *reload, "--lifespan=off", "backend.config.asgi:application")
    tls = (f"--ssl-certfile={installation.enrol_certificate}", f"--ssl-keyfile={installation.enrol_key}")
    enrol = (*uvicorn, f"--port={installation.ports['enrol']}", *tls, *reload, "backend.config.enrol_asgi:application")
    celery = (python, "-m", "celery", "--app=provisioner.worker", "--quiet")
    worker: tuple[str, ...] = (
        *celery,
        "worker",
        "--pool=prefork",
        f"--concurrency={_WORKER_PROCESSES}",
        "--loglevel=INFO",
    )
    worker += ("--loglevel=INFO", "--without-gossip", "--without-mingle", "--without-heartbeat")
    if reloading:
        worker = (
            *(python, "-m", "watchfiles", "--filter=python", "--sigint-timeout=3"),
            *(" ".join(worker), str(place.checkout / "backend"), str(place.checkout / "provisioner")),
        )
    beat = (*celery, "beat", f"--schedule={place.run / 'beat' / 'schedule'}", "--pidfile=", "--loglevel=INFO")
    prometheus = (
        "prometheus",
        f"--config.file={place.run / 'prometheus.yml'}",
        f"--storage.tsdb.path={place.run / 'prometheus'}",
        "--storage.tsdb.retention.time=3d",
        f"--web.listen-address={ports.LOOPBACK}:{installation.ports['prometheus']}",
        "--log.level=warn",
    )
    # What the rules roll up is sent to it and kept for longer: docs/decisions/0033.
    history = (
        "prometheus",
        f"--config.file={place.checkout / 'infra' / 'deploy' / 'prometheus' / 'history.yml'}",
        f"--storage.tsdb.path={place.run / 'prometheus-history'}",
        "--storage.tsdb.retention.time=30d",
        "--web.enable-remote-write-receiver",
        f"--web.listen-address={ports.LOOPBACK}:{installation.ports['prometheus_history']}",
        "--log.level=warn",
    )
    alertmanager = (
        "prometheus-alertmanager",
        f"--config.file={place.run / 'alertmanager.yml'}",
        f"--storage.path={place.run / 'alertmanager'}",
        f"--web.listen-address={ports.LOOPBACK}:{installation.ports['alertmanager']}",
        "--cluster.listen-address=",
        "--log.level=warn",
    )
    listing = [
        Program("api", api),
        Program("enrol", enrol),
        Program("worker", worker),
        Program("beat", beat),
        Program("prometheus", prometheus),
        Program("prometheus-history", history),
        Program("alertmanager", alertmanager),
    ]
    if reloading:
        npm = str(place.venv / "bin" / "npm")
        vite = (npm, "--prefix", str(place.checkout / "frontend"), "run", "dev", "--", "--host", ports.LOOPBACK)
        listing.append(Program("vite", (*vite, f"--port={installation.ports[ports.CONSOLE]}", "--strictPort")))
    return listing


def _bound_to_supervisor(program: Program) -> Program:
    """Should the supervisor be killed, the kernel ends its programs, so that the next start finds no strays."""
    prefix = services.dying_with_parent(program.stop_signal, wanted=True)
    return Program(program.name, (*prefix, *program.command), program.stop_signal, program.stop_seconds)


def prometheus_configuration(installation: Installation) -> str:
    """Prometheus' configuration: the one of the containers, aimed at this installation's API."""
    place = installation.place
    source = place.checkout / "infra" / "deploy" / "prometheus"
    api = f"{ports.LOOPBACK}:{installation.api_port}"
    document = yaml.safe_load((source / "prometheus.yml").read_text())
    manager = {"static_configs": [{"targets": [f"{ports.LOOPBACK}:{installation.ports['alertmanager']}"]}]}
    document["alerting"] = {"alertmanagers": [manager]}
    document["rule_files"] = [str(source / "rules" / "*.yml")]
    for job in document["scrape_configs"]:
        for discovery in job.get("http_sd_configs", []):
            discovery.pop("authorization")
            discovery["url"] = f"http://{api}/metrics/targets"
        if "static_configs" in job:
            job.pop("authorization")
            job["static_configs"] = [{"targets": [api]}]
        if "tls_config" in job:
            own = place.secrets / "prometheus.pem"
            files = {"ca_file": place.secrets / "agents-ca.crt", "cert_file": own, "key_file": own}
            job["tls_config"] |= {name: str(file) for name, file in files.items()}
    for remote in document["remote_write"]:
        remote["url"] = f"http://{ports.LOOPBACK}:{installation.ports['prometheus_history']}/api/v1/write"
    return str(yaml.safe_dump(document, sort_keys=False))


def alertmanager_configuration(installation: Installation) -> str:
    """Alertmanager's configuration: the one of the containers, aimed at this installation's API."""
    place = installation.place
    document = yaml.safe_load((place.checkout / "infra" / "deploy" / "alertmanager" / "alertmanager.yml").read_text())
    for receiver in document["receivers"]:
        for webhook in receiver.get("webhook_configs", []):
            webhook["url"] = f"http://{ports.LOOPBACK}:{installation.api_port}/metrics/alerts"
            webhook["http_config"]["authorization"]["credentials_file"] = str(place.secrets / "alerts.token")
    return str(yaml.safe_dump(document, sort_keys=False))
