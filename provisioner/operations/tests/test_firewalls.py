"""Who the allowlist names is let in by the network's firewall, and peerings are made, on emulated clouds."""

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Network

import pytest

from backend.access import actions as access
from backend.access.schemas import AllowlistEntry, AllowlistOrder
from backend.catalog import actions as catalog
from backend.catalog.models import EngineVersion
from backend.catalog.models import Provider as ProviderRow
from backend.catalog.states import CLOUDS
from backend.changes import actions as changes
from backend.changes.schemas import ChangeSettings
from backend.clusters import actions
from backend.clusters.models import Datacenter
from backend.connections import actions as connections
from backend.connections.models import NetworkConnection
from backend.connections.schemas import PeeringOrder
from backend.operations.models import Operation
from provisioner.operations import names
from provisioner.operations.tests.cloud_world import Cloud, aws, create, ended, gcp, world_on
from provisioner.operations.tests.cluster_world import ClusterWorld

pytestmark = pytest.mark.django_db(transaction=True)

OFFICE, SERVICES = "198.51.100.0/24", "203.0.113.0/24"
CQL, DYNAMODB = 9042, 8043


@pytest.fixture(params=[aws, gcp], ids=["aws", "gcp"])
def cloud(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    with request.param(monkeypatch) as found:
        yield found


def _allow(world: ClusterWorld, *cidrs: str) -> Operation:
    entries = [AllowlistEntry(cidr=cidr) for cidr in cidrs]
    started = access.replace_allowlist(world.who, world.cluster_id, AllowlistOrder(entries=entries))
    return Operation.objects.get(id=started["operation"]["id"])


def test_the_firewall_follows_the_allowlist_from_the_creation_on(cloud: Cloud) -> None:
    with world_on(cloud) as world:
        create(world, cloud)
        network = names.network(Datacenter.objects.get(cluster_id=world.cluster_id))
        assert cloud.let_in(network, CQL) == set()
        for wanted in ((OFFICE,), (OFFICE, SERVICES), (SERVICES,), ()):
            assert ended(_allow(world, *wanted)) == "succeeded"
            assert cloud.let_in(network, CQL) == set(wanted)
        assert ended(_allow(world, OFFICE)) == "succeeded"
        deleted = actions.delete(world.who, world.cluster_id)
        assert ended(Operation.objects.get(id=deleted["operation"]["id"])) == "succeeded"


def test_the_firewall_follows_the_ports_that_settings_open(cloud: Cloud) -> None:
    with world_on(cloud) as world:
        version = EngineVersion.objects.get(engine="scylla", is_default=True).version
        cloud.add_image("scylla", version)
        create(world, replace(cloud, order=cloud.order.model_copy(update={"engine": "scylla"})))
        network = names.network(Datacenter.objects.get(cluster_id=world.cluster_id))
        assert ended(_allow(world, OFFICE)) == "succeeded"
        assert (cloud.let_in(network, CQL), cloud.let_in(network, DYNAMODB)) == ({OFFICE}, set())
        for settings, reached in (({"alternator_write_isolation": "always"}, {OFFICE}), ({}, set())):
            change = ChangeSettings(kind="settings", settings=settings)
            begun = changes.begin(world.cluster_id, change, actor="ringmaster")
            assert ended(begun.operation) == "succeeded"
            assert (cloud.let_in(network, CQL), cloud.let_in(network, DYNAMODB)) == ({OFFICE}, reached)


def test_a_peering_is_made_waits_and_goes_with_its_cluster(cloud: Cloud) -> None:
    with world_on(cloud) as world:
        create(world, cloud)
        datacenter = Datacenter.objects.get(cluster_id=world.cluster_id)
        assert datacenter.network_id
        assert IPv4Network(datacenter.network_cidr).is_private
        order = PeeringOrder(kind="peering", name="shop", peer_network=cloud.other(), cidrs=["172.20.0.0/16"])
        made = connections.create(world.who, world.cluster_id, order)
        assert ended(Operation.objects.get(id=made["operation"]["id"])) == "succeeded"
        row = NetworkConnection.objects.get(cluster_id=world.cluster_id)
        assert (row.state, bool(row.provider_id)) == ("waiting_for_you", True)
        assert "eering" in row.message
        assert cloud.let_in(names.network(datacenter), CQL) == {"172.20.0.0/16"}
        deleted = actions.delete(world.who, world.cluster_id)
        assert ended(Operation.objects.get(id=deleted["operation"]["id"])) == "succeeded"
        row.refresh_from_db()
        assert row.state == "deleted"


def test_the_catalogue_says_what_the_networks_of_providers_have() -> None:
    catalog.load(with_tests=True, clouds=dict.fromkeys(CLOUDS))
    has = {row.id: (row.firewall, row.connections) for row in ProviderRow.objects.all()}
    both = (True, ["peering", "endpoint"])
    assert has == {"aws": both, "fake": both, "gcp": both, "local": (False, [])}
