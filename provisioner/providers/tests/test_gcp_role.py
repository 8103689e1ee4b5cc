"""The role that an account is given is what the calls need: the emulator notes which permission each call uses."""

from dataclasses import replace

import pytest
import yaml

from provisioner.providers.base import AccessDenied
from provisioner.providers.gcp import connections
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.errors import NotReady
from provisioner.providers.gcp.permissions import PERMISSIONS
from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp_emulator.faults import Fault, Moment
from provisioner.providers.gcp_emulator.world import World as Cloud
from provisioner.providers.tests.conftest import REPOSITORY
from provisioner.providers.tests.gcp_world import NETWORK, REGION, VERSION, ZONES, emulated, settings_for, spec
from provisioner.providers.tests.test_gcp_connections import ENDPOINT, PEERING


def permissions_of_a_cluster_s_life() -> set[str]:
    """Every call of the provider and of connections, over everything that settings can make it do."""
    cloud = Cloud()
    with emulated(cloud) as emulator:
        settings = settings_for(emulator, failure_seconds=0.0)
        plain = GcpProvider(settings)
        provider = GcpProvider(
            replace(settings, public_addresses=True, machine_service_account="nodes@test-project.iam")
        )
        compute = Compute(settings)
        place = {"region": REGION, "name": "rm-one"}
        plain.find_image(region=REGION, engine="cassandra", version=VERSION)
        plain.shortfalls(region=REGION, machine_type="n2-highmem-8", machines=dict.fromkeys(ZONES, 1))
        plain.missing_permissions(region=REGION)
        plain.ensure_network(NETWORK)
        for sources in (["192.0.2.0/24"], ["198.51.100.0/24"], []):
            plain.allow_clients(region=REGION, network=NETWORK.name, sources=sources, ports=[9042])
        plain.ensure_machine(spec())
        assert plain.delete_machine(**place)
        plain.ensure_machine(spec())
        provider.ensure_machine(spec("rm-two"))
        plain.stop_machine(**place)
        plain.start_machine(**place)
        plain.kill_machine(**place)
        plain.notices(region=REGION)
        plain.list_networks(region=REGION)
        connections.ensure_peering(compute, PEERING)
        connections.delete_peering(compute, network=NETWORK.name, name=PEERING.name)
        connections.ensure_endpoint(compute, ENDPOINT)
        for machine in plain.list_machines(region=REGION):
            assert plain.delete_machine(region=REGION, name=machine.name)
        assert not plain.delete_network(region=REGION, name=NETWORK.name)
        assert plain.delete_network(region=REGION, name=NETWORK.name)
        return cloud.used_permissions


def role() -> list[str]:
    document = yaml.safe_load((REPOSITORY / "infra" / "gcp" / "role.yaml").read_text())
    return list(document["includedPermissions"])


def test_the_role_is_what_the_calls_need_and_nothing_else() -> None:
    assert sorted(permissions_of_a_cluster_s_life()) == sorted(role())


def test_the_check_asks_for_the_role() -> None:
    assert list(PERMISSIONS) == role()


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_the_check_names_the_one_that_is_missing(permission: str) -> None:
    cloud = Cloud()
    cloud.denied = {permission}
    with emulated(cloud) as emulator:
        assert GcpProvider(settings_for(emulator)).missing_permissions(region=REGION) == [permission]


def test_it_needs_no_more_when_a_creation_fails() -> None:
    cloud = Cloud()
    with emulated(cloud) as emulator:
        provider = GcpProvider(settings_for(emulator, failure_seconds=0.0))
        provider.ensure_network(NETWORK)
        cloud.inject(Fault(name="INTERNAL_ERROR", call="instances.insert", moment=Moment.INSIDE, times=2))
        for _ in range(2):
            with pytest.raises(NotReady):
                provider.ensure_machine(spec())
        provider.ensure_machine(spec())
        assert cloud.used_permissions <= set(role())


# Projects that are brought.

SHOP = "ringmaster-0123456789abcdef@test-project.iam.gserviceaccount.com"


def test_it_acts_as_the_service_account_of_a_project_that_is_brought() -> None:
    cloud = Cloud()
    with emulated(cloud) as emulator:
        cloud.impersonable = {SHOP}
        provider = GcpProvider(settings_for(emulator, impersonate=SHOP))
        assert provider.missing_permissions(region=REGION) == []
        assert provider.list_machines(region=REGION) == []
        cloud.denied = {"compute.instances.create"}
        assert provider.missing_permissions(region=REGION) == ["compute.instances.create"]


def test_it_gets_into_no_project_whose_service_account_does_not_trust_it() -> None:
    cloud = Cloud()
    with emulated(cloud) as emulator:
        cloud.impersonable = {"ringmaster-other@test-project.iam.gserviceaccount.com"}
        provider = GcpProvider(settings_for(emulator, impersonate=SHOP))
        with pytest.raises(AccessDenied):
            provider.list_machines(region=REGION)
        with pytest.raises(AccessDenied, match=f"cannot act as {SHOP}") as refused:
            provider.missing_permissions(region=REGION)
        assert "serviceAccountTokenCreator" in refused.value.hint
        assert refused.value.message.endswith(f"Permission 'iam.serviceAccounts.getAccessToken' denied on {SHOP}.")
        assert cloud.calls == []
