"""A real Terraform against the whole product on the fleet simulator: operations take seconds, engines are simulated."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.terraform.programs import Terraform, environment
from provisioner.fleet.client import Fleet


@dataclass(frozen=True)
class Product:
    url: str
    token: str
    stranger: str
    """A token of another organisation's owner."""
    fleet: Fleet

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """An answer of the API. Raises HTTPError."""
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: dict[str, Any] = json.loads(answer.read() or b"{}")
        return found

    def cluster_named(self, name: str) -> dict[str, Any] | None:
        found = self.call("GET", f"/clusters?name={name}")["items"]
        return found[0] if found else None

    def with_a_table(self, name: str) -> str:
        """Puts a table shop.orders into the simulated cluster of that name, whose id is returned."""
        found = self.cluster_named(name)
        assert found is not None
        replication = {"fake-fake-1": 3}
        self.fleet.world(
            "create_table",
            cluster_name=f"{name} {found['id']}",
            keyspace="shop",
            table="orders",
            replication=replication,
        )
        identifier: str = found["id"]
        return identifier


@pytest.fixture(scope="session")
def product() -> Iterator[Product]:
    process = subprocess.Popen(
        (sys.executable, "-m", "e2e.simulated"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the product does not start"
        found = json.loads(line)
        yield Product(found["url"], found["token"], found["stranger"], Fleet(Path(found["fleet"])))
        process.stdin.close()
        process.wait(60)
    finally:
        process.kill()


@pytest.fixture
def terraform(product: Product, tmp_path: Path) -> Terraform:
    return Terraform(tmp_path, environment(product.url, product.token))
