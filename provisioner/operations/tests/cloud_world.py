"""A tenant who orders on emulated clouds, spoken to through their own SDKs; agents are pretended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import pytest

from backend.catalog import actions as catalog
from backend.catalog.states import CLOUDS
from backend.clusters import actions
from backend.clusters.schemas import ClusterOrder
from backend.operations.models import Operation
from provisioner import runner
from provisioner.agent.fake import FakeAgents
from provisioner.operations import registry
from provisioner.operations.surroundings import Surroundings, surroundings, use
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world, without_waiting
from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.emulator import CREDENTIALS, Emulator
from provisioner.providers.base import Machine, Provider
from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp_emulator.world import World as GoogleCloud
from provisioner.providers.tests import aws_world, gcp_world


@dataclass
class Cloud:
    """An emulated cloud, a way to order there, and from where its firewall lets clients in."""

    provider: Provider
    order: ClusterOrder
    let_in: Callable[[str, int], set[str]]
    """By network and port."""
    add_image: Callable[[str, str], object]
    """For an engine and a version."""
    other: Callable[[], str]
    """A network of somebody else, by its name there."""
    retire: Callable[[Machine, datetime], None]
    """Announces that a machine is taken away then."""


def _order(provider: str, region: str, zones: tuple[str, ...], machine_type: str) -> ClusterOrder:
    return ClusterOrder(
        name="walled",
        engine="cassandra",
        provider=provider,
        region=region,
        zones=list(zones),
        machine_type=machine_type,
        nodes_per_zone=1,
    )


@contextmanager
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with Emulator() as emulator:
        emulator.add_image("cassandra", aws_world.VERSION)

        def let_in(network: str, port: int) -> set[str]:
            wanted = [{"Name": "tag:ringmaster:network", "Values": [network]}]
            groups = aws_world.plain(emulator).describe_security_groups(Filters=wanted)["SecurityGroups"]
            rules = [rule for group in groups for rule in group["IpPermissions"] if rule.get("FromPort") == port]
            return {block["CidrIp"] for rule in rules for block in rule["IpRanges"]}

        yield Cloud(
            AwsProvider(AwsSettings(endpoint_url=emulator.url, control_plane_cidrs=("192.0.2.0/24",))),
            _order("aws", aws_world.REGION, aws_world.ZONES, "i3.large"),
            let_in,
            emulator.add_image,
            lambda: str(emulator.region(aws_world.REGION).moto.create_vpc("172.20.0.0/16").id),
            lambda machine, when: emulator.announce(
                aws_world.REGION,
                machine.id,
                code="instance-retirement",
                description="The hardware fails",
                not_before=f"{when:%Y-%m-%dT%H:%M:%S.000Z}",
            ),
        )


@contextmanager
def gcp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    cloud = GoogleCloud()
    with gcp_world.emulated(cloud) as emulator:

        def let_in(network: str, port: int) -> set[str]:
            rule = cloud.resources.get(f"global/firewalls/{network}-clients")
            open_ = rule is not None and any(str(port) in allowed.ports for allowed in rule.allowed)
            return set(rule.source_ranges) if open_ else set()

        yield Cloud(
            GcpProvider(gcp_world.settings_for(emulator)),
            _order("gcp", gcp_world.REGION, gcp_world.ZONES, "n2-highmem-8"),
            let_in,
            lambda engine, version: cloud.add_image(engine=engine, version=version),
            lambda: "their-net",
            lambda machine, when: cloud.announce_maintenance(machine.name, starts=when.isoformat()),
        )


@contextmanager
def world_on(cloud: Cloud) -> Iterator[ClusterWorld]:
    with cluster_world(ClusterWorld.create) as world:
        catalog.load(with_tests=True, clouds=dict.fromkeys(CLOUDS))
        agents = FakeAgents(None)
        inner = surroundings()
        with use(
            Surroundings(
                provider=lambda name, account=None: cloud.provider,
                engine=inner.engine,
                agent=lambda node: agents.client(node_id=node.id, address=node.agent_address),
                served_certificate=inner.served_certificate,
            )
        ):
            yield world


def ended(operation: Operation) -> str:
    while runner.run(operation.id, find_code=registry.find).again_in is not None:
        without_waiting(operation)
    operation.refresh_from_db()
    return f"{operation.state} {operation.reason}".strip()


def create(world: ClusterWorld, cloud: Cloud) -> None:
    """An active cluster of three nodes."""
    started = actions.create(world.who, cloud.order)
    world.cluster_id = started["cluster"]["id"]
    assert ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
