"""A private Postgres that keeps what it has acknowledged through a power loss, and a private Redis, for benchmarks."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from infra.local import services


@dataclass(frozen=True)
class Stores:
    folder: Path
    database_url: str
    redis_url: str


@contextmanager
def durable_stores(postgres_options: Sequence[str] = ()) -> Iterator[Stores]:
    """Both, in a folder of their own that goes afterwards. This process' Django is aimed at them and migrated.

    `postgres_options`: settings of Postgres, each as name=value.
    """
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "postgres").mkdir()
        sockets = services.socket_folder(folder / "postgres")
        data = folder / "postgres" / "data"
        services.prepare_postgres(data, sockets)
        command = services.postgres_command(data, sockets, durable=True, die_with_parent=True)
        command += [word for option in postgres_options for word in ("-c", option)]
        with (folder / "postgres.log").open("ab") as log:
            postgres = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, cwd="/")
        redis = services.start_redis(folder / "redis")
        try:
            while not services.postgres_is_ready(sockets):
                if postgres.poll() is not None:
                    raise RuntimeError((folder / "postgres.log").read_text())
                time.sleep(0.05)
            services.create_database(sockets)
            stores = Stores(folder, services.postgres_url(sockets), redis.url)
            _aim(stores)
            yield stores
        finally:
            redis.stop()
            postgres.send_signal(signal.SIGINT)
            postgres.wait(30)


def _aim(stores: Stores) -> None:
    os.environ.update(
        DATABASE_URL=stores.database_url,
        REDIS_URL=stores.redis_url,
        DJANGO_SETTINGS_MODULE="backend.config.offline_settings",
        RINGMASTER_BENCH_FOLDER=str(stores.folder),
        RINGMASTER_LOG_LEVEL="ERROR",
    )
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


class Processes:
    """Children with a session each, ended with all they started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *module_and_arguments: str) -> int:
        with (self._folder / f"{name}.log").open("ab") as log:
            # With a session of its own a child would outlive a benchmark that is killed.
            command = [*services.dying_with_parent("TERM", wanted=True), sys.executable, "-m", *module_and_arguments]
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        return self._running[name].pid

    def start_worker(self, name: str, *, concurrency: int) -> int:
        """A real worker with the benchmark's kinds of operation."""
        return self.start(
            name,
            *("celery", "--app=e2e.bench.bench_worker", "--quiet", "worker", f"--hostname={name}@bench"),
            *("--pool=prefork", f"--concurrency={concurrency}"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        )

    def start_beat(self) -> int:
        schedule = self._folder / "schedule"
        return self.start(
            "beat", "celery", "--app=e2e.bench.bench_worker", "--quiet", "beat", f"--schedule={schedule}", "--pidfile="
        )

    def end(self, name: str) -> None:
        process = self._running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end_all(self) -> None:
        for name in list(self._running):
            self.end(name)
