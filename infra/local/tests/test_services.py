import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from infra.local import migrated, services

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
def place() -> Iterator[Path]:
    # Not tmp_path: socket addresses are short.
    folder = Path(tempfile.mkdtemp(prefix="rm-services-"))
    yield folder
    shutil.rmtree(folder)


def test_postgres_keeps_its_data_through_a_restart_and_a_kill(place: Path) -> None:
    postgres = services.start_postgres(place)
    try:
        with psycopg.connect(postgres.url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
        postgres.restart()
        first = postgres.pid
        postgres.kill()
        postgres.start()
        assert postgres.pid != first
        with psycopg.connect(postgres.url) as connection:
            assert connection.execute("SELECT one FROM kept").fetchone() == (1,)
    finally:
        postgres.stop()


def test_redis_comes_back_empty_after_a_kill(place: Path) -> None:
    server = services.start_redis(place)
    try:
        client = redis.Redis.from_url(server.url)
        client.set("key", "value")
        client.close()
        server.kill()
        server.start()
        assert client.get("key") is None
        client.close()
    finally:
        server.stop()


def test_a_stopped_service_has_no_pid_and_can_be_stopped_again(place: Path) -> None:
    server = services.start_redis(place)
    server.stop()
    server.stop()
    with pytest.raises(services.ServiceError, match="does not run"):
        _ = server.pid


def test_services_end_with_the_process_that_started_them_however_it_dies(place: Path) -> None:
    program = (
        "import sys, os; from pathlib import Path; from infra.local import migrated, services\n"
        "server = services.start_redis(Path(sys.argv[1])); print(server.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    died = subprocess.run(
        [sys.executable, "-c", program, str(place)], capture_output=True, text=True, check=False, cwd=CHECKOUT
    )
    assert died.returncode == -signal.SIGKILL
    _wait_until_gone(int(died.stdout))


def test_a_long_path_gets_a_short_socket_folder_of_its_own(tmp_path: Path) -> None:
    long = tmp_path / ("a" * 80)
    first, second = services.socket_folder(long), services.socket_folder(long.with_name("b" * 80))
    try:
        assert len(str(first)) < 88
        assert first != second
        assert services.socket_folder(long) == first
        assert stat.S_IMODE(first.stat().st_mode) == 0o700
    finally:
        first.rmdir()
        second.rmdir()


def test_a_socket_folder_that_is_a_link_is_refused(place: Path) -> None:
    (place / "elsewhere").mkdir()
    (place / "sock").symlink_to(place / "elsewhere")
    with pytest.raises(services.ServiceError, match="somebody else"):
        services.socket_folder(place)


def test_the_test_session_uses_the_servers_it_is_given() -> None:
    assert services.test_services(migrated.prepared_files) == {
        "DATABASE_URL": os.environ["DATABASE_URL"],
        "REDIS_URL": os.environ["REDIS_URL"],
    }


def _wait_until_gone(pid: int) -> None:
    import time

    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists():
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "Z":  # nobody collects orphans in some containers
            return
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.05)
