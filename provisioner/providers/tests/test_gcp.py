"""The provider `gcp` against the emulated Compute API; with RINGMASTER_LIVE_GCP=1 its conformance also for real."""

import datetime
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from google.cloud import compute_v1

from backend.prices.states import BLOCK_CLASSES, BOOT_DISK_BYTES, GIB
from provisioner.providers.base import (
    InvalidRequest,
    MachineState,
    NotFound,
    OutOfCapacity,
    ProviderError,
    QuotaExceeded,
)
from provisioner.providers.conformance import ProviderConformance, World
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.errors import NotReady
from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.gcp_emulator.faults import Fault, Moment
from provisioner.providers.gcp_emulator.server import ComputeEmulator
from provisioner.providers.gcp_emulator.world import World as Cloud
from provisioner.providers.tests.gcp_world import (
    NETWORK,
    REGION,
    VERSION,
    ZONES,
    Patient,
    emulated,
    settings_for,
    spec,
    world_of,
)

LIVE = os.environ.get("RINGMASTER_LIVE_GCP") == "1"


class TestConformance(ProviderConformance):
    @pytest.fixture
    def world(self, emulator: ComputeEmulator, settings: GcpSettings) -> World:
        return world_of(emulator.world, lambda: GcpProvider(settings))


class TestConformanceWhereEverythingTakesAWhile(ProviderConformance):
    @pytest.fixture
    def world(self) -> Iterator[World]:
        cloud = Cloud(operation_seconds=0.02, boot_seconds=0.03, page_size=1)
        with emulated(cloud) as emulator:
            settings = settings_for(emulator)
            yield world_of(cloud, lambda: Patient(GcpProvider(settings), seconds=5, pause=0.01))


class TestLiveConformance(ProviderConformance):
    """Makes machines that cost money, and deletes them. The project and the image are the caller's."""

    # Only where it is asked for.
    __test__ = LIVE

    @pytest.fixture
    def world(self) -> World:
        settings = GcpSettings(
            project=os.environ["RINGMASTER_LIVE_GCP_PROJECT"],
            image_project=os.environ.get("RINGMASTER_LIVE_GCP_IMAGE_PROJECT", ""),
            impersonate=os.environ.get("RINGMASTER_LIVE_GCP_IMPERSONATE", ""),
            installation="ringmaster-conformance",
        )
        region = os.environ.get("RINGMASTER_LIVE_GCP_REGION", REGION)
        compute = Compute(settings)
        first, second, third, *_ = compute.zones(region)

        def leftovers() -> list[str]:
            wanted = "labels.ringmaster-installation = ringmaster-conformance"
            disks = compute_v1.DisksClient(credentials=compute.instances.transport._credentials)
            request = compute_v1.AggregatedListDisksRequest(project=settings.project, filter=wanted)
            left = [disk.name for _, scoped in disks.aggregated_list(request=request) for disk in scoped.disks]
            provider = GcpProvider(settings)
            left += [machine.name for machine in provider.list_machines(region=region)]
            return left + [network.name for network in provider.list_networks(region=region)]

        return World(
            open=lambda: Patient(GcpProvider(settings), seconds=300, pause=3),  # type: ignore[arg-type, return-value]
            leftovers=leftovers,
            region=region,
            zones=(first, second, third),
            other_region=os.environ.get("RINGMASTER_LIVE_GCP_OTHER_REGION", "europe-west1"),
            machine_type="n2-highmem-2",
            memory_mib=16384,
            engine="cassandra",
            version=os.environ.get("RINGMASTER_LIVE_GCP_VERSION", VERSION),
            unknown_version="0.0.0",
            seconds=300,
        )


@pytest.fixture
def emulator() -> Iterator[ComputeEmulator]:
    with emulated(Cloud()) as emulator:
        yield emulator


@pytest.fixture
def cloud(emulator: ComputeEmulator) -> Cloud:
    return emulator.world


@pytest.fixture
def settings(emulator: ComputeEmulator) -> GcpSettings:
    return settings_for(emulator)


