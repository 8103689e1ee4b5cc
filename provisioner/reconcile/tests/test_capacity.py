"""Budgets are written for what this installation offers; the rest is left alone."""

from unittest.mock import patch

import pytest

from backend.catalog.models import Region
from backend.cloud_accounts.models import CloudAccount, RegionCapacity
from provisioner.operations.surroundings import Surroundings, surroundings, use
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import AccessDenied, Capacity, InvalidRequest, Provider, Quota
from provisioner.providers.fake import FakeProvider, FakeSettings
from provisioner.reconcile import capacity
from provisioner.reconcile.capacity import record_capacity

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_budget_of_a_region_is_what_its_provider_says() -> None:
    def provider(name: str, account: object = None, /) -> Provider:
        if name != "fake":
            raise InvalidRequest(f"This installation offers no provider {name!r}.")
        return FakeProvider(FakeSettings(path=None, memory_budget_mib=12_345))

    with cluster_world(ClusterWorld.create):
        here = surroundings()
        with use(Surroundings(provider=provider, engine=here.engine, agent=here.agent)):
            assert record_capacity() == Region.objects.filter(provider_id="fake").count()
    assert set(Region.objects.filter(provider_id="fake").values_list("memory_budget_mib", flat=True)) == {12_345}
    assert set(Region.objects.filter(provider_id="local").values_list("memory_budget_at", flat=True)) == {None}


def test_each_account_is_asked_and_one_that_does_not_answer_stops_no_other() -> None:
    quota = Quota(name="vCPUs", limit=64, used=8, per_machine={"fake.small": 2})
    told = Capacity(quotas=(quota,), offered={"fake-1a": ("fake.small",)})
    with cluster_world(ClusterWorld.create) as world:
        ready, closed, unchecked = (
            CloudAccount.objects.create(
                organisation_id=world.who.organisation_id,
                name=name,
                provider="aws",
                external_id=name,
                check_state=state,
            )
            for name, state in (("ready", "ready"), ("closed", "ready"), ("unchecked", "unchecked"))
        )
        clouds: dict[str | None, Provider] = {
            None: FakeProvider(FakeSettings(path=None)),
            ready.id: FakeProvider(FakeSettings(path=None, capacity=told)),
        }

        def provider(name: str, account: CloudAccount | None = None, /) -> Provider:
            asked = None if account is None else account.id
            if name != "fake" or asked not in clouds:
                raise AccessDenied("The role is gone.")
            return clouds[asked]

        here = surroundings()
        with (
            patch.object(
                capacity, "living_accounts", lambda name: [ready, closed, unchecked] if name == "fake" else []
            ),
            use(Surroundings(provider=provider, engine=here.engine, agent=here.agent)),
        ):
            assert record_capacity() == 2 * Region.objects.filter(provider_id="fake").count()
    row = RegionCapacity.objects.get(region_id="fake/fake-1", cloud_account=ready)
    assert row.quotas == [{"name": "vCPUs", "limit": 64, "used": 8, "per_machine": {"fake.small": 2}, "hint": ""}]
    assert row.offered == {"fake-1a": ["fake.small"]}
    shut = RegionCapacity.objects.get(region_id="fake/fake-1", cloud_account=closed)
    assert (shut.answered_at, shut.problem) == (None, "The role is gone.")
    assert not RegionCapacity.objects.filter(cloud_account=unchecked).exists()
