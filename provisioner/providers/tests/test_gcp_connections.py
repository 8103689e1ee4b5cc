from collections.abc import Iterator
from dataclasses import replace

import pytest

from provisioner.providers.base import ConnectionState, EndpointSpec, InvalidRequest, PeeringSpec
from provisioner.providers.gcp import connections
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp_emulator.world import World as Cloud
from provisioner.providers.tests.gcp_world import NETWORK, REGION, emulated, settings_for, spec

PEERING = PeeringSpec(
    name="office", network=NETWORK.name, region=REGION, peer_owner="their-project", peer_network="their-net"
)
SERVICE = "projects/their-project/regions/us-central1/serviceAttachments/store"
ENDPOINT = EndpointSpec(name="store", network=NETWORK.name, region=REGION, service=SERVICE, tags={"team": "data"})


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def compute(cloud: Cloud) -> Iterator[Compute]:
    with emulated(cloud) as emulator:
        settings = settings_for(emulator)
        GcpProvider(settings).ensure_network(NETWORK)
        yield Compute(settings)


def test_it_waits_for_the_other_side_of_a_peering(cloud: Cloud, compute: Compute) -> None:
    made = connections.ensure_peering(compute, PEERING)
    assert made.state is ConnectionState.WAITING_FOR_YOU
    assert "projects/their-project/global/networks/their-net" in made.message
    assert "projects/test-project/global/networks/rm-net" in made.message
    cloud.resources["global/networks/rm-net"].peerings[0].state = "ACTIVE"
    assert connections.ensure_peering(compute, PEERING).state is ConnectionState.READY
    assert connections.find_peering(compute, network="rm-net", name="office") == connections.ensure_peering(
        compute, PEERING
    )


def test_it_makes_and_deletes_a_peering_as_often_as_it_is_asked(cloud: Cloud, compute: Compute) -> None:
    for _ in range(3):
        connections.ensure_peering(compute, PEERING)
        connections.ensure_peering(compute, PEERING)
        assert len(cloud.resources["global/networks/rm-net"].peerings) == 1
        assert connections.delete_peering(compute, network="rm-net", name="office")
        assert connections.delete_peering(compute, network="rm-net", name="office")
        assert connections.find_peering(compute, network="rm-net", name="office") is None


def test_it_refuses_to_peer_with_somebody_else_under_the_same_name(compute: Compute) -> None:
    connections.ensure_peering(compute, PEERING)
    with pytest.raises(InvalidRequest):
        connections.ensure_peering(compute, replace(PEERING, peer_network="another"))
    with pytest.raises(InvalidRequest):
        connections.ensure_peering(compute, replace(PEERING, network="rm-none"))


def test_it_waits_for_the_owner_of_a_service(cloud: Cloud, compute: Compute) -> None:
    made = connections.ensure_endpoint(compute, ENDPOINT)
    assert made.state is ConnectionState.WAITING_FOR_YOU
    assert SERVICE in made.message
    assert made.address.startswith("10.")
    rule = cloud.resources["regions/us-central1/forwardingRules/rm-net-store"]
    assert rule.labels["team"] == "data"
    for status, state in (("ACCEPTED", ConnectionState.READY), ("REJECTED", ConnectionState.FAILED)):
        rule.psc_connection_status = status
        found = connections.find_endpoint(compute, region=REGION, network="rm-net", name="store")
        assert found is not None
        assert found.state is state


def test_it_makes_and_deletes_an_endpoint_as_often_as_it_is_asked(cloud: Cloud, compute: Compute) -> None:
    before = cloud.inventory()
    for _ in range(2):
        assert connections.ensure_endpoint(compute, ENDPOINT) == connections.ensure_endpoint(compute, ENDPOINT)
        assert connections.delete_endpoint(compute, region=REGION, network="rm-net", name="store")
        assert connections.delete_endpoint(compute, region=REGION, network="rm-net", name="store")
        assert cloud.inventory() == before


def test_it_refuses_another_service_under_the_same_name(compute: Compute) -> None:
    connections.ensure_endpoint(compute, ENDPOINT)
    with pytest.raises(InvalidRequest):
        connections.ensure_endpoint(compute, replace(ENDPOINT, service=f"{SERVICE}-2"))


def test_it_deletes_a_network_with_its_connections(cloud: Cloud, compute: Compute) -> None:
    connections.ensure_peering(compute, PEERING)
    connections.ensure_endpoint(compute, ENDPOINT)
    provider = GcpProvider(compute.settings)
    assert not provider.delete_network(region=REGION, name=NETWORK.name)
    assert provider.delete_network(region=REGION, name=NETWORK.name)
    assert cloud.inventory() == []


def test_it_keeps_the_connections_of_a_network_that_has_machines(cloud: Cloud, compute: Compute) -> None:
    connections.ensure_peering(compute, PEERING)
    connections.ensure_endpoint(compute, ENDPOINT)
    provider = GcpProvider(compute.settings)
    provider.ensure_machine(spec())
    before = cloud.inventory()
    assert not provider.delete_network(region=REGION, name=NETWORK.name)
    assert cloud.inventory() == before
    assert cloud.resources["global/networks/rm-net"].peerings
