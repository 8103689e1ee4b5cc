"""The entry points of the containers, run here: what they draw, and that Redis asks for its password."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from infra.local.layout import CHECKOUT

DEPLOY = CHECKOUT / "infra" / "deploy"


def start(folder: Path, verb: str, **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        [str(DEPLOY / "control-plane" / "start"), verb],
        env={"PATH": path, "RINGMASTER_FOLDER": str(folder), **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("secrets", "stores", "metrics"):
        (tmp_path / name).mkdir()
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_it_draws_what_is_secret_once_and_for_itself(folder: Path):
    assert start(folder, "keys").returncode == 0
    drawn = contents(folder)
    assert set(drawn) == {
        *("secrets/django.key", "secrets/master.key", "secrets/pgpass"),
        *("stores/postgres.password", "stores/redis.password"),
        *("metrics/metrics.token", "metrics/alerts.token"),
    }
    assert all(len(value) >= 32 for value in drawn.values())
    assert {file.stat().st_mode & 0o777 for file in folder.rglob("*") if file.is_file()} == {0o600}
    assert start(folder, "keys").returncode == 0
    assert contents(folder) == drawn


def test_it_takes_what_an_older_installation_has_drawn(folder: Path):
    (folder / "secrets" / "postgres.password").write_text("drawn before")
    assert start(folder, "keys").returncode == 0
    assert (folder / "stores" / "postgres.password").read_text() == "drawn before"
    assert (folder / "secrets" / "pgpass").read_text() == "*:*:*:ringmaster:drawn before\n"


def test_it_says_which_services_there_are(folder: Path):
    answer = start(folder, "everything")
    assert answer.returncode == 2
    assert "keys, migrate, api, enrol, worker or beat" in answer.stderr


def test_it_knows_a_sign_of_life_from_an_old_one(tmp_path: Path):
    file = tmp_path / "alive"
    assert start(tmp_path, "alive", RINGMASTER_ALIVE_FILE=str(file)).returncode != 0
    file.touch()
    assert start(tmp_path, "alive", RINGMASTER_ALIVE_FILE=str(file)).returncode == 0
    os.utime(file, (time.time() - 90, time.time() - 90))
    assert start(tmp_path, "alive", RINGMASTER_ALIVE_FILE=str(file)).returncode != 0


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = int(taken.getsockname()[1])
    (tmp_path / "password").write_text("s3cret")
    environment = _redis_environment(tmp_path, number)
    process = subprocess.Popen([str(DEPLOY / "redis" / "start")], env=environment, stdout=subprocess.DEVNULL)
    try:
        yield number
    finally:
        process.terminate()
        process.wait(10)


def _redis_environment(folder: Path, port: int) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "TMPDIR": str(folder),
        "REDIS_PORT": str(port),
        "RINGMASTER_REDIS_PASSWORD_FILE": str(folder / "password"),
    }


def test_redis_answers_only_who_knows_the_password(port: int, tmp_path: Path):
    healthy = [str(DEPLOY / "redis" / "start"), "healthy"]
    until = time.monotonic() + 10
    while subprocess.run(healthy, env=_redis_environment(tmp_path, port), capture_output=True).returncode:
        assert time.monotonic() < until
        time.sleep(0.1)
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=port).ping()
    assert redis.Redis(port=port, password="s3cret").ping()
    assert (tmp_path / "redis.conf").stat().st_mode & 0o077 == 0
