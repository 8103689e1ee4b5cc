"""What every provider promises, as tests. A provider's test module subclasses this and gives the fixture `world`."""

import datetime
import functools
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from provisioner.providers.base import (
    Image,
    ImageState,
    InvalidRequest,
    Machine,
    MachineSpec,
    MachineState,
    NetworkSpec,
    NotFound,
    Provider,
)

NODES = ("nod-01jconformance0000000001", "nod-01jconformance0000000002", "nod-01jconformance0000000003")
NETWORK = "rm-clu-01jconformance0000000000"


@dataclass(frozen=True, kw_only=True)
class World:
    """Where a provider is tried. `open` gives another instance on the same world, as another worker would have it.

    `leftovers` looks past the provider: everything of it that exists, in words. `seconds` is how long a machine may
    take to start, stop or go.
    """

    open: Callable[[], Provider]
    leftovers: Callable[[], list[str]]
    region: str
    zones: tuple[str, str, str]
    other_region: str
    machine_type: str
    memory_mib: int
    engine: str
    version: str
    unknown_version: str
    seconds: float


@functools.cache
def authority_pem() -> str:
    """The certificate of an authority that nobody has; agents look for it in vain."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def user_data(node: str) -> str:
    """What a machine is told; its agent will not get further than looking for the control plane."""
    return json.dumps(
        {
            "node_id": node.replace("-", "_"),
            "cluster_id": "clu_01jconformance0000000000",
            "enrol_url": "https://127.0.0.1:1/enrol/v1",
            "ca_pem": authority_pem(),
            "token": "not-a-secret",
        }
    )


def eventually(answer: Callable[[], bool], seconds: float) -> bool:
    give_up_at = time.monotonic() + seconds
    while not answer():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.02)
    return True


class ProviderConformance:
    @pytest.fixture
    def provider(self, world: World) -> Iterator[Provider]:
        """The provider with a network made; afterwards everything is deleted and nothing may be left."""
        provider = world.open()
        provider.ensure_network(self.network(world))
        yield provider
        for machine in provider.list_machines(region=world.region):
            assert self.deleted(world, machine.name)
        assert eventually(lambda: provider.delete_network(region=world.region, name=NETWORK), world.seconds)
        assert world.leftovers() == []

    def network(self, world: World) -> NetworkSpec:
        return NetworkSpec(name=NETWORK, region=world.region, zones=world.zones, tags={"ringmaster-cluster": "clu_1"})

    def spec(self, world: World, node: str = NODES[0], zone: int = 0) -> MachineSpec:
        return MachineSpec(
            name=f"rm-{node}",
            network=NETWORK,
            region=world.region,
            zone=world.zones[zone],
            machine_type=world.machine_type,
            memory_mib=world.memory_mib,
            image=self.image(world).id,
            user_data=user_data(node),
            tags={"ringmaster-cluster": "clu_1", "ringmaster-node": node},
        )

    def image(self, world: World) -> Image:
        return world.open().find_image(region=world.region, engine=world.engine, version=world.version)

    def find(self, world: World, name: str) -> Machine | None:
        return world.open().find_machine(region=world.region, name=name)

    def reaches(self, world: World, name: str, state: MachineState) -> bool:
        def there() -> bool:
            machine = self.find(world, name)
            return machine is not None and machine.state is state

        return eventually(there, world.seconds)

    def deleted(self, world: World, name: str) -> bool:
        return eventually(lambda: world.open().delete_machine(region=world.region, name=name), world.seconds)

    # Images.

    def test_it_finds_the_image_of_a_version(self, world: World, provider: Provider) -> None:
        image = self.image(world)
        assert image.state is ImageState.READY
        assert self.image(world) == image

    def test_it_says_that_it_has_no_image_of_an_unknown_version(self, world: World, provider: Provider) -> None:
        with pytest.raises(NotFound):
            provider.find_image(region=world.region, engine=world.engine, version=world.unknown_version)

    # Networks.

    def test_it_makes_a_network_once(self, world: World, provider: Provider) -> None:
        again = world.open().ensure_network(self.network(world))
        assert [again] == provider.list_networks(region=world.region)

    def test_it_keeps_a_networks_tags(self, world: World, provider: Provider) -> None:
        (listed,) = world.open().list_networks(region=world.region)
        assert listed.tags == self.network(world).tags

    def test_it_refuses_to_change_a_network(self, world: World, provider: Provider) -> None:
        with pytest.raises(InvalidRequest):
            provider.ensure_network(replace(self.network(world), zones=world.zones[:1]))

    def test_it_deletes_a_network_twice(self, world: World, provider: Provider) -> None:
        assert provider.delete_network(region=world.region, name=NETWORK)
        assert provider.delete_network(region=world.region, name=NETWORK)
        assert provider.list_networks(region=world.region) == []

    def test_it_keeps_a_network_that_has_machines(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        provider.ensure_machine(spec)
        assert not provider.delete_network(region=world.region, name=NETWORK)
        assert self.deleted(world, spec.name)
        assert provider.delete_network(region=world.region, name=NETWORK)

    def test_it_lists_a_region_by_itself(self, world: World, provider: Provider) -> None:
        provider.ensure_machine(self.spec(world))
        assert provider.list_machines(region=world.other_region) == []
        assert provider.list_networks(region=world.other_region) == []

    # Making machines.

    def test_it_makes_one_machine_when_asked_twice(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        first = provider.ensure_machine(spec)
        second = provider.ensure_machine(spec)
        assert (first.id, first.address, first.agent_address) == (second.id, second.address, second.agent_address)
        assert [machine.name for machine in provider.list_machines(region=world.region)] == [spec.name]
        assert self.reaches(world, spec.name, MachineState.RUNNING)

    def test_it_finds_after_a_crash_what_was_made_before(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        first = provider.ensure_machine(spec)
        second = world.open().ensure_machine(spec)
        assert (first.id, first.address) == (second.id, second.address)
        assert len(provider.list_machines(region=world.region)) == 1

    def test_it_makes_one_machine_for_eight_callers(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        together = threading.Barrier(8)

        def ensure(_: int) -> Machine:
            mine = world.open()
            together.wait()
            return mine.ensure_machine(spec)

        with ThreadPoolExecutor(8) as pool:
            machines = list(pool.map(ensure, range(8)))
        assert len({(machine.id, machine.address) for machine in machines}) == 1
        assert len(provider.list_machines(region=world.region)) == 1

    def test_it_gives_machines_made_side_by_side_addresses_of_their_own(self, world: World, provider: Provider) -> None:
        specs = [self.spec(world, node, zone) for zone, node in enumerate(NODES)]
        with ThreadPoolExecutor(3) as pool:
            machines = list(pool.map(lambda spec: world.open().ensure_machine(spec), specs))
        assert [machine.zone for machine in machines] == list(world.zones)
        assert len({machine.address for machine in machines}) == 3
        assert len({machine.agent_address for machine in machines}) == 3

    def test_it_keeps_tags_and_lists_what_is_ours(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        made = provider.ensure_machine(spec)
        (listed,) = provider.list_machines(region=world.region)
        assert made.tags == listed.tags == spec.tags
        assert listed.name == spec.name

    def test_it_refuses_the_same_name_with_another_spec(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        provider.ensure_machine(spec)
        for changed in (
            replace(spec, zone=world.zones[1]),
            replace(spec, memory_mib=spec.memory_mib + 1),
            replace(spec, user_data=user_data(NODES[1])),
        ):
            with pytest.raises(InvalidRequest):
                provider.ensure_machine(changed)
        (machine,) = provider.list_machines(region=world.region)
        assert machine.zone == world.zones[0]

    def test_it_refuses_what_it_does_not_know(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        for wrong in (
            replace(spec, zone="nowhere-1a"),
            replace(spec, machine_type="huge.beast"),
            replace(spec, network="rm-no-such-network"),
        ):
            with pytest.raises(InvalidRequest):
                provider.ensure_machine(wrong)
        assert provider.list_machines(region=world.region) == []

    def test_it_refuses_an_unknown_region(self, world: World, provider: Provider) -> None:
        with pytest.raises(InvalidRequest):
            provider.ensure_machine(replace(self.spec(world), region="nowhere-1"))
        with pytest.raises(InvalidRequest):
            provider.list_machines(region="nowhere-1")

    def test_it_refuses_an_unknown_image(self, world: World, provider: Provider) -> None:
        with pytest.raises(NotFound):
            provider.ensure_machine(replace(self.spec(world), image=f"{world.engine}-{world.unknown_version}"))

    # Power.

    def test_it_stops_and_starts_a_machine(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        made = provider.ensure_machine(spec)
        assert self.reaches(world, spec.name, MachineState.RUNNING)
        provider.stop_machine(region=world.region, name=spec.name)
        assert self.reaches(world, spec.name, MachineState.STOPPED)
        provider.stop_machine(region=world.region, name=spec.name)
        world.open().start_machine(region=world.region, name=spec.name)
        assert self.reaches(world, spec.name, MachineState.RUNNING)
        provider.start_machine(region=world.region, name=spec.name)
        found = self.find(world, spec.name)
        assert found is not None
        assert (found.id, found.address) == (made.id, made.address)

    def test_it_kills_and_starts_a_machine(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        provider.ensure_machine(spec)
        assert self.reaches(world, spec.name, MachineState.RUNNING)
        provider.kill_machine(region=world.region, name=spec.name)
        killed = self.find(world, spec.name)
        assert killed is not None
        assert killed.state is MachineState.STOPPED
        provider.kill_machine(region=world.region, name=spec.name)
        provider.start_machine(region=world.region, name=spec.name)
        assert self.reaches(world, spec.name, MachineState.RUNNING)

    def test_it_starts_a_stopped_machine_when_it_is_asked_for(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        made = provider.ensure_machine(spec)
        provider.kill_machine(region=world.region, name=spec.name)
        assert provider.ensure_machine(spec).id == made.id
        assert self.reaches(world, spec.name, MachineState.RUNNING)

    def test_it_has_no_power_over_a_machine_that_is_not_there(self, world: World, provider: Provider) -> None:
        for switch in (provider.start_machine, provider.stop_machine, provider.kill_machine):
            with pytest.raises(NotFound):
                switch(region=world.region, name="rm-nod-none")

    # Deleting.

    def test_it_deletes_a_machine_twice(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        provider.ensure_machine(spec)
        assert self.deleted(world, spec.name)
        assert provider.delete_machine(region=world.region, name=spec.name)
        assert self.find(world, spec.name) is None
        assert provider.list_machines(region=world.region) == []

    def test_it_deletes_a_machine_that_never_was(self, world: World, provider: Provider) -> None:
        assert provider.delete_machine(region=world.region, name="rm-nod-none")

    def test_it_deletes_a_stopped_machine(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        provider.ensure_machine(spec)
        provider.kill_machine(region=world.region, name=spec.name)
        assert self.deleted(world, spec.name)

    def test_it_makes_a_deleted_machine_anew(self, world: World, provider: Provider) -> None:
        spec = self.spec(world)
        provider.ensure_machine(spec)
        assert self.deleted(world, spec.name)
        other = replace(spec, user_data=user_data(NODES[1]))
        provider.ensure_machine(other)
        assert self.reaches(world, spec.name, MachineState.RUNNING)

    def test_it_deletes_one_machine_only(self, world: World, provider: Provider) -> None:
        going, staying = self.spec(world, NODES[0]), self.spec(world, NODES[1])
        provider.ensure_machine(going)
        provider.ensure_machine(staying)
        assert self.deleted(world, going.name)
        assert self.reaches(world, staying.name, MachineState.RUNNING)
        assert [machine.name for machine in provider.list_machines(region=world.region)] == [staying.name]

    # What the cloud calls images.

    def test_an_image_can_be_had_by_its_name(self, world: World, provider: Provider) -> None:
        found = provider.find_image(region=world.region, engine=world.engine, version=world.version)
        if found.by_architecture:
            assert provider.named_image(region=world.region, ids=found.by_architecture) == found

    def test_an_image_that_there_is_not_is_not_found(self, world: World, provider: Provider) -> None:
        with pytest.raises(NotFound):
            provider.named_image(region=world.region, ids={"x86_64": "gone-1"})

    # What there is room for.

    def test_it_tells_what_each_type_takes_of_what_there_is(self, world: World, provider: Provider) -> None:
        for quota in provider.capacity(region=world.region).quotas:
            assert quota.used >= 0
            assert quota.name
            assert all(taken > 0 for taken in quota.per_machine.values())

    def test_it_says_how_much_memory_there_is_or_that_only_the_cloud_knows(
        self, world: World, provider: Provider
    ) -> None:
        budget = provider.memory_budget_mib(region=world.region)
        assert budget is None or budget >= 0
