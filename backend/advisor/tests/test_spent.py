"""What the rules that save are told of a cluster: whole days that were measured, its machines, its backups."""

from datetime import UTC, date, datetime, timedelta

import pytest

from backend.advisor import spent
from backend.advisor.rules.spending import Metered
from backend.catalog.models import MachineType, Provider
from backend.clusters.models import Cluster
from backend.costs.models import HourToShare
from backend.costs.recording import add_to_days
from backend.costs.sharing import Parts
from backend.costs.tables import Shares, add_to_tables, shared_tables, tables_of
from backend.prices.models import Price

NOW = datetime(2026, 11, 22, 18, tzinfo=UTC)
TODAY = NOW.date()
MONTH = datetime(2026, 11, 1, tzinfo=UTC)


def spend(cluster: Cluster, days_ago: int, *, reads: int = 0, unmeasured: int = 0, today: date = TODAY) -> None:
    """A dollar, a tenth of it for backups; half of storage for a table."""
    day, whole = today - timedelta(days=days_ago), Parts(compute=600_000, storage=300_000, backups=100_000)
    organisation = cluster.organisation_id
    add_to_days({(organisation, cluster.id, day): (whole, unmeasured)})
    table = tables_of(organisation, cluster.id, [("shop", "orders")])["shop", "orders"]
    rest = shared_tables({(organisation, cluster.id)})[organisation, cluster.id]
    mine = Parts(storage=150_000)
    add_to_tables(
        {
            (table, organisation, day): Shares(mine, reads=reads, writes=1),
            (rest, organisation, day): Shares(whole - mine),
        }
    )


def test_an_idle_cluster_is_judged_by_whole_days_that_were_measured(active: Cluster):
    for day in range(1, 14):
        spend(active, day, reads=10)
    assert spent.metered(active, TODAY) is None
    spend(active, 14, reads=20)
    spend(active, 0, reads=10_000)
    # Backups stay when the cluster goes.
    assert spent.metered(active, TODAY) == Metered(days=14, requests=13 * 10 + 20 + 14, micros=14 * 900_000)


@pytest.mark.parametrize(("unmeasured", "known"), [(280_000, True), (280_001, False)])
def test_days_without_metrics_say_nothing(active: Cluster, unmeasured: int, known: bool):
    """Two of a hundred are forgiven: 0.28 of 14 dollars."""
    for day in range(1, 15):
        spend(active, day, unmeasured=unmeasured if day == 3 else 0)
    assert (spent.metered(active, TODAY) is not None) is known


def test_an_hour_that_is_still_to_be_shared_out_may_have_had_requests(active: Cluster):
    for day in range(1, 15):
        spend(active, day)
    hour = datetime(2026, 11, 21, 23, tzinfo=UTC)
    HourToShare.objects.create(
        organisation_id=active.organisation_id, cluster_id=active.id, hour=hour, compute=1, uncounted=1
    )
    assert spent.metered(active, TODAY) is None
    HourToShare.objects.update(uncounted=0)
    assert spent.metered(active, TODAY) is not None


def test_a_table_is_told_when_it_was_there_every_day(active: Cluster):
    for day in range(1, 31):
        spend(active, day, reads=1 if day == 30 else 0)
    found = spent.tables_lately(active, TODAY)
    assert list(found) == [("shop", "orders")]
    used = found["shop", "orders"]
    assert (used.days, used.reads, used.writes, used.storage_micros) == (30, 1, 30, 30 * 150_000)
    assert spent.tables_lately(active, TODAY + timedelta(days=1)) == {}


def test_machines_of_a_cluster_and_what_can_be_had_instead(active: Cluster):
    Cluster.objects.filter(id=active.id).update(active_at=NOW - timedelta(days=45))
    active.refresh_from_db()
    for item, name, term, micros in (("machine", "local.small", "on_demand", 20_000), ("cluster_fee", "", "", 100)):
        Price.objects.create(
            provider="local", item=item, name=name, term=term, origin="list", micros=micros, valid_from=MONTH
        )
    found = spent.spending_of(active, [{"local-local-1": 2}], NOW)
    (place,) = found.places
    assert (place.name, place.machine_type, place.nodes, place.zones, place.replicas) == (
        "local-local-1",
        "local.small",
        3,
        3,
        2,
    )
    assert found.served_days == 45
    # They share the machine at hand: there is nothing to plan with, but they have a price.
    assert (place.machine, found.offers) == (None, {})
    assert found.month(place, "local.small", 3) == 3 * 730 * 20_000 + 100
    assert found.lately is None


def test_only_what_fits_the_images_can_be_had_instead(db: None):
    Provider.objects.create(id="aws", name="Amazon Web Services")
    for name, architecture in (("i3.large", "x86_64"), ("i4i.large", "x86_64"), ("i4g.large", "arm64")):
        MachineType.objects.create(
            id=f"aws/{name}", provider_id="aws", name=name, memory_mib=1, heap_mib=1, architecture=architecture
        )
    _, offers = spent.machines_of("aws")
    assert {name: sorted(each.name for each in those) for name, those in offers.items()} == {
        "i3.large": ["i3.large", "i4i.large"],
        "i4i.large": ["i3.large", "i4i.large"],
        "i4g.large": ["i4g.large"],
    }
