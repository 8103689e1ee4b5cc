"""Accounts that are brought: their check, and that each cluster is made in its own and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from django.conf import settings

from backend.accounts.queries import Identity
from backend.catalog import actions as catalog
from backend.cloud_accounts import actions
from backend.cloud_accounts.models import CloudAccount
from backend.cloud_accounts.schemas import CloudAccountOrder
from backend.clusters.models import Cluster
from backend.operations.models import Operation
from provisioner import runner
from provisioner.operations import check_cloud_account, registry, testing, wiring
from provisioner.operations.node_steps import provider_of
from provisioner.operations.surroundings import Surroundings, surroundings, use
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.emulator import CREDENTIALS, Emulator
from provisioner.providers.base import AccessDenied, Provider
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.registry import ProviderSettings
from provisioner.providers.registry import provider as registered

pytestmark = pytest.mark.django_db(transaction=True)
REGION = "us-east-1"
ROLE = "arn:aws:iam::123456789012:role/ringmaster-shop"


def bring(who: Identity, name: str = "Shop", role: str = ROLE) -> CloudAccount:
    order = CloudAccountOrder(name=name, provider="aws", role_arn=role)
    return CloudAccount.objects.get(id=actions.create(who, order)["cloud_account"]["id"])


@dataclass
class AccountWorld:
    """A `World` of the test kit: an account whose cloud lacks one permission."""

    who: Identity
    account_id: str = ""
    before: list[str] = field(default_factory=list)

    def start(self) -> Operation:
        account = bring(self.who)
        self.account_id = account.id
        return Operation.objects.get(id=account.check_operation_id)

    def snapshot(self) -> object:
        account = CloudAccount.objects.get(id=self.account_id)
        return account.check_state, account.check_results, bool(account.check_operation_id)

    def leftovers(self) -> list[str]:
        return [f"check {each.check_operation_id}" for each in CloudAccount.objects.exclude(check_operation_id="")]


class Lacking:
    def missing_permissions(self, *, region: str) -> list[str]:
        return ["ec2:RunInstances"]


@contextmanager
def account_world() -> Iterator[AccountWorld]:
    with cluster_world(ClusterWorld.create) as world:
        catalog.load(with_tests=True, clouds={"aws": [REGION, "eu-west-1"]})
        here = surroundings()
        lacking: Provider = Lacking()  # type: ignore[assignment]
        with use(Surroundings(provider=lambda name, account=None: lacking, engine=here.engine, agent=here.agent)):
            yield AccountWorld(world.who)


CHECKS = [
    testing.check_every_step_twice,
    testing.check_killed_after_every_step,
    testing.check_failing_at_every_step_and_cancelled,
    testing.check_undo_twice,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_check_stands_what_every_operation_must(check: object) -> None:
    check(check_cloud_account.CODE, account_world)  # type: ignore[operator]


# Against the emulated AWS.


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with Emulator() as emulator:
        emulator.trust = {}
        yield emulator


@pytest.fixture
def world(cloud: Emulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterWorld]:
    env = settings.ENV.model_copy(
        update={"ringmaster_aws_regions": [REGION], "ringmaster_aws_endpoint": cloud.url, "ringmaster_aws_role": ""}
    )
    monkeypatch.setattr(settings, "ENV", env)
    with cluster_world(ClusterWorld.create) as made:
        catalog.load(with_tests=True, clouds={"aws": [REGION]})
        with use(wiring.real_surroundings()):
            yield made


def checked(account: CloudAccount) -> CloudAccount:
    while runner.run(account.check_operation_id, find_code=registry.find).again_in is not None:
        pass
    account.refresh_from_db()
    return account


def test_a_role_that_is_not_there_yet_is_a_result_and_says_what_to_do(cloud: Emulator, world: ClusterWorld) -> None:
    account = checked(bring(world.who))
    assert account.state == "refused"
    (result,) = account.check_results
    assert f"cannot take on {ROLE}" in result["problem"]
    assert account.external_id in result["hint"]


def test_a_role_with_the_external_id_of_somebody_else_is_refused(cloud: Emulator, world: ClusterWorld) -> None:
    cloud.trust = {ROLE: "that-of-another-account"}
    assert checked(bring(world.who)).state == "refused"


def test_a_role_that_takes_any_external_id_is_refused(cloud: Emulator, world: ClusterWorld) -> None:
    cloud.trust = {ROLE: None}
    account = checked(bring(world.who))
    assert account.state == "refused"
    assert "any external id" in account.check_results[0]["problem"]


def test_an_account_is_ready_once_its_role_is_as_its_setup_says(cloud: Emulator, world: ClusterWorld) -> None:
    account = bring(world.who)
    cloud.trust = {ROLE: account.external_id}
    cloud.denied = {"ec2:CreateVpc", "ec2:RunInstances"}
    account = checked(account)
    assert (account.state, account.missing) == ("incomplete", ["ec2:CreateVpc", "ec2:RunInstances"])
    cloud.denied = set()
    actions.check(world.who, account.id)
    account.refresh_from_db()
    assert checked(account).state == "ready"


def test_a_cluster_is_made_in_its_account_and_in_no_other(cloud: Emulator, world: ClusterWorld) -> None:
    theirs = checked(bring(world.who))
    cloud.trust = {ROLE: theirs.external_id}
    cluster = Cluster(organisation_id=world.who.organisation_id, provider="aws", cloud_account=theirs)
    assert provider_of(cluster).list_machines(region=REGION) == []
    assert [call.form["ExternalId"] for call in cloud.calls if call.action == "AssumeRole"][-1] == theirs.external_id
    cloud.calls.clear()
    provider_of(Cluster(organisation_id=world.who.organisation_id, provider="aws")).list_machines(region=REGION)
    assert "AssumeRole" not in {call.action for call in cloud.calls}
    # Another organisation that registers the same role has another external id.
    with cluster_world(ClusterWorld.create) as other:
        foreign = bring(other.who)
    with pytest.raises(AccessDenied):
        surroundings().provider("aws", foreign).list_machines(region=REGION)
    with pytest.raises(LookupError, match="does not belong"):
        provider_of(Cluster(organisation_id=other.who.organisation_id, provider="aws", cloud_account=theirs))


def test_an_account_has_its_own_settings_and_none_of_the_installation_s_credentials() -> None:
    offered = ProviderSettings(
        aws=AwsSettings(role_arn="arn:own", external_id="own", vpcs=(("eu-west-1", "vpc-0"),), installation="here"),
        gcp=GcpSettings(project="own", impersonate="own@own", machine_service_account="nodes@own"),
    )
    choices = {"public_addresses": True, "networks": "10.32.0.0/12", "vpcs": {"us-east-1": "vpc-1"}}
    aws = wiring.in_account(
        offered, CloudAccount(provider="aws", role_arn=ROLE, external_id="theirs", settings=choices)
    )
    assert (aws.gcp, aws.local, aws.fake) == (None, None, None)
    assert aws.aws == AwsSettings(
        role_arn=ROLE,
        external_id="theirs",
        vpcs=(("us-east-1", "vpc-1"),),
        public_addresses=True,
        cidr_pool="10.32.0.0/12",
        installation="here",
    )
    gcp = wiring.in_account(
        offered, CloudAccount(provider="gcp", project="shop", external_id="ab", settings={**choices, "vpcs": {}})
    )
    assert gcp.aws is None
    assert gcp.gcp == GcpSettings(
        project="shop",
        impersonate="ringmaster-ab@shop.iam.gserviceaccount.com",
        image_project="own",
        public_addresses=True,
        address_block="10.32.0.0/12",
    )
    with pytest.raises(Exception, match="offers no provider"):
        registered("aws", wiring.in_account(ProviderSettings(), CloudAccount(provider="aws", settings=choices)))
