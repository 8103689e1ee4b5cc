"""A cluster is ordered on emulated AWS and Google Cloud, through the clouds' own SDKs, down to rows in a real ring.

Starts an emulated cloud (provisioner/providers/aws_emulator, gcp_emulator) whose machines run the real agent on
loopback, and the whole product in a run folder of its own that knows this cloud. A cluster of three nodes in three
zones is ordered over the API; a driver writes and reads rows at QUORUM and reads them back at ALL; Terraform connects
its network with another one and with a service, and takes both away; then the cluster is deleted. Prints a line per
cloud and ends with one line of JSON; exit code 1 when a row is missing, when a connection was not made, or when
anything is left of the cluster in the cloud or on this computer.

    python -m e2e.trials.order_on_emulated_cloud [aws] [gcp]
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from e2e.emulated.hardware import Hardware
from e2e.product import follow, product
from e2e.terraform.programs import Terraform, environment
from e2e.trials.clusters import addresses, connecting, session_of
from infra.local.layout import layout
from provisioner.providers.aws_emulator.emulator import CREDENTIALS, Emulator
from provisioner.providers.gcp_emulator.server import ComputeEmulator
from provisioner.providers.gcp_emulator.world import World

_VERSION = "5.0.5"
_ROWS = 200
# Loopback addresses that the local provider does not use.
_AWS_NETWORKS = "127.64.0.0/10"
_GCP_NETWORKS = 40
_CONNECTIONS = """
resource "ringmaster_vpc_peering" "analytics" {{
  cluster_id   = "{cluster}"
  name         = "analytics"
  peer_network = "{network}"
  cidrs        = ["172.20.0.0/16"]
}}
resource "ringmaster_private_endpoint" "store" {{
  cluster_id = "{cluster}"
  name       = "store"
  service    = "{service}"
}}
"""


@dataclass(frozen=True)
class Cloud:
    """`environment`: what tells the product of it. `leftovers`: what is there, in words. `calls`: how many so far.

    `other_network` makes one to be connected with, and takes it away; `service` is one that somebody publishes.
    """

    environment: dict[str, str]
    region: str
    zones: tuple[str, ...]
    machine_type: str
    leftovers: Callable[[], list[str]]
    calls: Callable[[], int]
    other_network: Callable[[], AbstractContextManager[str]]
    service: str


@dataclass(frozen=True)
class Result:
    """`calls_per_node`: of the whole order, looks included. `connections`: how they stood, by their kinds. Seconds are
    from the API request.
    """

    cloud: str
    good: bool
    order_seconds: float
    delete_seconds: float
    rows: int
    calls_per_node: float
    connections: dict[str, str]
    left: list[str]

    def line(self) -> str:
        connections = ", ".join(f"{kind} {state}" for kind, state in self.connections.items())
        return (
            f"{self.cloud}: {'good' if self.good else 'NOT GOOD'}; ordered in {self.order_seconds:.1f} s, "
            f"{self.rows} of {_ROWS} rows read at ALL, deleted in {self.delete_seconds:.1f} s; "
            f"{self.calls_per_node:.1f} calls per node; {connections or 'NOT CONNECTED'}; "
            f"left: {', '.join(self.left) or 'nothing'}"
        )


@contextmanager
def aws(hardware: Hardware) -> Iterator[Cloud]:
    with Emulator(hook=hardware.boot_aws) as emulator:
        emulator.add_image("cassandra", _VERSION)
        environment = {
            **CREDENTIALS,
            "RINGMASTER_AWS_REGIONS": "us-east-1",
            "RINGMASTER_AWS_ENDPOINT": emulator.url,
            "RINGMASTER_AWS_NETWORKS": _AWS_NETWORKS,
        }
        yield Cloud(
            environment,
            region="us-east-1",
            zones=("us-east-1a", "us-east-1b", "us-east-1c"),
            machine_type="i3.large",
            leftovers=emulator.leftovers,
            calls=lambda: len(emulator.calls),
            other_network=lambda: _vpc(emulator),
            service="com.amazonaws.vpce.us-east-1.vpce-svc-0123",
        )


@contextmanager
def _vpc(emulator: Emulator) -> Iterator[str]:
    moto = emulator.region("us-east-1").moto
    made = moto.create_vpc("172.20.0.0/16")
    yield made.id
    moto.delete_vpc(made.id)


@contextmanager
def gcp(hardware: Hardware) -> Iterator[Cloud]:
    world = World(loopback=_GCP_NETWORKS, program=hardware.boot_gcp)
    with ComputeEmulator(world) as emulator:
        world.add_image(engine="cassandra", version=_VERSION)
        environment = {"RINGMASTER_GCP_PROJECT": world.project, "RINGMASTER_GCP_ENDPOINT": emulator.url}
        yield Cloud(
            environment,
            region="us-central1",
            zones=("us-central1-a", "us-central1-b", "us-central1-c"),
            machine_type="n2-highmem-2",
            leftovers=world.inventory,
            calls=lambda: len(world.calls),
            other_network=lambda: nullcontext("their-net"),
            service="projects/theirs/regions/us-central1/serviceAttachments/store",
        )


CLOUDS = {"aws": aws, "gcp": gcp}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("cloud", nargs="*", choices=[[], *CLOUDS], help="default: all")
    results = [try_on(name) for name in parser.parse_args().cloud or CLOUDS]
    print(json.dumps({"trial": "order_on_emulated_cloud", "clouds": [asdict(result) for result in results]}))
    return 0 if all(result.good for result in results) else 1


def try_on(name: str) -> Result:
    """Order, write, read and delete on one cloud."""
    place = layout()
    with tempfile.TemporaryDirectory(prefix="rm-cloud-") as scratch:
        hardware = Hardware(Path(scratch) / "machines", place.agent, place.engines)
        with CLOUDS[name](hardware) as cloud:
            os.environ.update(cloud.environment)
            try:
                with product(Path(scratch) / "run") as api:
                    result = _order_and_delete(api, name, cloud, hardware, Path(scratch))
            finally:
                for variable in cloud.environment:
                    os.environ.pop(variable)
    print(result.line(), flush=True)
    return result


def _order_and_delete(api: httpx.Client, name: str, cloud: Cloud, hardware: Hardware, scratch: Path) -> Result:
    wanted = {
        "name": f"on-{name}",
        "engine": "cassandra",
        "engine_version": _VERSION,
        "provider": name,
        "region": cloud.region,
        "zones": list(cloud.zones),
        "machine_type": cloud.machine_type,
        "nodes_per_zone": 1,
    }
    before, began = cloud.calls(), time.monotonic()
    started = api.post("/clusters", json=wanted).raise_for_status().json()
    follow(api, started["operation"]["id"])
    order_seconds, calls = time.monotonic() - began, cloud.calls() - before
    cluster = started["cluster"]["id"]
    rows = write_and_read(api, cluster)
    connections = connect(api, cluster, cloud, scratch)
    began = time.monotonic()
    follow(api, api.delete(f"/clusters/{cluster}").raise_for_status().json()["operation"]["id"])
    delete_seconds = time.monotonic() - began
    left = [*cloud.leftovers(), *hardware.left()]
    return Result(
        cloud=name,
        good=rows == _ROWS and set(connections) == {"peering", "endpoint"} and not left,
        order_seconds=round(order_seconds, 1),
        delete_seconds=round(delete_seconds, 1),
        rows=rows,
        calls_per_node=round(calls / len(cloud.zones), 1),
        connections=connections,
        left=left,
    )


def connect(api: httpx.Client, cluster: str, cloud: Cloud, scratch: Path) -> dict[str, str]:
    """How connections that Terraform makes stand, by their kinds; it has taken them away. Empty: it could not."""
    token = api.headers["Authorization"].removeprefix("Bearer ")
    folder = scratch / "terraform"
    folder.mkdir()
    terraform = Terraform(folder, environment(str(api.base_url).partition("/api/")[0], token))
    with cloud.other_network() as network:
        terraform.write(_CONNECTIONS.format(cluster=cluster, network=network, service=cloud.service))
        for said in (terraform.apply(), terraform.plan()):
            if said.code != 0:
                print(said.text, flush=True)
                return {}
        path = f"/clusters/{cluster}/network-connections"
        found = {one["kind"]: one["state"] for one in api.get(path).raise_for_status().json()["items"]}
        gone = terraform.destroy()
        left = api.get(path).raise_for_status().json()["items"]
        return found if gone.code == 0 and not left else {}


def write_and_read(api: httpx.Client, cluster: str) -> int:
    """How many of the rows that were written through the first node are read at ALL through the last."""
    known = connecting(api, cluster)
    first, *_, last = addresses(api, cluster)
    writer = session_of(first, known)
    reader = session_of(last, known)
    try:
        session = writer.connect()
        replication = f"{{'class': 'NetworkTopologyStrategy', '{known.datacenter}': 3}}"
        session.execute(f"CREATE KEYSPACE trial WITH replication = {replication}")
        session.execute("CREATE TABLE trial.word (id int PRIMARY KEY, word text)")
        for number in range(_ROWS):
            session.execute("INSERT INTO trial.word (id, word) VALUES (%s, %s)", (number, f"word {number}"))
        other = reader.connect()
        found = [other.execute("SELECT word FROM trial.word WHERE id = %s", (number,)).one() for number in range(_ROWS)]
        return sum(row is not None and row.word == f"word {number}" for number, row in enumerate(found))
    finally:
        writer.shutdown()
        reader.shutdown()


if __name__ == "__main__":
    sys.exit(main())
