import base64
import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from backend.prices.states import BLOCK_CLASSES, BOOT_DISK_BYTES, GIB
from provisioner.providers.aws.machines import Machines
from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.boots import BootedInstance
from provisioner.providers.aws_emulator.emulator import CREDENTIALS, Emulator
from provisioner.providers.aws_emulator.faults import CONNECTION_LOST, Fault, Moment
from provisioner.providers.aws_emulator.region import Pace
from provisioner.providers.base import (
    AccessDenied,
    InvalidRequest,
    MachineState,
    NotFound,
    OutOfCapacity,
    ProviderError,
    QuotaExceeded,
    RateLimited,
)
from provisioner.providers.conformance import eventually
from provisioner.providers.registry import ProviderSettings
from provisioner.providers.registry import provider as registered
from provisioner.providers.tests.aws_world import NETWORK, REGION, VERSION, Patient, spec


@pytest.fixture
def provider(aws_settings: AwsSettings) -> AwsProvider:
    provider = AwsProvider(aws_settings)
    provider.ensure_network(NETWORK)
    return provider


def launch_form(cloud: Emulator) -> dict[str, str]:
    (form,) = [call.form for call in cloud.calls if call.action == "RunInstances"]
    return dict(form)


# What is launched.


def test_it_launches_with_imdsv2_an_encrypted_root_and_a_profile_and_never_spot(
    aws_cloud: Emulator, provider: AwsProvider
) -> None:
    provider.ensure_machine(spec(provider))
    form = launch_form(aws_cloud)
    assert form["MetadataOptions.HttpTokens"] == "required"
    assert form["BlockDeviceMapping.1.Ebs.Encrypted"] == "true"
    assert form["BlockDeviceMapping.1.Ebs.DeleteOnTermination"] == "true"
    # What is metered and estimated for it.
    assert int(form["BlockDeviceMapping.1.Ebs.VolumeSize"]) * GIB == BOOT_DISK_BYTES["aws"]
    assert form["BlockDeviceMapping.1.Ebs.VolumeType"] == BLOCK_CLASSES["aws"]
    assert form["IamInstanceProfile.Name"] == "ringmaster-node"
    assert form["InstanceInitiatedShutdownBehavior"] == "stop"
    assert form["Placement.GroupName"] == "rm-clu-1-us-east-1a"
    assert form["NetworkInterface.1.AssociatePublicIpAddress"] == "false"
    assert base64.b64decode(form["UserData"]).decode() == '{"node_id": "rm-nod-1"}'
    assert not [name for name in form if "MarketOptions" in name or "Spot" in name]


def test_it_tags_the_machine_its_disk_and_its_interface(aws_cloud: Emulator, provider: AwsProvider) -> None:
    provider.ensure_machine(spec(provider))
    form = launch_form(aws_cloud)
    kinds = [form[f"TagSpecification.{number}.ResourceType"] for number in (1, 2, 3)]
    assert kinds == ["instance", "volume", "network-interface"]
    tags = {
        form[f"TagSpecification.1.Tag.{number}.Key"]: form[f"TagSpecification.1.Tag.{number}.Value"]
        for number in range(1, 9)
    }
    assert tags["Name"] == "rm-nod-1"
    assert tags["ringmaster:installation"] == "ringmaster"
    assert tags["ringmaster-cluster"] == "clu_1"


def test_it_takes_the_newest_image_for_the_processor_of_the_machine(
    aws_cloud: Emulator, aws_settings: AwsSettings
) -> None:
    arm = aws_cloud.add_image("cassandra", VERSION, architecture="arm64")
    provider = AwsProvider(aws_settings)
    provider.ensure_network(NETWORK)
    provider.ensure_machine(spec(provider, machine_type="i4g.large"))
    assert launch_form(aws_cloud)["ImageId"] == arm


def test_it_says_which_tags_an_image_would_have_and_for_which_processor_it_lacks(provider: AwsProvider) -> None:
    with pytest.raises(NotFound, match=r"ringmaster:engine=scylla, ringmaster:engine-version=9\.9"):
        provider.find_image(region=REGION, engine="scylla", version="9.9")
    with pytest.raises(NotFound, match="arm64"):
        provider.ensure_machine(spec(provider, machine_type="i4g.large"))


def test_it_refuses_more_user_data_than_aws_takes(provider: AwsProvider) -> None:
    with pytest.raises(InvalidRequest, match="16384"):
        provider.ensure_machine(replace(spec(provider), user_data="x" * 16385))


def test_it_reaches_agents_at_public_addresses_only_where_that_is_wanted(
    aws_cloud: Emulator, aws_settings: AwsSettings
) -> None:
    provider = AwsProvider(replace(aws_settings, public_addresses=True))
    provider.ensure_network(NETWORK)
    made = provider.ensure_machine(spec(provider))
    assert made.address.startswith("10.")
    machine = AwsProvider(replace(aws_settings, public_addresses=True)).find_machine(region=REGION, name=made.name)
    assert machine is not None
    assert machine.address == made.address
    assert not machine.agent_address.startswith("10.")
    assert machine.agent_address.endswith(":7443")


