import datetime
from dataclasses import replace

import pytest

from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings, Placement
from provisioner.providers.aws_emulator.emulator import Emulator
from provisioner.providers.aws_emulator.faults import Fault
from provisioner.providers.base import AccessDenied, EndpointSpec, InvalidRequest, Notice, PeeringSpec
from provisioner.providers.tests.aws_policy import FOLDER, allowed_actions, permissions, tagging_actions
from provisioner.providers.tests.aws_world import NETWORK, REGION, ZONES, spec

ROLE = "arn:aws:iam::123456789012:role/ringmaster-shop"


@pytest.fixture
def provider(aws_settings: AwsSettings) -> AwsProvider:
    provider = AwsProvider(aws_settings)
    provider.ensure_network(NETWORK)
    return provider


# Before an order is taken.


def test_it_finds_room_for_an_order(provider: AwsProvider) -> None:
    machines = dict.fromkeys(ZONES, 2)
    assert provider.shortfalls(region=REGION, machine_type="i3.large", machines=machines) == []
    assert provider.shortfalls(region=REGION, machine_type="i3.large", machines={ZONES[0]: 0}) == []


def test_it_counts_running_machines_against_the_quota(aws_cloud: Emulator, provider: AwsProvider) -> None:
    aws_cloud.vcpu_quota = 10
    provider.ensure_machine(spec(provider))
    assert provider.shortfalls(region=REGION, machine_type="i3.xlarge", machines={ZONES[0]: 2}) == []
    (short,) = provider.shortfalls(region=REGION, machine_type="i3.xlarge", machines={ZONES[0]: 3})
    assert short.code == "quota-exceeded"
    assert "12 vCPUs are needed" in short.message
    assert "of which 2 are in use" in short.message
    assert "L-1216C47A" in short.hint


def test_it_says_in_which_zones_a_type_is_not_offered(provider: AwsProvider) -> None:
    machines = {ZONES[0]: 1, "us-east-1x": 1}
    (short,) = provider.shortfalls(region=REGION, machine_type="i4i.large", machines=machines)
    assert short.code == "out-of-capacity"
    assert "us-east-1x" in short.message
    assert ZONES[0] in short.hint


def test_it_says_that_a_rack_is_too_large_to_be_spread(provider: AwsProvider, aws_settings: AwsSettings) -> None:
    (short,) = provider.shortfalls(region=REGION, machine_type="i3.large", machines={ZONES[0]: 8})
    assert short.code == "quota-exceeded"
    by_partition = AwsProvider(replace(aws_settings, placement=Placement.PARTITION))
    assert by_partition.shortfalls(region=REGION, machine_type="i3.large", machines={ZONES[0]: 8}) == []


def test_it_tells_the_quota_and_what_zones_offer(aws_cloud: Emulator, provider: AwsProvider) -> None:
    aws_cloud.vcpu_quota = 64
    provider.ensure_machine(spec(provider, machine_type="i3.xlarge"))
    told = provider.capacity(region=REGION)
    (quota,) = told.quotas
    assert (quota.limit, quota.used, quota.per_machine["i3.xlarge"]) == (64, 4, 4)
    assert told.offered is not None
    assert "i3.large" in told.offered[ZONES[0]]
    assert set(told.offered[ZONES[0]]) <= set(quota.per_machine)


def test_it_says_that_machines_may_not_be_launched(aws_cloud: Emulator, provider: AwsProvider) -> None:
    aws_cloud.denied.add("ec2:RunInstances")
    (short,) = provider.shortfalls(region=REGION, machine_type="i3.large", machines={ZONES[0]: 1})
    assert short.code == "access-denied"
    assert "ec2:RunInstances" in short.hint


# Permissions.


def test_it_finds_every_permission_of_the_policy_document_that_is_missing(
    aws_cloud: Emulator, provider: AwsProvider
) -> None:
    provider.ensure_machine(spec(provider))
    assert provider.missing_permissions(region=REGION) == []
    before = aws_cloud.leftovers()
    asked_for = allowed_actions() - {"ec2:CreateTags", "iam:PassRole", "sts:AssumeRole"}
    for denied in (asked_for - {"ec2:DescribeInstances"}, {"ec2:DescribeInstances"}, {"ec2:StopInstances"}):
        aws_cloud.denied = denied
        assert provider.missing_permissions(region=REGION) == sorted(denied)
    aws_cloud.denied = set()
    assert aws_cloud.leftovers() == before


