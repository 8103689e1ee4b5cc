"""The real API under uvicorn on a private Postgres and Redis, filled with two organisations."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.contract.tenants import Tenants
from e2e.serving import CHECKOUT, serving
from infra.local.services import start_postgres, start_redis
from infra.metrics import serving as prometheus

API = "backend.config.asgi:application"
_NOBODY_IS_TOLD = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


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
            prometheus.load(folder / "prometheus", _samples(tenants))
            log = folder / "api.log"
            with (
                prometheus.serving(folder / "prometheus") as store,
                prometheus.alertmanager(folder / "alertmanager", configuration=_NOBODY_IS_TOLD) as alertmanager,
                log.open("wb") as output,
            ):
                environment |= {"RINGMASTER_PROMETHEUS_URL": store, "RINGMASTER_ALERTMANAGER_URL": alertmanager}
                with serving(API, environment=environment, log=output) as server:
                    yield Api(server.url, tenants, log)
        finally:
            redis.stop()
            postgres.stop()


def _samples(tenants: Tenants) -> str:
    """Numbers of a table of each organisation, for the hour that the tests may take."""
    now = int(time.time())
    return "".join(
        f'ringmaster_table_live_bytes{{cluster="{ids["cluster_id"]}",organisation="{ids["organisation_id"]}",'
        f'keyspace="{ids["keyspace"]}",table="{ids["table"]}"}} 1 {at}\n'
        for ids in (tenants.ids, tenants.stranger_ids)
        for at in range(now - 60, now + 3600, 60)
    )


def _run(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, *arguments]
    environment = environment | {"PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(command, cwd=CHECKOUT, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