def test_it_does_not_see_the_machines_of_another_control_plane(
    aws_settings: AwsSettings, provider: AwsProvider
) -> None:
    provider.ensure_machine(spec(provider))
    other = AwsProvider(replace(aws_settings, installation="another"))
    assert other.list_machines(region=REGION) == []
    assert other.list_networks(region=REGION) == []
    assert other.delete_machine(region=REGION, name="rm-nod-1")
    assert len(provider.list_machines(region=REGION)) == 1


# Once, whatever happens.


def test_it_makes_one_machine_although_the_answer_was_lost(aws_cloud: Emulator, provider: AwsProvider) -> None:
    aws_cloud.faults.inject(Fault(code=CONNECTION_LOST, action="RunInstances", moment=Moment.AFTER, times=1))
    with pytest.raises(ProviderError) as lost:
        provider.ensure_machine(spec(provider))
    assert lost.value.retryable
    provider.ensure_machine(spec(provider))
    assert len(aws_cloud.launches()) == 1


@pytest.fixture
def unseen_cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """A cloud that does not list at once what it has just made."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with Emulator(pace=Pace(unseen_describes=3)) as cloud:
        cloud.add_image("cassandra", VERSION)
        yield cloud


def test_it_makes_one_machine_although_it_is_not_shown_yet(unseen_cloud: Emulator) -> None:
    settings = AwsSettings(endpoint_url=unseen_cloud.url)
    Patient(2)(lambda: AwsProvider(settings).ensure_network(NETWORK))
    first = AwsProvider(settings).ensure_machine(spec(AwsProvider(settings)))
    assert AwsProvider(settings).find_machine(region=REGION, name="rm-nod-1") is None
    assert AwsProvider(settings).ensure_machine(spec(AwsProvider(settings))).id == first.id
    assert len(unseen_cloud.launches()) == 1


def test_it_does_not_call_a_machine_gone_that_is_only_not_shown_yet(unseen_cloud: Emulator) -> None:
    provider = AwsProvider(AwsSettings(endpoint_url=unseen_cloud.url))
    Patient(2)(lambda: provider.ensure_network(NETWORK))
    provider.ensure_machine(spec(provider))
    assert not provider.delete_machine(region=REGION, name="rm-nod-1")
    assert eventually(lambda: provider.delete_machine(region=REGION, name="rm-nod-1"), 2)
    assert [thing for thing in unseen_cloud.leftovers() if thing.startswith("instance")] == []


def test_it_makes_a_machine_anew_from_the_same_spec_while_aws_remembers_the_token(
    aws_cloud: Emulator, provider: AwsProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = provider.ensure_machine(spec(provider))
    assert eventually(lambda: provider.delete_machine(region=REGION, name=first.name), 2)
    # An hour later AWS no longer lists the terminated instance, but its token still stands for it.
    monkeypatch.setattr(Machines, "_named", lambda *_: [])
    monkeypatch.setattr(Machines, "_listing", lambda *_: type("Empty", (), {"by_name": {}})())
    second = provider.ensure_machine(spec(provider))
    assert second.id != first.id
    assert aws_cloud.doubles() == []


def test_it_tells_a_machine_that_still_ends_from_one_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    # Long enough for what comes in between on a busy computer.
    with Emulator(pace=Pace(end_seconds=3)) as cloud:
        cloud.add_image("cassandra", VERSION)
        provider = AwsProvider(AwsSettings(endpoint_url=cloud.url))
        provider.ensure_network(NETWORK)
        provider.ensure_machine(spec(provider))
        assert not provider.delete_machine(region=REGION, name="rm-nod-1")
        with pytest.raises(ProviderError, match="still ending") as ending:
            AwsProvider(AwsSettings(endpoint_url=cloud.url)).ensure_machine(spec(provider))
        assert ending.value.retryable
        assert not provider.delete_network(region=REGION, name=NETWORK.name)
        assert eventually(lambda: provider.delete_machine(region=REGION, name="rm-nod-1"), 15)
        assert provider.delete_network(region=REGION, name=NETWORK.name)
        assert cloud.leftovers() == []


def _ensure_in_another_process(url: str) -> None:
    os.environ.update(CREDENTIALS)
    provider = AwsProvider(AwsSettings(endpoint_url=url))
    provider.ensure_machine(spec(provider))


def test_it_makes_one_machine_for_two_processes(
    aws_cloud: Emulator, aws_settings: AwsSettings, provider: AwsProvider
) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_ensure_in_another_process, args=(aws_cloud.url,)) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join(60)
        assert other.exitcode == 0
    assert len(aws_cloud.launches()) == 1


def test_it_waits_for_many_machines_with_one_listing(aws_cloud: Emulator, provider: AwsProvider) -> None:
    for number in range(6):
        provider.ensure_machine(spec(provider, f"rm-nod-{number}"))
    provider.list_machines(region=REGION)
    before = aws_cloud.count()["ec2:DescribeInstances"]
    for number in range(6):
        found = provider.find_machine(region=REGION, name=f"rm-nod-{number}")
        assert found is not None
        assert found.state is MachineState.RUNNING
    assert aws_cloud.count()["ec2:DescribeInstances"] <= before + 1


# When AWS says no.


@pytest.mark.parametrize(
    ("code", "error", "hint"),
    [
        ("InsufficientInstanceCapacity", OutOfCapacity, "other zones are not tried"),
        ("VcpuLimitExceeded", QuotaExceeded, "L-1216C47A"),
        ("InstanceLimitExceeded", QuotaExceeded, "Instance"),
        ("RequestLimitExceeded", RateLimited, ""),
        ("UnauthorizedOperation", AccessDenied, "ec2:RunInstances"),
        ("InvalidAMIID.NotFound", NotFound, ""),
        ("InvalidParameterValue", InvalidRequest, ""),
        ("InternalError", ProviderError, ""),
    ],
)
def test_it_says_why_in_the_words_of_providers(
    aws_cloud: Emulator, provider: AwsProvider, code: str, error: type[ProviderError], hint: str
) -> None:
    aws_cloud.faults.inject(Fault(code=code, action="RunInstances", times=1))
    with pytest.raises(error) as refused:
        provider.ensure_machine(spec(provider))
    assert type(refused.value) is error
    assert hint in refused.value.hint
    assert code in refused.value.message
    assert [call.action for call in aws_cloud.calls].count("RunInstances") == 1
    assert aws_cloud.launches() == []


def test_it_asks_the_network_anew_when_what_it_knew_is_gone(aws_settings: AwsSettings, provider: AwsProvider) -> None:
    other = AwsProvider(aws_settings)
    assert other.delete_network(region=REGION, name=NETWORK.name)
    with pytest.raises(ProviderError):
        provider.ensure_machine(spec(provider))
    with pytest.raises(InvalidRequest, match="no network"):
        provider.ensure_machine(spec(provider))


def test_it_fills_a_rack_up_to_the_limit_of_a_spread_group(aws_cloud: Emulator, provider: AwsProvider) -> None:
    for number in range(7):
        provider.ensure_machine(spec(provider, f"rm-nod-{number}"))
    with pytest.raises(QuotaExceeded):
        provider.ensure_machine(spec(provider, "rm-nod-8"))


# What runs on the emulated machines.


@dataclass
class Program:
    started: list[BootedInstance] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def __call__(self, instance: BootedInstance) -> "Program":
        self.started.append(instance)
        return self

    def stop(self, *, force: bool) -> None:
        self.ended.append("killed" if force else "stopped")

    def destroy(self) -> None:
        self.ended.append("destroyed")


def test_it_runs_a_program_at_a_loopback_address_with_the_machines_user_data(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    program = Program()
    with Emulator(hook=program, pace=Pace(boot_seconds=0.05)) as cloud:
        cloud.add_image("cassandra", VERSION)
        provider = AwsProvider(AwsSettings(endpoint_url=cloud.url, cidr_pool="127.64.0.0/10"))
        provider.ensure_network(NETWORK)
        made = provider.ensure_machine(spec(provider))
        assert made.state is MachineState.STARTING
        assert eventually(lambda: len(program.started) == 1, 2)
        instance = program.started[0]
        assert instance.private_address == made.address
        assert made.address.startswith("127.")
        assert instance.user_data == '{"node_id": "rm-nod-1"}'
        provider.kill_machine(region=REGION, name=made.name)
        provider.start_machine(region=REGION, name=made.name)
        assert eventually(lambda: len(program.started) == 2, 2)
        provider.stop_machine(region=REGION, name=made.name)
        provider.delete_machine(region=REGION, name=made.name)
        assert program.ended[:2] == ["killed", "stopped"]


def test_it_is_offered_where_its_settings_are_given_and_kept_for_all_calls(aws_settings: AwsSettings) -> None:
    offered = ProviderSettings(aws=aws_settings)
    assert registered("aws", offered) is registered("aws", offered)
    assert registered("aws", offered).list_machines(region=REGION) == []
    with pytest.raises(InvalidRequest, match="no provider 'aws'"):
        registered("aws", ProviderSettings())


def test_it_waits_before_it_calls_a_machine_gone_whose_launch_was_never_answered(
    aws_cloud: Emulator, aws_settings: AwsSettings
) -> None:
    provider = AwsProvider(replace(aws_settings, shown_after_seconds=0.5))
    provider.ensure_network(NETWORK)
    wanted = spec(provider)
    aws_cloud.faults.inject(Fault(code=CONNECTION_LOST, action="RunInstances", times=1))
    with pytest.raises(ProviderError):
        provider.ensure_machine(wanted)
    assert not provider.delete_machine(region=REGION, name=wanted.name)
    assert eventually(lambda: provider.delete_machine(region=REGION, name=wanted.name), 5)
    assert aws_cloud.launches() == []
