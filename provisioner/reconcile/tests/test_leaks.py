"""The sweep reports what nobody needs, deletes only what is provably ours, and misses what should be there."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now

from backend.cloud_accounts.models import CloudAccount
from backend.clusters import lifecycle, vault
from backend.clusters.models import Cluster, Node, NodeEnrolment, Secret
from backend.clusters.states import SecretPurpose
from backend.findings.models import Finding
from backend.operations.models import Operation
from provisioner.operations import names
from provisioner.operations.surroundings import Surroundings, surroundings, use
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import MachineSpec, NetworkSpec, Provider
from provisioner.providers.fake import FakeProvider, FakeSettings
from provisioner.providers.fake_faults import Fault
from provisioner.reconcile import leaks
from provisioner.reconcile.leaks import Swept, sweep_providers

pytestmark = pytest.mark.django_db(transaction=True)
REGION = "fake-1"


@pytest.fixture
def world() -> Iterator[ClusterWorld]:
    with cluster_world(ClusterWorld.create) as made:
        made.created()
        Node.objects.update(created_at=F("created_at") - timedelta(minutes=5))
        yield made


def nodes(world: ClusterWorld) -> list[Node]:
    return list(Node.objects.filter(cluster_id=world.cluster_id).order_by("position"))


def machines(world: ClusterWorld) -> set[str]:
    return {machine.name for machine in world.provider.list_machines(region=REGION)}


def grow_older(seconds: float) -> None:
    Finding.objects.filter(state="open").update(first_seen_at=F("first_seen_at") - timedelta(seconds=seconds))


@dataclass
class Accounts:
    theirs: CloudAccount
    others: CloudAccount
    own: FakeProvider
    clouds: dict[str, FakeProvider]


def subjects() -> list[str]:
    return list(Finding.objects.filter(state="open").values_list("subject", flat=True))


def open_codes() -> dict[str, str]:
    return {
        subject.rpartition("/")[2]: code
        for subject, code in Finding.objects.filter(state="open").values_list("subject", "code")
    }


def foreign(world: ClusterWorld, name: str, **tags: str) -> None:
    spec = MachineSpec(
        name=name,
        network=world.provider.list_networks(region=REGION)[0].name,
        region=REGION,
        zone="fake-1a",
        machine_type="fake.small",
        memory_mib=600,
        image="cassandra-5.0.5",
        user_data="{}",
        tags={key.replace("_", "-"): value for key, value in tags.items()},
    )
    world.provider.ensure_machine(spec)


def test_nothing_is_found_where_nothing_is_wrong(world: ClusterWorld) -> None:
    assert sweep_providers() == Swept()
    assert open_codes() == {}


def test_the_machine_of_a_node_that_ended_is_reported_and_deleted_after_a_while(world: ClusterWorld) -> None:
    ended = nodes(world)[0]
    Node.objects.filter(id=ended.id).update(deleted_at=Now(), state="deleted")
    name = names.machine(ended)
    assert sweep_providers() == Swept(leaks=1)
    assert open_codes() == {name: "machine-leaked"}
    grow_older(settings.ENV.ringmaster_leak_grace_seconds - 60)
    assert sweep_providers() == Swept(leaks=1)
    assert name in machines(world)
    grow_older(61)
    assert sweep_providers() == Swept(leaks=1, deleted=1)
    assert name not in machines(world)
    finding = Finding.objects.get()
    assert (finding.state, finding.action, finding.cluster_id) == ("closed", "It was deleted.", world.cluster_id)
    assert sweep_providers() == Swept()


def test_what_a_deleted_cluster_left_goes_machines_before_their_network(world: ClusterWorld) -> None:
    lifecycle.cluster_deleted(world.cluster_id)
    assert sweep_providers().leaks == 4
    assert set(open_codes().values()) == {"machine-leaked", "network-leaked"}
    grow_older(10_000)
    assert sweep_providers().deleted == 4
    assert world.provider.inventory() == []
    assert open_codes() == {}


def test_nothing_is_deleted_while_an_operation_on_its_cluster_is_open(world: ClusterWorld) -> None:
    ended = nodes(world)[0]
    Node.objects.filter(id=ended.id).update(deleted_at=Now(), state="deleted")
    operation = Operation.objects.create(
        organisation_id=world.who.organisation_id,
        kind="replace_node",
        cluster_id=world.cluster_id,
        actor="someone",
        state="blocked",
        expected_seconds=1,
    )
    sweep_providers()
    grow_older(10_000)
    assert sweep_providers().deleted == 0
    assert "an operation on its cluster is open" in Finding.objects.get().action
    Operation.objects.filter(id=operation.id).update(state="cancelled")
    assert sweep_providers().deleted == 1


@pytest.mark.parametrize(
    "tags",
    [
        {"ringmaster_cluster": "clu_elsewhere", "ringmaster_node": "nod_elsewhere"},
        {"ringmaster_cluster": "clu_elsewhere"},
        {"ringmaster_cluster": "{cluster}", "ringmaster_node": "nod_elsewhere"},
        # It names a node that has ended, but that one's machine has another name.
        {"ringmaster_cluster": "{cluster}", "ringmaster_node": "{ended}"},
        {"ringmaster_cluster": "clu_elsewhere", "ringmaster_node": "{ended}"},
    ],
)
def test_what_is_not_provably_ours_is_reported_and_never_deleted(world: ClusterWorld, tags: dict[str, str]) -> None:
    ended = nodes(world)[0]
    world.provider.delete_machine(region=REGION, name=names.machine(ended))
    Node.objects.filter(id=ended.id).update(deleted_at=Now(), state="deleted")
    filled = {key: value.format(cluster=world.cluster_id, ended=ended.id) for key, value in tags.items()}
    foreign(world, "rm-stranger", **filled)
    sweep_providers()
    assert open_codes() == {"rm-stranger": "unknown-resource"}
    grow_older(10**6)
    assert sweep_providers().deleted == 0
    assert "rm-stranger" in machines(world)


def test_an_unknown_network_is_reported_and_never_deleted(world: ClusterWorld) -> None:
    for tags in ({"ringmaster-cluster": "clu_elsewhere"}, {"ringmaster-cluster": world.cluster_id}):
        name = f"rm-net-{len(world.provider.list_networks(region=REGION))}"
        world.provider.ensure_network(NetworkSpec(name=name, region=REGION, zones=("fake-1a",), tags=tags))
    sweep_providers()
    assert set(open_codes().values()) == {"unknown-resource"}
    grow_older(10**6)
    assert sweep_providers() == Swept(leaks=2)
    assert len(world.provider.list_networks(region=REGION)) == 3


# Accounts that are brought.


@pytest.fixture
def accounts(world: ClusterWorld) -> Iterator[Accounts]:
    """The cluster of `world` is in an account that its organisation brought; another organisation has one too."""
    with cluster_world(ClusterWorld.create) as other:
        pass
    theirs, others = (_account(who.who.organisation_id) for who in (world, other))
    Cluster.objects.filter(id=world.cluster_id).update(cloud_account=theirs)
    clouds = {theirs.id: world.provider, others.id: FakeProvider(FakeSettings(path=None))}
    own, here = FakeProvider(FakeSettings(path=None)), surroundings()

    def provider(name: str, account: CloudAccount | None = None, /) -> Provider:
        return own if account is None else clouds[account.id]

    with (
        patch.object(leaks, "living_accounts", lambda name: [theirs, others] if name == "fake" else []),
        use(Surroundings(provider=provider, engine=here.engine, agent=here.agent)),
    ):
        yield Accounts(theirs, others, own, clouds)


def _account(organisation_id: str) -> CloudAccount:
    # The provider that only pretends has no accounts; it stands for a cloud here.
    return CloudAccount.objects.create(
        organisation_id=organisation_id, name="Shop", provider="aws", external_id=f"of {organisation_id}"
    )


def test_the_machines_of_a_cluster_are_looked_for_in_its_account(world: ClusterWorld, accounts: Accounts) -> None:
    assert sweep_providers() == Swept()
    world.provider.delete_machine(region=REGION, name=names.machine(nodes(world)[0]))
    assert sweep_providers() == Swept(missing=1)


def test_a_leak_in_an_account_is_deleted_there(world: ClusterWorld, accounts: Accounts) -> None:
    lifecycle.cluster_deleted(world.cluster_id)
    assert sweep_providers().leaks == 4
    assert all(subject.startswith(f"{accounts.theirs.id}/{REGION}/") for subject in subjects())
    grow_older(10_000)
    assert sweep_providers().deleted == 4
    assert world.provider.inventory() == []


def test_what_the_cluster_of_another_account_explains_is_never_touched_or_told(
    world: ClusterWorld, accounts: Accounts
) -> None:
    # Two roles in one AWS account, brought by two organisations, and the installation itself is in it too: each sees
    # everything, and the cluster has ended.
    for account_id in accounts.clouds:
        accounts.clouds[account_id] = world.provider
    lifecycle.cluster_deleted(world.cluster_id)
    with patch.object(leaks, "living_accounts", lambda name: [accounts.others] if name == "fake" else []):
        sweep_providers()
        grow_older(10**6)
        assert sweep_providers() == Swept()
    assert len(world.provider.inventory()) == 4
    assert open_codes() == {}
    grow_older(10**6)
    sweep_providers()
    grow_older(10**6)
    assert sweep_providers().deleted == 4


def test_a_machine_that_only_says_it_is_of_another_s_cluster_tells_nobody_of_it(
    world: ClusterWorld, accounts: Accounts
) -> None:
    there = accounts.clouds[accounts.others.id]
    network = NetworkSpec(name="rm-made-up", region=REGION, zones=("fake-1a",), tags={"ringmaster-cluster": "clu_x"})
    there.ensure_network(network)
    spec = MachineSpec(
        name=names.machine(nodes(world)[0]),
        network="rm-made-up",
        region=REGION,
        zone="fake-1a",
        machine_type="fake.small",
        memory_mib=600,
        image="cassandra-5.0.5",
        user_data="{}",
        tags={"ringmaster-cluster": world.cluster_id, "ringmaster-node": nodes(world)[0].id},
    )
    there.ensure_machine(spec)
    sweep_providers()
    assert open_codes() == {"rm-made-up": "unknown-resource"}
    # What is about no organisation is the platform team's alone.
    assert set(Finding.objects.values_list("organisation_id", flat=True)) == {None}


def test_what_does_not_carry_our_tags_is_none_of_our_business(world: ClusterWorld) -> None:
    foreign(world, "web-server", team="shop")
    assert sweep_providers() == Swept()


def test_a_row_written_after_it_looked_is_no_leak(world: ClusterWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "_living", lambda place: {})
    assert sweep_providers() == Swept()


def test_f27_a_machine_that_is_not_there_is_missed_at_the_next_sweep(world: ClusterWorld) -> None:
    victim = nodes(world)[1]
    world.provider.delete_machine(region=REGION, name=names.machine(victim))
    assert sweep_providers() == Swept(missing=1)
    assert open_codes() == {victim.id: "machine-gone"}
    assert sweep_providers() == Swept(missing=1)
    assert Finding.objects.count() == 1


def test_a_machine_that_the_list_does_not_show_yet_is_not_missed(
    world: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.provider, "list_machines", lambda region: [])
    assert sweep_providers() == Swept()


def test_a_provider_that_does_not_answer_closes_and_deletes_nothing(world: ClusterWorld) -> None:
    ended = nodes(world)[0]
    Node.objects.filter(id=ended.id).update(deleted_at=Now(), state="deleted")
    sweep_providers()
    grow_older(10_000)
    world.provider.inject(Fault(name="rate-limited", call="list_machines"))
    assert sweep_providers() == Swept()
    assert open_codes() == {names.machine(ended): "machine-leaked"}
    world.provider.end_faults()
    world.provider.inject(Fault(name="access-denied", call="delete_machine"))
    assert sweep_providers().deleted == 0
    assert Finding.objects.get().action.startswith("It could not be deleted: ")


def test_secrets_and_enrolments_of_what_has_ended_are_destroyed_and_no_others(world: ClusterWorld) -> None:
    vault.keep("clu_elsewhere", SecretPurpose.ADMIN_PASSWORD, b"kept")
    assert leaks.forget_the_ended() == 0
    before = Secret.objects.count()
    ended = nodes(world)[0]
    NodeEnrolment.objects.get_or_create(node=ended, defaults={"token_hash": b"0" * 32, "expires_at": Now()})
    Cluster.objects.filter(id=world.cluster_id).update(deleted_at=Now(), state="deleted")
    Node.objects.filter(id=ended.id).update(deleted_at=Now(), state="deleted")
    assert leaks.forget_the_ended() == 2
    assert not Secret.objects.filter(owner=world.cluster_id).exists()
    assert Secret.objects.filter(owner="clu_elsewhere").exists()
    assert Secret.objects.count() < before
    assert leaks.forget_the_ended() == 0