@pytest.fixture
def provider(settings: GcpSettings) -> GcpProvider:
    provider = GcpProvider(settings)
    provider.ensure_network(NETWORK)
    return provider


def instance(cloud: Cloud, name: str = "rm-one", zone: int = 0) -> compute_v1.Instance:
    return cloud.resources[f"zones/{ZONES[zone]}/instances/{name}"]  # type: ignore[no-any-return]


# What a machine is.


def test_it_asks_for_a_machine_that_nobody_moves_or_restarts(cloud: Cloud, provider: GcpProvider) -> None:
    provider.ensure_machine(spec())
    scheduling = instance(cloud).scheduling
    assert scheduling.automatic_restart is False
    assert scheduling.on_host_maintenance == "TERMINATE"
    assert scheduling.provisioning_model == "STANDARD"
    assert instance(cloud).shielded_instance_config.enable_secure_boot


def test_it_attaches_the_local_ssds_of_the_machine_type(cloud: Cloud, provider: GcpProvider) -> None:
    provider.ensure_machine(spec())
    boot, *local = instance(cloud).disks
    assert (boot.boot, boot.auto_delete) == (True, True)
    assert [(disk.type_, disk.interface) for disk in local] == [("SCRATCH", "NVME")] * 4


def test_it_leaves_out_local_ssds_that_come_with_the_machine_type(cloud: Cloud, provider: GcpProvider) -> None:
    provider.ensure_machine(spec(machine_type="z3-highmem-8-highlssd"))
    assert len(instance(cloud).disks) == 1


def test_it_labels_machine_and_disk_in_gcps_syntax(cloud: Cloud, provider: GcpProvider) -> None:
    made = provider.ensure_machine(spec())
    labels = dict(instance(cloud).labels)
    assert labels["ringmaster-cluster"] == "clu_01__4a"
    assert dict(instance(cloud).disks[0].initialize_params.labels) == labels
    assert made.tags == spec().tags


def test_it_gives_machines_no_identity_unless_told_to(
    cloud: Cloud, provider: GcpProvider, settings: GcpSettings
) -> None:
    provider.ensure_machine(spec())
    assert not instance(cloud).service_accounts
    told = GcpProvider(replace(settings, machine_service_account="nodes@test-project.iam.gserviceaccount.com"))
    told.ensure_machine(spec("rm-two"))
    assert [account.email for account in instance(cloud, "rm-two").service_accounts] == [
        "nodes@test-project.iam.gserviceaccount.com"
    ]


def test_it_reaches_agents_at_the_public_address_where_machines_have_one(
    provider: GcpProvider, settings: GcpSettings
) -> None:
    private = provider.ensure_machine(spec())
    assert private.agent_address == f"{private.address}:7443"
    public = GcpProvider(replace(settings, public_addresses=True)).ensure_machine(spec("rm-two"))
    assert public.address.startswith("10.")
    assert public.agent_address.startswith("203.0.113.")


