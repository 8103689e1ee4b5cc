"""The real API under uvicorn on a private Postgres and Redis, filled with two organisations."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.contract.tenants import Tenants
from infra.local.services import start_postgres, start_redis

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Api:
    url: str
    tenants: Tenants
    log: Path

    def headers(self, token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}


@contextmanager
def serving_api() -> Iterator[Api]:
    """Starts everything in a folder of its own and stops it again. Takes about five seconds."""
    with tempfile.TemporaryDirectory(prefix="ringmaster-contract-") as name:
        folder = Path(name)
        postgres, redis = start_postgres(folder / "postgres"), start_redis(folder / "redis")
        try:
            environment = os.environ | {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url}
            _run(environment, "backend/manage.py", "migrate", "--verbosity=0")
            tenants = Tenants(**json.loads(_run(environment, "-m", "e2e.contract.tenants")))
            with _uvicorn(environment, folder / "api.log") as url:
                yield Api(url, tenants, folder / "api.log")
        finally:
            redis.stop()
            postgres.stop()


def _run(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, *arguments]
    environment = environment | {"PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(command, cwd=CHECKOUT, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextmanager
def _uvicorn(environment: dict[str, str], log: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("wb") as output:
        port = listener.getsockname()[1]
        command = [sys.executable, "-m", "uvicorn", "backend.config.asgi:application", "--fd", str(listener.fileno())]
        process = subprocess.Popen(
            [*command, "--no-access-log", "--timeout-graceful-shutdown=1"],
            cwd=CHECKOUT,
            env=environment,
            pass_fds=[listener.fileno()],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)
