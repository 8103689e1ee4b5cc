from dataclasses import replace

import pytest

from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.emulator import Emulator
from provisioner.providers.aws_emulator.faults import CONNECTION_LOST, Fault, Moment
from provisioner.providers.base import InvalidRequest, NotFound, ProviderError, QuotaExceeded
from provisioner.providers.tests.aws_world import NETWORK, REGION, ZONES, plain, spec


def open_to(cloud: Emulator, port: int) -> set[str]:
    named = [{"Name": "group-name", "Values": [NETWORK.name]}]
    (group,) = plain(cloud).describe_security_groups(Filters=named)["SecurityGroups"]
    return {
        block.get("CidrIp") or block["CidrIpv6"]
        for rule in group["IpPermissions"]
        if rule.get("FromPort") == port
        for block in rule["IpRanges"] + rule["Ipv6Ranges"]
    }


def kinds(cloud: Emulator) -> list[str]:
    return sorted(thing.split()[0] for thing in cloud.leftovers())


def test_it_makes_a_vpc_with_a_subnet_and_a_rack_per_zone(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    AwsProvider(aws_settings).ensure_network(NETWORK)
    assert kinds(aws_cloud) == ["group", "rack", "rack", "rack", "subnet", "subnet", "subnet", "vpc"]
    assert sorted(aws_cloud.region(REGION).placement.groups) == [f"rm-clu-1-{zone}" for zone in ZONES]


def test_it_lets_only_the_control_plane_reach_agents(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    AwsProvider(aws_settings).ensure_network(NETWORK)
    assert open_to(aws_cloud, 7443) == {"192.0.2.0/24"}
    assert open_to(aws_cloud, 9042) == set()


def test_it_lets_in_the_clients_of_the_allowlist_and_nobody_else(
    aws_cloud: Emulator, aws_settings: AwsSettings
) -> None:
    provider = AwsProvider(aws_settings)
    provider.ensure_network(NETWORK)
    for sources, blocks in (
        (["198.51.100.7", "203.0.113.0/24"], {"198.51.100.7/32", "203.0.113.0/24"}),
        (["203.0.113.0/24", "2001:db8::/32"], {"203.0.113.0/24", "2001:db8::/32"}),
        ([], set()),
    ):
        for _ in range(2):
            provider.allow_clients(region=REGION, network=NETWORK.name, sources=sources, ports=[9042])
            assert open_to(aws_cloud, 9042) == blocks
    with pytest.raises(InvalidRequest, match="not a CIDR"):
        provider.allow_clients(region=REGION, network=NETWORK.name, sources=["everybody"], ports=[9042])
    with pytest.raises(NotFound):
        provider.allow_clients(region=REGION, network="rm-none", sources=[], ports=[9042])


def test_it_opens_the_ports_that_the_engine_has_and_closes_the_others(
    aws_cloud: Emulator, aws_settings: AwsSettings
) -> None:
    provider = AwsProvider(aws_settings)
    provider.ensure_network(NETWORK)
    office = "198.51.100.0/24"
    for ports in ([9042], [9042, 8043], [9042, 8100], [9042]):
        provider.allow_clients(region=REGION, network=NETWORK.name, sources=[office], ports=ports)
        assert {port for port in (9042, 8043, 8100) if open_to(aws_cloud, port) == {office}} == set(ports)
        assert {port for port in (9042, 8043, 8100) if open_to(aws_cloud, port)} == set(ports)
        assert open_to(aws_cloud, 7443) == {"192.0.2.0/24"}


def test_it_gives_a_way_out_only_where_addresses_are_public(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    provider = AwsProvider(replace(aws_settings, public_addresses=True))
    provider.ensure_network(NETWORK)
    provider.ensure_network(NETWORK)
    assert kinds(aws_cloud).count("gateway") == 1
    ours = [{"Name": "tag:ringmaster:network", "Values": [NETWORK.name]}]
    (gateway,) = plain(aws_cloud).describe_internet_gateways(Filters=ours)["InternetGateways"]
    routes = [route for table in plain(aws_cloud).describe_route_tables()["RouteTables"] for route in table["Routes"]]
    assert gateway["InternetGatewayId"] in [route.get("GatewayId") for route in routes]
    assert provider.delete_network(region=REGION, name=NETWORK.name)
    assert aws_cloud.leftovers() == []


def test_it_uses_a_vpc_that_is_given_and_leaves_it_as_it_was(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    moto = aws_cloud.region(REGION).moto
    given = moto.create_vpc("10.9.0.0/16")
    moto.create_subnet(given.id, "10.9.0.0/24", availability_zone=ZONES[0])
    before = aws_cloud.leftovers()
    provider = AwsProvider(replace(aws_settings, vpcs=((REGION, given.id),)))
    made = provider.ensure_network(NETWORK)
    assert provider.ensure_network(NETWORK) == made
    assert provider.list_networks(region=REGION) == [made]
    with pytest.raises(InvalidRequest, match="other zones"):
        provider.ensure_network(replace(NETWORK, zones=ZONES[:2]))
    machine = provider.ensure_machine(spec(provider))
    assert machine.address.startswith("10.9.1.")
    assert not provider.delete_network(region=REGION, name=NETWORK.name)
    while not provider.delete_machine(region=REGION, name=machine.name):
        pass
    assert provider.delete_network(region=REGION, name=NETWORK.name)
    assert aws_cloud.leftovers() == before


def test_it_says_that_a_given_vpc_is_not_there_or_is_full(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    with pytest.raises(InvalidRequest, match="vpc-none"):
        AwsProvider(replace(aws_settings, vpcs=((REGION, "vpc-none"),))).ensure_network(NETWORK)
    moto = aws_cloud.region(REGION).moto
    given = moto.create_vpc("10.9.0.0/24")
    moto.create_subnet(given.id, "10.9.0.0/25", availability_zone=ZONES[0])
    with pytest.raises(QuotaExceeded, match="no free"):
        AwsProvider(replace(aws_settings, vpcs=((REGION, given.id),))).ensure_network(NETWORK)


def test_it_refuses_a_zone_of_another_region(aws_settings: AwsSettings) -> None:
    with pytest.raises(InvalidRequest, match="eu-west-1a"):
        AwsProvider(aws_settings).ensure_network(replace(NETWORK, zones=("eu-west-1a",)))


@pytest.mark.parametrize(
    "action",
    [
        "CreateVpc",
        "CreateSubnet",
        "CreateSecurityGroup",
        "AuthorizeSecurityGroupIngress",
        "CreateInternetGateway",
        "AttachInternetGateway",
        "CreateRoute",
        "CreatePlacementGroup",
    ],
)
def test_it_makes_each_part_once_although_the_answer_was_lost(
    aws_cloud: Emulator, aws_settings: AwsSettings, action: str
) -> None:
    provider = AwsProvider(replace(aws_settings, public_addresses=True))
    aws_cloud.faults.inject(Fault(code=CONNECTION_LOST, action=action, moment=Moment.AFTER, times=1))
    with pytest.raises(ProviderError):
        provider.ensure_network(NETWORK)
    provider.ensure_network(NETWORK)
    assert kinds(aws_cloud) == ["gateway", "group", "rack", "rack", "rack", "subnet", "subnet", "subnet", "vpc"]
    assert provider.delete_network(region=REGION, name=NETWORK.name)
    assert aws_cloud.leftovers() == []


def test_it_keeps_the_vpc_with_machines_when_one_was_made_twice(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    provider = AwsProvider(aws_settings)
    provider.ensure_network(NETWORK)
    machine = provider.ensure_machine(spec(provider))
    moto = aws_cloud.region(REGION).moto
    first = next(vpc for vpc in moto.vpcs.values() if vpc.get_tags() and str(vpc.is_default).lower() != "true")
    spare = moto.create_vpc(first.cidr_block)
    spare.add_tags({tag["key"]: tag["value"] for tag in first.get_tags()})
    AwsProvider(aws_settings).ensure_network(NETWORK)
    assert spare.id not in moto.vpcs
    assert first.id in moto.vpcs
    found = provider.find_machine(region=REGION, name=machine.name)
    assert found is not None
    assert found.id == machine.id


def test_it_forgets_nothing_that_was_half_deleted(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    provider = AwsProvider(aws_settings)
    provider.ensure_network(NETWORK)
    for action in ("DeletePlacementGroup", "DeleteSecurityGroup", "DeleteVpc"):
        aws_cloud.faults.inject(Fault(code="RequestLimitExceeded", action=action, times=1))
        with pytest.raises(ProviderError):
            provider.delete_network(region=REGION, name=NETWORK.name)
        assert [network.name for network in provider.list_networks(region=REGION)] == [NETWORK.name]
    assert provider.delete_network(region=REGION, name=NETWORK.name)
    assert aws_cloud.leftovers() == []
