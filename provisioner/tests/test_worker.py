"""Real worker processes against a broker that comes, goes and comes back empty."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from django.db import connection

from backend.operations.models import Operation
from backend.operations.states import OperationState
from infra.local import services
from provisioner.tests import plans
from provisioner.watchdog import DEAF_EXIT_CODE

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[services.Redis]:
    redis = services.start_redis(tmp_path / "redis")
    yield redis
    redis.stop()


@contextmanager
def celery(folder: Path, broker: services.Redis, *arguments: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker or beat on the test's own database, ended with all its children."""
    (folder / "world").mkdir(exist_ok=True)
    database = connection.get_connection_params()
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "backend.config.offline_settings",
        "DATABASE_URL": f"postgresql:///{database['dbname']}?host={database['host']}&user={database['user']}",
        "REDIS_URL": broker.url,
        "RINGMASTER_CHAOS_FOLDER": str(folder),
        **more,
    }
    command = [sys.executable, "-m", "celery", "--app=provisioner.tests.chaos_worker", "--quiet", *arguments]
    with (folder / f"{arguments[0]}.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):  # it ended by itself, as some tests want
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


WORKER = ("worker", "--concurrency=2", "--without-gossip", "--without-mingle", "--without-heartbeat")


def beat(folder: Path) -> tuple[str, ...]:
    return ("beat", f"--schedule={folder / 'schedule'}", "--pidfile=")


def wait_for(what: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def finished(operation: Operation) -> bool:
    return Operation.objects.filter(id=operation.id, state=OperationState.SUCCEEDED).exists()


def order() -> Operation:
    return plans.start(["network"], ["machine@a", "machine@b"], ["prove"], kind="chaos")


def test_it_comes_up_before_its_broker_and_outlives_an_empty_restart(tmp_path: Path, broker: services.Redis) -> None:
    broker.stop()
    with celery(tmp_path, broker, *WORKER) as worker, celery(tmp_path, broker, *beat(tmp_path)) as beat_process:
        early = order()
        time.sleep(4)
        broker.start()
        wait_for(lambda: finished(early), 40)
        broker.kill()
        late = order()
        time.sleep(1)
        broker.start()
        wait_for(lambda: finished(late), 40)
        assert worker.poll() is None
        assert beat_process.poll() is None


def test_with_the_broker_away_operations_go_on_without_it(tmp_path: Path, broker: services.Redis) -> None:
    with celery(tmp_path, broker, *WORKER) as worker, celery(tmp_path, broker, *beat(tmp_path)):
        before = order()
        wait_for(lambda: finished(before), 60)
        broker.kill()
        late, waiting = order(), order()
        wait_for(lambda: finished(late) and finished(waiting), 60)
        assert standbys(worker) == 1
        broker.start()
        wait_for(lambda: standbys(worker) == 0, 30)
        assert worker.poll() is None


def standbys(worker: subprocess.Popen[bytes]) -> int:
    """Processes beside the worker that run operations without messages."""
    found = 0
    for child in psutil.Process(worker.pid).children():
        with suppress(psutil.NoSuchProcess):
            found += child.cmdline()[-2:] == ["-m", "provisioner.tests.chaos_worker"]
    return found


def test_a_deaf_worker_ends_so_that_it_is_started_again(tmp_path: Path, broker: services.Redis) -> None:
    with celery(tmp_path, broker, *WORKER, RINGMASTER_CHAOS_DEAF="1") as worker:
        assert worker.wait(30) == DEAF_EXIT_CODE


def test_a_worker_whose_processes_all_work_is_not_taken_for_deaf(tmp_path: Path, broker: services.Redis) -> None:
    with celery(tmp_path, broker, *WORKER, RINGMASTER_CHAOS_BUSY="6") as worker:
        wait_for(lambda: len(list(tmp_path.glob("worked-*"))) == 6 or worker.poll() is not None, 60)
        assert worker.poll() is None