def test_it_keeps_local_ssds_over_a_stop_unless_told_otherwise(
    cloud: Cloud, provider: GcpProvider, settings: GcpSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    plain = compute_v1.InstancesClient.stop_unary

    def stop_unary(self: compute_v1.InstancesClient, request: compute_v1.StopInstanceRequest, **how: object) -> object:
        asked.append(request.discard_local_ssd)
        return plain(self, request=request, **how)

    monkeypatch.setattr(compute_v1.InstancesClient, "stop_unary", stop_unary)
    provider.ensure_machine(spec())
    provider.stop_machine(region=REGION, name="rm-one")
    provider.start_machine(region=REGION, name="rm-one")
    GcpProvider(replace(settings, discard_local_ssd_on_stop=True)).stop_machine(region=REGION, name="rm-one")
    assert asked == [False, True]


# Creations that fail late.


def test_it_finds_out_from_the_operation_that_a_zone_is_full(cloud: Cloud, provider: GcpProvider) -> None:
    cloud.exhausted_zones.add(ZONES[0])
    with pytest.raises(NotReady):
        provider.ensure_machine(spec())
    with pytest.raises(OutOfCapacity, match="ZONE_RESOURCE_POOL_EXHAUSTED"):
        provider.ensure_machine(spec(user_data='{"token": "another"}'))
    assert provider.find_machine(region=REGION, name="rm-one") is None


def test_the_boot_disk_is_the_one_that_is_metered(cloud: Cloud, provider: GcpProvider) -> None:
    provider.ensure_machine(spec())
    boot = cloud.resources[f"zones/{ZONES[0]}/instances/rm-one"].disks[0].initialize_params
    assert boot.disk_size_gb * GIB == BOOT_DISK_BYTES["gcp"]
    assert boot.disk_type.rpartition("/")[2] == BLOCK_CLASSES["gcp"]


def test_another_worker_finds_out_that_a_zone_is_full(
    cloud: Cloud, provider: GcpProvider, settings: GcpSettings
) -> None:
    cloud.exhausted_zones.add(ZONES[0])
    with pytest.raises(NotReady):
        provider.ensure_machine(spec())
    elsewhere = GcpProvider(replace(settings, boot_disk_gb=31))
    with pytest.raises(OutOfCapacity):
        elsewhere.ensure_machine(spec(user_data='{"token": "another"}'))
    assert [effect.effect for effect in cloud.history if effect.path.endswith("instances/rm-one")] == [
        "made",
        "deleted",
    ]


def test_it_asks_again_when_a_failure_is_old(cloud: Cloud, settings: GcpSettings) -> None:
    provider = GcpProvider(replace(settings, failure_seconds=0.0))
    provider.ensure_network(NETWORK)
    cloud.exhausted_zones.add(ZONES[0])
    with pytest.raises(NotReady):
        provider.ensure_machine(spec())
    cloud.exhausted_zones.clear()
    assert provider.ensure_machine(spec()).name == "rm-one"


def test_it_finds_out_from_the_operation_that_a_quota_is_used_up(cloud: Cloud, provider: GcpProvider) -> None:
    cloud.inject(Fault(name="QUOTA_EXCEEDED", call="instances.insert", moment=Moment.INSIDE, times=1))
    with pytest.raises(NotReady):
        provider.ensure_machine(spec())
    with pytest.raises(QuotaExceeded):
        provider.ensure_machine(spec())


def test_it_says_at_once_what_gcp_says_at_once(cloud: Cloud, provider: GcpProvider) -> None:
    cloud.quotas[REGION, "CPUS"] = 12
    provider.ensure_machine(spec())
    with pytest.raises(QuotaExceeded, match="CPUS"):
        provider.ensure_machine(spec("rm-two"))


def test_it_makes_a_machine_anew_within_the_time_that_request_ids_are_remembered(
    cloud: Cloud, provider: GcpProvider
) -> None:
    for _ in range(3):
        provider.ensure_machine(spec())
        assert provider.delete_machine(region=REGION, name="rm-one")
    assert [
        effect.effect for effect in cloud.history if effect.path.endswith("/rm-one") and "zones" in effect.path
    ] == [
        "made",
        "booted",
        "deleted",
    ] * 3


def test_it_starts_a_machine_as_often_as_it_was_stopped(cloud: Cloud, provider: GcpProvider) -> None:
    provider.ensure_machine(spec())
    for _ in range(3):
        provider.stop_machine(region=REGION, name="rm-one")
        provider.start_machine(region=REGION, name="rm-one")
    assert [effect.effect for effect in cloud.history].count("booted") == 4


# Looking.


def test_it_takes_a_silent_zone_for_an_error_and_not_for_an_empty_one(cloud: Cloud, provider: GcpProvider) -> None:
    provider.ensure_machine(spec())
    cloud.unreachable_zones.add(ZONES[0])
    with pytest.raises(ProviderError, match="does not answer"):
        provider.list_machines(region=REGION)


def test_it_reads_every_page(cloud: Cloud, provider: GcpProvider) -> None:
    cloud.page_size = 2
    for number in range(5):
        provider.ensure_machine(spec(f"rm-{number}", zone=number % 3))
    assert len(provider.list_machines(region=REGION)) == 5


def test_it_sees_only_what_its_own_installation_made(provider: GcpProvider, settings: GcpSettings) -> None:
    provider.ensure_machine(spec())
    other = GcpProvider(replace(settings, installation="another"))
    assert other.list_machines(region=REGION) == []
    assert other.list_networks(region=REGION) == []
    with pytest.raises(InvalidRequest):
        other.delete_network(region=REGION, name=NETWORK.name)


def test_it_shows_a_machine_starting_until_it_has_booted(cloud: Cloud, provider: GcpProvider) -> None:
    cloud.boot_seconds = 0.2
    assert provider.ensure_machine(spec()).state is MachineState.STARTING


def test_it_passes_on_announced_maintenance(cloud: Cloud, provider: GcpProvider) -> None:
    provider.ensure_machine(spec())
    assert provider.notices(region=REGION) == []
    cloud.announce_maintenance("rm-one", starts="2026-12-01T03:00:00+00:00")
    (notice,) = provider.notices(region=REGION)
    assert (notice.machine, notice.kind) == ("rm-one", "retirement")
    assert notice.before == datetime.datetime(2026, 12, 1, 3, tzinfo=datetime.UTC)


def test_it_prefers_a_ready_image_that_is_not_deprecated(cloud: Cloud, provider: GcpProvider) -> None:
    for name, status in (("newer", "READY"), ("newest", "PENDING"), ("broken", "FAILED")):
        cloud.add_image(engine="cassandra", version="5.0.6", name=name, status=status)
    found = provider.find_image(region=REGION, engine="cassandra", version="5.0.6")
    assert found.id.endswith("/newer")
    cloud.resources["global/images/newer"].deprecated = compute_v1.DeprecationStatus(state="DEPRECATED")
    del cloud.resources["global/images/newest"]
    with pytest.raises(NotFound):
        provider.find_image(region=REGION, engine="cassandra", version="5.0.6")


# The network.


def firewall(cloud: Cloud, purpose: str) -> compute_v1.Firewall | None:
    return cloud.resources.get(f"global/firewalls/rm-net-{purpose}")


def test_it_lets_only_the_control_plane_to_the_agents(cloud: Cloud, provider: GcpProvider) -> None:
    agents, internode = firewall(cloud, "agents"), firewall(cloud, "internode")
    assert agents is not None
    assert internode is not None
    assert (list(agents.source_ranges), list(agents.allowed[0].ports)) == (["192.0.2.0/24"], ["7443"])
    assert list(internode.source_tags) == list(internode.target_tags) == ["rm-net"]
    assert "7443" not in internode.allowed[0].ports
    assert firewall(cloud, "clients") is None


def test_it_follows_the_allowlist_there_and_back(cloud: Cloud, provider: GcpProvider) -> None:
    first, second = ["198.51.100.0/24"], ["198.51.100.0/24", "203.0.113.7/32"]
    for sources in (first, second, first, second, [], first, first):
        provider.allow_clients(region=REGION, network="rm-net", sources=sources, ports=[9042])
        clients = firewall(cloud, "clients")
        assert (list(clients.source_ranges) if clients else []) == sources


def test_it_opens_the_ports_that_the_engine_has_and_closes_the_others(cloud: Cloud, provider: GcpProvider) -> None:
    for ports in ([9042], [9042, 8043], [8100, 9042], [9042]):
        provider.allow_clients(region=REGION, network="rm-net", sources=["198.51.100.0/24"], ports=ports)
        clients = firewall(cloud, "clients")
        assert clients is not None
        assert {int(port) for allowed in clients.allowed for port in allowed.ports} == set(ports)


def test_it_leaves_out_addresses_that_nobody_can_come_from(cloud: Cloud, provider: GcpProvider) -> None:
    provider.allow_clients(region=REGION, network="rm-net", sources=["2001:db8::/32"], ports=[9042])
    assert firewall(cloud, "clients") is None
    with pytest.raises(InvalidRequest):
        provider.allow_clients(region=REGION, network="rm-net", sources=["everybody"], ports=[9042])


def test_it_has_no_allowlist_without_a_network(provider: GcpProvider) -> None:
    with pytest.raises(NotFound):
        provider.allow_clients(region=REGION, network="rm-none", sources=[], ports=[9042])


def test_it_says_that_a_network_is_still_being_made(cloud: Cloud, settings: GcpSettings) -> None:
    cloud.inject(Fault(name="INTERNAL_ERROR", call="networks.insert", moment=Moment.INSIDE, times=1))
    provider = GcpProvider(replace(settings, failure_seconds=0.0))
    with pytest.raises(NotReady):
        provider.ensure_network(NETWORK)
    assert provider.ensure_network(NETWORK).name == "rm-net"


# Before an order.


def test_it_finds_nothing_short_where_there_is_room(provider: GcpProvider) -> None:
    machines = dict.fromkeys(ZONES, 3)
    assert provider.shortfalls(region=REGION, machine_type="n2-highmem-16", machines=machines) == []


def test_it_names_every_quota_that_an_order_would_break(
    cloud: Cloud, provider: GcpProvider, settings: GcpSettings
) -> None:
    provider.ensure_machine(spec())
    cloud.quotas[REGION, "CPUS"] = 24
    cloud.quotas[REGION, "LOCAL_SSD_TOTAL_GB"] = 5000
    cloud.quotas[REGION, "IN_USE_ADDRESSES"] = 2
    public = GcpProvider(replace(settings, public_addresses=True))
    short = public.shortfalls(region=REGION, machine_type="n2-highmem-8", machines=dict.fromkeys(ZONES, 1))
    assert {shortfall.code for shortfall in short} == {"quota-exceeded"}
    assert [shortfall.message for shortfall in short] == [
        "The order needs 24 of quota CPUS in us-central1; 16 of 24 are free.",
        "The order needs 4500 of quota LOCAL_SSD_TOTAL_GB in us-central1; 3500 of 5000 are free.",
        "The order needs 3 of quota IN_USE_ADDRESSES in us-central1; 2 of 2 are free.",
    ]


def test_it_tells_the_quotas_that_count_machines(cloud: Cloud, provider: GcpProvider, settings: GcpSettings) -> None:
    provider.ensure_machine(spec())
    told = provider.capacity(region=REGION)
    by_name = {quota.name: quota for quota in told.quotas}
    assert (by_name["CPUS"].limit, by_name["CPUS"].used) == (cloud.quotas[REGION, "CPUS"], 8)
    assert by_name["N2_CPUS"].per_machine["n2-highmem-16"] == 16
    assert "z3-highmem-88-highlssd" not in by_name["N2_CPUS"].per_machine
    assert by_name["CPUS"].per_machine["z3-highmem-88-highlssd"] == 88
    assert by_name["LOCAL_SSD_TOTAL_GB"].per_machine["n2-highmem-8"] == 1500
    assert "IN_USE_ADDRESSES" not in by_name
    public = GcpProvider(replace(settings, public_addresses=True)).capacity(region=REGION)
    assert "IN_USE_ADDRESSES" in {quota.name for quota in public.quotas}


def test_it_names_the_zone_that_does_not_offer_a_machine_type(provider: GcpProvider) -> None:
    (short,) = provider.shortfalls(
        region=REGION, machine_type="z3-highmem-88-highlssd", machines=dict.fromkeys(ZONES, 1)
    )
    assert short.code == "out-of-capacity"
    assert ZONES[2] in short.message


def test_it_lists_the_permissions_that_the_account_lacks(cloud: Cloud, provider: GcpProvider) -> None:
    assert provider.missing_permissions(region=REGION) == []
    cloud.denied |= {"compute.instances.create", "compute.firewalls.update"}
    assert provider.missing_permissions(region=REGION) == ["compute.firewalls.update", "compute.instances.create"]
