"""Prices that clouds publish come into the price book, once a day, and a list that cannot be read changes none."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta

import pytest
from django.utils import timezone

from backend.catalog import actions as catalog
from backend.prices.actions import load
from backend.prices.models import Price, PriceList
from backend.prices.queries import coming_hour
from backend.prices.states import Origin
from provisioner.operations.surroundings import Surroundings, surroundings, use
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import AccessDenied, ListPrice, Provider, ProviderError
from provisioner.providers.fake import FakeProvider, FakeSettings
from provisioner.reconcile.prices import read_price_lists

pytestmark = pytest.mark.django_db(transaction=True)

DAY = date(2026, 11, 1)
METAL = ListPrice(item="machine", name="i3.metal", term="on_demand", micros=5_100_000, day=DAY)
RESERVED = ListPrice(item="machine", name="i3.metal", term="reserved_3y", micros=2_150_000, day=DAY)
DISK = ListPrice(item="block_storage", name="gp3", micros=80_000, day=DAY)


class Cloud(FakeProvider):
    """Tells one list for each region, or fails."""

    def __init__(self, *told: ListPrice, error: ProviderError | None = None) -> None:
        super().__init__(FakeSettings(path=None))
        self.told, self.error, self.asked = told, error, list[list[str]]()

    def price_list(self, *, regions: Sequence[str]) -> Mapping[str, Sequence[ListPrice]]:
        self.asked.append(list(regions))
        if self.error is not None:
            raise self.error
        return dict.fromkeys(regions, self.told)


@contextmanager
def clouds(aws: Cloud) -> Iterator[None]:
    """AWS offered in one region."""

    def provider(name: str, account: object = None, /) -> Provider:
        return aws if name == "aws" else FakeProvider(FakeSettings(path=None))

    with cluster_world(ClusterWorld.create):
        catalog.load(with_tests=True, clouds={"aws": ["us-east-1"]})
        here = surroundings()
        with use(Surroundings(provider=provider, engine=here.engine, agent=here.agent)):
            yield


def a_day_later() -> None:
    PriceList.objects.update(tried_at=timezone.now() - timedelta(hours=25))


def published() -> list[tuple[str, str, int | None]]:
    rows = Price.objects.filter(origin=Origin.PUBLISHED).order_by("id")
    return list(rows.values_list("name", "term", "micros"))


def test_prices_are_read_once_a_day_and_count_from_the_coming_hour() -> None:
    cloud = Cloud(METAL, RESERVED, DISK)
    with clouds(cloud):
        assert read_price_lists() == 3
        assert read_price_lists() == 0
        assert cloud.asked == [["us-east-1"]]
        a_day_later()
        assert read_price_lists() == 0
        assert len(cloud.asked) == 2
        (listed,) = PriceList.objects.all()
    assert published() == [
        ("i3.metal", "on_demand", 5_100_000),
        ("i3.metal", "reserved_3y", 2_150_000),
        ("gp3", "", 80_000),
    ]
    assert set(Price.objects.filter(origin="published").values_list("valid_from", flat=True)) == {coming_hour()}
    assert (listed.provider, listed.region, listed.prices, listed.error) == ("aws", "us-east-1", 3, "")
    assert listed.read_at == listed.tried_at


def test_a_price_that_changes_is_another_row_unless_the_first_never_began() -> None:
    cloud = Cloud(METAL)
    with clouds(cloud):
        read_price_lists()
        cloud.told = (ListPrice(item="machine", name="i3.metal", term="on_demand", micros=5_200_000),)
        a_day_later()
        assert read_price_lists() == 1
        assert published() == [("i3.metal", "on_demand", 5_200_000)]
        begun = Price.objects.get(origin="published")
        begun.delete()
        begun.valid_from = coming_hour() - timedelta(hours=2)
        begun.save(force_insert=True)
        cloud.told = (METAL,)
        a_day_later()
        assert read_price_lists() == 1
    assert {row[2] for row in published()} == {5_200_000, 5_100_000}


def test_a_list_that_cannot_be_read_says_why_and_is_tried_within_the_day() -> None:
    cloud = Cloud(METAL)
    with clouds(cloud):
        read_price_lists()
        cloud.error = AccessDenied("It lacks pricing:GetProducts.", hint="Allow it.")
        a_day_later()
        assert read_price_lists() == 0
        (listed,) = PriceList.objects.all()
        assert (listed.error, listed.hint) == ("It lacks pricing:GetProducts.", "Allow it.")
        assert listed.read_at is not None
        cloud.error = None
        assert read_price_lists() == 0
        assert len(cloud.asked) == 2
        PriceList.objects.update(tried_at=timezone.now() - timedelta(minutes=61))
        read_price_lists()
        assert PriceList.objects.get().error == ""
    assert published() == [("i3.metal", "on_demand", 5_100_000)]


@pytest.mark.parametrize("micros", [49_920_000, 499_200])
def test_a_price_ten_times_another_is_not_believed_and_said(micros: int) -> None:
    """The product's own figure is 4.992 dollars."""
    odd = ListPrice(item="machine", name="i3.metal", term="on_demand", micros=micros)
    with clouds(Cloud(odd, DISK)):
        load()
        assert read_price_lists() == 1
        (listed,) = PriceList.objects.all()
    assert published() == [("gp3", "", 80_000)]
    assert listed.doubtful == [f"i3.metal, on_demand: {micros / 1e6:g} after 4.992"]


def test_an_empty_list_is_an_error() -> None:
    with clouds(Cloud()):
        assert read_price_lists() == 0
        (listed,) = PriceList.objects.all()
    assert "tells nothing" in listed.error
    assert listed.read_at is None