def test_it_takes_on_the_role_of_an_account_that_is_brought(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    aws_cloud.trust = {ROLE: "shop-1"}
    provider = AwsProvider(replace(aws_settings, role_arn=ROLE, external_id="shop-1"))
    assert provider.list_machines(region=REGION) == []
    (taken,) = [call.form for call in aws_cloud.calls if call.action == "AssumeRole"]
    assert (taken["RoleArn"], taken["ExternalId"]) == (ROLE, "shop-1")
    assert provider.missing_permissions(region=REGION) == []
    aws_cloud.denied.add("sts:AssumeRole")
    with pytest.raises(AccessDenied, match="cannot take on") as refused:
        provider.missing_permissions(region=REGION)
    assert "the external id shop-1" in refused.value.hint


@pytest.mark.parametrize("external_id", [None, "shop-2"])
def test_it_gets_into_no_account_with_a_wrong_external_id(
    aws_cloud: Emulator, aws_settings: AwsSettings, external_id: str | None
) -> None:
    aws_cloud.trust = {ROLE: "shop-1"}
    provider = AwsProvider(replace(aws_settings, role_arn=ROLE, external_id=external_id))
    with pytest.raises(AccessDenied):
        provider.list_machines(region=REGION)
    with pytest.raises(AccessDenied, match="cannot take on"):
        provider.missing_permissions(region=REGION)
    assert {call.service for call in aws_cloud.calls} == {"sts"}


def test_it_refuses_a_role_that_others_could_use_through_us(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    aws_cloud.trust = {ROLE: None}
    with pytest.raises(InvalidRequest, match="any external id") as refused:
        AwsProvider(replace(aws_settings, role_arn=ROLE, external_id="shop-1")).missing_permissions(region=REGION)
    assert '"sts:ExternalId": "shop-1"' in refused.value.hint


def test_it_needs_all_of_the_policy_document_and_nothing_else(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    settings = replace(aws_settings, role_arn=ROLE, public_addresses=True)
    provider = AwsProvider(settings)
    moto = aws_cloud.region(REGION).moto
    provider.ensure_network(NETWORK)
    provider.allow_clients(region=REGION, network=NETWORK.name, sources=["198.51.100.0/24"], ports=[9042])
    provider.allow_clients(region=REGION, network=NETWORK.name, sources=[], ports=[9042])
    machine = provider.ensure_machine(spec(provider))
    AwsProvider(settings).ensure_machine(spec(provider, "rm-nod-2"))
    provider.stop_machine(region=REGION, name=machine.name)
    provider.start_machine(region=REGION, name=machine.name)
    provider.notices(region=REGION)
    provider.shortfalls(region=REGION, machine_type="i3.large", machines={ZONES[0]: 1})
    peering = PeeringSpec(
        name="p", network=NETWORK.name, region=REGION, peer_network=moto.create_vpc("172.20.0.0/16").id
    )
    moto.accept_vpc_peering_connection(provider.connections.ensure_peering(peering).id)
    provider.connections.ensure_peering(peering)
    provider.connections.ensure_endpoint(EndpointSpec(name="e", network=NETWORK.name, region=REGION, service="s"))
    for name in ("rm-nod-1", "rm-nod-2"):
        while not provider.delete_machine(region=REGION, name=name):
            pass
    subnet = next(one for zone in moto.subnets.values() for one in zone.values() if one.vpc_id != peering.peer_network)
    loose = moto.create_network_interface(subnet, None)
    loose.add_tags({"ringmaster:installation": "ringmaster", "ringmaster:network": NETWORK.name})
    while not provider.delete_network(region=REGION, name=NETWORK.name):
        pass
    assert provider.list_networks(region=REGION) == []
    made = [call for call in aws_cloud.calls if not call.dry]
    assert permissions(made) == allowed_actions()
    tagged = {call.action for call in made if "TagSpecification.1.ResourceType" in call.form}
    assert tagged == tagging_actions()


def test_it_lets_machines_themselves_do_nothing() -> None:
    assert '"Effect": "Deny"' in (FOLDER / "node-policy.json").read_text()


# What AWS announces.


def test_it_passes_on_what_aws_announces_with_its_date(aws_cloud: Emulator, provider: AwsProvider) -> None:
    assert provider.notices(region=REGION) == []
    ours = provider.ensure_machine(spec(provider))
    other = provider.ensure_machine(spec(provider, "rm-nod-2"))
    when = "2026-12-01T08:00:00.000Z"
    aws_cloud.announce(REGION, ours.id, code="instance-retirement", description="The hardware fails", not_before=when)
    aws_cloud.announce(REGION, other.id, code="system-reboot", description="[Completed] done", not_before=when)
    aws_cloud.announce(REGION, other.id, code="system-maintenance", description="Network", not_before=when)
    date = datetime.datetime(2026, 12, 1, 8, tzinfo=datetime.UTC)
    assert provider.notices(region=REGION) == [
        Notice(
            machine="rm-nod-1",
            kind="retirement",
            message="AWS announces instance-retirement: The hardware fails",
            before=date,
        ),
        Notice(
            machine="rm-nod-2", kind="maintenance", message="AWS announces system-maintenance: Network", before=date
        ),
    ]


def test_it_says_when_it_cannot_tell_what_is_missing(aws_cloud: Emulator, provider: AwsProvider) -> None:
    aws_cloud.faults.inject(Fault(code="RequestLimitExceeded", action="GetServiceQuota", times=1))
    with pytest.raises(Exception, match="RequestLimitExceeded"):
        provider.missing_permissions(region=REGION)
