from dataclasses import replace

import pytest

from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.emulator import Emulator
from provisioner.providers.aws_emulator.faults import CONNECTION_LOST, Fault, Moment
from provisioner.providers.base import ConnectionState, EndpointSpec, InvalidRequest, PeeringSpec, ProviderError
from provisioner.providers.tests.aws_world import NETWORK, REGION, plain

SERVICE = "com.amazonaws.vpce.us-east-1.vpce-svc-0123"
ENDPOINT = EndpointSpec(name="keys", network=NETWORK.name, region=REGION, service=SERVICE)


@pytest.fixture
def provider(aws_settings: AwsSettings) -> AwsProvider:
    provider = AwsProvider(aws_settings)
    provider.ensure_network(NETWORK)
    return provider


@pytest.fixture
def peering(aws_cloud: Emulator) -> PeeringSpec:
    theirs = aws_cloud.region(REGION).moto.create_vpc("172.20.0.0/16")
    return PeeringSpec(name="shop", network=NETWORK.name, region=REGION, peer_network=theirs.id)


def routes_to(cloud: Emulator, block: str) -> int:
    tables = plain(cloud).describe_route_tables()["RouteTables"]
    routes = [route for table in tables for route in table["Routes"]]
    return sum(1 for one in routes if one.get("DestinationCidrBlock") == block and "VpcPeeringConnectionId" in one)


def test_it_waits_for_a_peering_to_be_accepted_and_then_adds_the_route(
    aws_cloud: Emulator, provider: AwsProvider, peering: PeeringSpec
) -> None:
    made = provider.connections.ensure_peering(peering)
    waiting = provider.connections.ensure_peering(peering)
    assert waiting.id == made.id
    assert waiting.state is ConnectionState.WAITING_FOR_YOU
    assert "Accept the peering connection" in waiting.message
    assert routes_to(aws_cloud, "172.20.0.0/16") == 0
    aws_cloud.region(REGION).moto.accept_vpc_peering_connection(made.id)
    for _ in range(2):
        assert provider.connections.ensure_peering(peering).state is ConnectionState.READY
    assert routes_to(aws_cloud, "172.20.0.0/16") == 1
    with pytest.raises(InvalidRequest):
        provider.connections.ensure_peering(replace(peering, peer_network="vpc-other"))


def test_it_says_that_a_peering_was_rejected(aws_cloud: Emulator, provider: AwsProvider, peering: PeeringSpec) -> None:
    made = provider.connections.ensure_peering(peering)
    aws_cloud.region(REGION).moto.reject_vpc_peering_connection(made.id)
    found = provider.connections.find_peering(region=REGION, network=NETWORK.name, name="shop")
    assert found is not None
    assert found.state is ConnectionState.FAILED


def test_it_deletes_a_peering_with_its_route(aws_cloud: Emulator, provider: AwsProvider, peering: PeeringSpec) -> None:
    made = provider.connections.ensure_peering(peering)
    aws_cloud.region(REGION).moto.accept_vpc_peering_connection(made.id)
    provider.connections.ensure_peering(peering)
    for _ in range(2):
        assert provider.connections.delete_peering(region=REGION, network=NETWORK.name, name="shop")
    assert routes_to(aws_cloud, "172.20.0.0/16") == 0
    assert provider.connections.find_peering(region=REGION, network=NETWORK.name, name="shop") is None


def test_it_waits_for_an_endpoint_to_be_accepted(aws_cloud: Emulator, provider: AwsProvider) -> None:
    made = provider.connections.ensure_endpoint(ENDPOINT)
    endpoint = aws_cloud.region(REGION).moto.vpc_end_points[made.id]
    endpoint.state = "pendingAcceptance"
    waiting = provider.connections.ensure_endpoint(ENDPOINT)
    assert waiting.state is ConnectionState.WAITING_FOR_YOU
    assert SERVICE in waiting.message
    endpoint.state = "available"
    ready = provider.connections.find_endpoint(region=REGION, network=NETWORK.name, name="keys")
    assert ready is not None
    assert ready.state is ConnectionState.READY
    assert ready.names
    with pytest.raises(InvalidRequest):
        provider.connections.ensure_endpoint(replace(ENDPOINT, service="com.amazonaws.us-east-1.s3"))


def test_it_makes_an_endpoint_once_although_the_answer_was_lost(aws_cloud: Emulator, provider: AwsProvider) -> None:
    aws_cloud.faults.inject(Fault(code=CONNECTION_LOST, action="CreateVpcEndpoint", moment=Moment.AFTER, times=1))
    with pytest.raises(ProviderError):
        provider.connections.ensure_endpoint(ENDPOINT)
    provider.connections.ensure_endpoint(ENDPOINT)
    assert sum(thing.startswith("endpoint") for thing in aws_cloud.leftovers()) == 1


def test_it_deletes_connections_with_their_network(
    aws_cloud: Emulator, provider: AwsProvider, peering: PeeringSpec
) -> None:
    provider.connections.ensure_peering(peering)
    provider.connections.ensure_endpoint(ENDPOINT)
    assert not provider.delete_network(region=REGION, name=NETWORK.name)
    assert provider.delete_network(region=REGION, name=NETWORK.name)
    assert aws_cloud.leftovers() == [f"vpc {peering.peer_network}"]


def test_it_connects_nothing_to_a_network_that_is_not_there(provider: AwsProvider) -> None:
    with pytest.raises(InvalidRequest, match="no network"):
        provider.connections.ensure_endpoint(replace(ENDPOINT, network="rm-none"))
