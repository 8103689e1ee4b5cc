"""Budgets are written for what this installation offers; the rest is left alone."""

import pytest

from backend.catalog.models import Region
from provisioner.operations.surroundings import Surroundings, surroundings, use
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import InvalidRequest, Provider
from provisioner.providers.fake import FakeProvider, FakeSettings
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
