"""Every rule about money on both sides of its thresholds, with sums worked out by hand."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from backend.advisor import rules
from backend.advisor.rules import machines, savings
from backend.advisor.rules.facts import DAY, GIB, Advice, ClusterFacts, Node, Numbers, Table, TableUse
from backend.advisor.rules.spending import Metered, Overdue, Place, Spending
from backend.metrics.catalogue import CHARTS_BY_ID
from backend.prices.book import Listed, PriceBook
from backend.prices.states import Item, Term
from backend.sizing.figures import EngineRules
from backend.sizing.shapes import Machine

AT = datetime(2026, 11, 22, 18, tzinfo=UTC)
USD = 1_000_000
RULES = EngineRules(
    disk_fill_percent=50,
    disk_fill_source="",
    data_per_memory=30,
    data_per_memory_source="",
    counted_vcpus=16,
    counted_vcpus_source="",
)


def machine(name: str, vcpus: int) -> Machine:
    """4 GiB of memory, 100 GiB of disk and 1 Gbit/s for each vCPU."""
    return Machine(
        name=name,
        family=name.partition(".")[0],
        vcpus=vcpus,
        cores=vcpus // 2,
        memory_bytes=4 * GIB * vcpus,
        disk_bytes=100 * GIB * vcpus,
        network_bits_per_second=10**9 * vcpus,
        network_always=True,
        disk_write_bytes_per_second=None,
    )


SMALL, MEDIUM, LARGE = machine("i3.small", 2), machine("i3.medium", 8), machine("i3.large", 32)
NEWER = machine("i4i.medium", 8)
PRICES = {"i3.small": 100_000, "i3.medium": 400_000, "i3.large": 1_600_000, "i4i.medium": 300_000}


def listed(item: Item, micros: int, name: str = "", term: Term | None = None) -> Listed:
    return Listed(
        provider="aws",
        region="us-east-1",
        item=item,
        name=name,
        term=term,
        micros=micros,
        valid_from=AT.replace(year=2020),
    )


def book(*more: Listed) -> PriceBook:
    machines = [listed(Item.MACHINE, micros, name, Term.ON_DEMAND) for name, micros in PRICES.items()]
    return PriceBook([*machines, listed(Item.OBJECT_STORAGE, 23_000, "standard"), *more])


PLACE = Place(
    name="aws-us-east-1",
    region="us-east-1",
    machine_type="i3.medium",
    nodes=3,
    zones=3,
    replicas=3,
    machine=MEDIUM,
)
SPENDING = Spending(
    book=book(),
    at=AT,
    provider="aws",
    served_days=20,
    engine=RULES,
    places=(PLACE,),
    offers={"i3.medium": (SMALL, MEDIUM, LARGE)},
)


def nodes(cpu: float = 0.1, used: float = 0.1, **more: Any) -> tuple[Node, ...]:
    """Three on medium machines that were seen for a week."""
    seen = {"known_seconds": 7.0 * DAY, "client_reads": 100.0, "client_writes": 50.0, "received": 1e5, "sent": 1e5}
    return tuple(
        Node(
            id=name,
            name=name,
            datacenter="aws-us-east-1",
            cpu=cpu,
            disk_total=800.0 * GIB,
            disk_free=800.0 * GIB * (1 - used),
            **(seen | {"read_p99": 0.002, "write_p99": 0.001} | more),
        )
        for name in ("one", "two", "three")
    )


def cluster(spending: Spending = SPENDING, **load: Any) -> ClusterFacts:
    return ClusterFacts(window_seconds=DAY, nodes=nodes(**load), spending=spending)


def said(facts: ClusterFacts) -> dict[str, Advice]:
    return {one.rule: one for one in rules.savings_of(facts)}


# Idle clusters

METERED = Metered(days=14, requests=13_999, micros=336 * USD)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, True),
        ({"requests": 0}, True),
        ({"requests": 14_000}, False),
        ({"days": 13, "requests": 0}, False),
        ({"micros": 0}, False),
    ],
)
def test_a_cluster_that_nobody_asked_for_two_weeks(changed: dict[str, int], says: bool) -> None:
    found = savings.idle(cluster(replace(SPENDING, lately=replace(METERED, **changed))))
    assert (found is not None) is says


def test_an_idle_cluster_costs_what_it_cost_by_the_month_and_is_not_told_to_shrink_too() -> None:
    found = said(cluster(replace(SPENDING, lately=METERED)))
    # 336 dollars in 336 hours are one an hour, 730 in a month.
    assert found["idle-cluster"].saving_micros == 730 * USD
    assert "730.00 USD a month" in found["idle-cluster"].finding
    assert list(found) == ["idle-cluster"]


def test_of_days_that_were_not_measured_nothing_is_said() -> None:
    assert savings.idle(cluster(replace(SPENDING, lately=None))) is None
    assert savings.idle(ClusterFacts(window_seconds=DAY)) is None


# Cold tables

USED = TableUse(days=30, reads=0, writes=5, storage_micros=72 * USD)


def table(size: float | None = 1.0 * GIB, **changed: int) -> Table:
    return Table(
        keyspace="shop",
        name="old",
        options={},
        numbers=Numbers(live_bytes=size),
        lately=replace(USED, **changed),
    )


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (table(), True),
        (table(size=GIB - 1.0), False),
        (table(size=None), False),
        (table(reads=1), False),
        (table(days=29), False),
        (table(storage_micros=0), False),
        (replace(table(), lately=None), False),
    ],
)
def test_a_table_that_nobody_read_for_thirty_days(one: Table, says: bool) -> None:
    assert (savings.cold(one, cluster()) is not None) is says


def test_a_cold_table_costs_its_share_of_storage() -> None:
    found = savings.cold(table(), cluster())
    assert found is not None
    # 72 dollars in 720 hours.
    assert found.saving_micros == 73 * USD
    assert (found.keyspace, found.table) == ("shop", "old")
    assert "It was written 5 times." in found.finding
    assert found.change is None


# Backups

OVERDUE = Overdue(
    location="Archive",
    provider="aws",
    region="us-east-1",
    expired=2,
    endless=1,
    oldest=datetime(2026, 1, 2, tzinfo=UTC),
    bytes=100 * GIB,
)


def test_backups_that_nobody_asks_for_cost_their_bytes() -> None:
    (found,) = savings.overdue(cluster(replace(SPENDING, overdue=(OVERDUE,))))
    # 100 GiB at 0.023 dollars.
    assert (found.saving_micros, found.subject) == (2_300_000, "Archive")
    assert "2 backups whose time is over, and one backup made by hand" in found.finding
    marked = replace(SPENDING, overdue=(OVERDUE,), book=book(listed(Item.MARKUP, 125_000)))
    assert next(savings.overdue(cluster(marked))).saving_micros == 2_587_500


def test_backups_whose_objects_others_need_save_nothing() -> None:
    assert list(savings.overdue(cluster(replace(SPENDING, overdue=(replace(OVERDUE, bytes=0),))))) == []
    elsewhere = replace(OVERDUE, provider="local")
    assert list(savings.overdue(cluster(replace(SPENDING, overdue=(elsewhere,))))) == []


# Reservations


def reserved(one: int | None, three: int | None = None) -> Spending:
    known = {Term.RESERVED_1Y: one, Term.RESERVED_3Y: three}
    rows = [listed(Item.MACHINE, micros, "i3.medium", term) for term, micros in known.items() if micros is not None]
    return replace(SPENDING, served_days=30.0, book=book(*rows))


@pytest.mark.parametrize(
    ("spending", "says"),
    [
        (reserved(240_000), True),
        (replace(reserved(240_000), served_days=29.9), False),
        (reserved(399_999), True),
        (reserved(400_000), False),
        (reserved(None), False),
        (reserved(None, 200_000), True),
    ],
)
def test_a_reservation_of_what_costs_less(spending: Spending, says: bool) -> None:
    assert (savings.reservation(spending, PLACE) is not None) is says


def test_a_reservation_pays_back_when_demand_has_cost_as_much() -> None:
    found = savings.reservation(reserved(240_000, 160_000), PLACE)
    assert found is not None
    # Three machines, 730 hours, 0.16 dollars less.
    assert found.saving_micros == 350_400_000
    evidence = {each.label: each.value for each in found.evidence}
    # 12 × 0.6 = 7.2 months, 36 × 0.4 = 14.4 months.
    assert evidence["Pays back after months, one year"] == 8
    assert evidence["Pays back after months, three years"] == 15
    assert "run 8 months or more" in found.finding


@pytest.mark.parametrize(("reserved", "months"), [(50, 6), (51, 7), (100, 12), (1, 1)])
def test_months_are_rounded_up(reserved: int, months: int) -> None:
    assert savings.pays_back(100, reserved, 12) == months


# Other machines


@pytest.mark.parametrize(
    ("load", "says"),
    [
        ({"cpu": 0.12}, True),
        # Half of two of eight vCPUs.
        ({"cpu": 0.126}, False),
        ({"cpu": 0.2}, False),
        ({"used": 0.3}, False),
        ({"read_p99": 0.012}, True),
        ({"write_p99": 0.0121}, False),
        ({"read_p99": None, "write_p99": None}, True),
        ({"known_seconds": 0.94 * 7 * DAY}, False),
        ({"known_seconds": None}, False),
        ({"cpu": None}, False),
    ],
)
def test_machines_that_idle_for_a_week(load: dict[str, Any], says: bool) -> None:
    assert ("under-used" in said(cluster(**load))) is says


def test_it_names_the_machines_that_would_do_and_what_they_cost() -> None:
    found = said(cluster())["under-used"]
    # Three machines, 730 hours, 0.30 dollars less: 657 of 876 dollars.
    assert found.saving_micros == 657 * USD
    assert found.gain == "3 × i3.small would do, and cost 657.00 USD a month less (75%)."
    assert found.statement == "Change the machine type to i3.small (Overview)."


def test_what_limits_the_planner_limits_the_advice() -> None:
    """Half of 200 GiB of each small machine: with more there must be more of them than there are."""
    assert "under-used" in said(cluster(used=0.125))
    assert "under-used" not in said(cluster(used=0.126))
    # Half of 2 Gbit/s of each, to and from all.
    assert "under-used" in said(cluster(received=0.9e8, sent=1.0))
    assert "under-used" not in said(cluster(received=1.3e8, sent=1.0))


def test_fewer_nodes_of_the_same_type_are_smaller_too() -> None:
    many = replace(SPENDING, places=(replace(PLACE, nodes=6),), offers={"i3.medium": (MEDIUM,)})
    six = (*nodes(), *(replace(node, id=f"{node.id}-b") for node in nodes()))
    found = said(replace(cluster(many), nodes=six))["under-used"]
    assert found.statement == "Go down to 1 in each zone (Overview, Scale)."
    assert found.saving_micros == 876 * USD


@pytest.mark.parametrize(("price", "says"), [(380_000, True), (380_001, False)])
def test_less_than_a_twentieth_is_not_worth_the_move(price: int, says: bool) -> None:
    dear = PriceBook(
        [
            listed(Item.MACHINE, 400_000, "i3.medium", Term.ON_DEMAND),
            listed(Item.MACHINE, price, "i3.small", Term.ON_DEMAND),
        ]
    )
    assert ("under-used" in said(cluster(replace(SPENDING, book=dear)))) is says


def test_a_newer_family_that_carries_the_load_for_less() -> None:
    both = replace(SPENDING, offers={"i3.medium": (MEDIUM, NEWER)})
    found = said(cluster(both, cpu=0.4))
    # Three machines, 730 hours, 0.10 dollars less.
    assert found["newer-machines"].saving_micros == 219 * USD
    assert "under-used" not in found
    assert "newer-machines" not in said(cluster(both, cpu=0.51))
    assert "newer-machines" not in said(cluster(both, cpu=0.4, read_p99=0.1))


def test_an_older_family_is_none_that_is_newer() -> None:
    place = replace(PLACE, machine=NEWER, machine_type="i4i.medium")
    cheap = PriceBook(
        [
            listed(Item.MACHINE, 10, "i3.medium", Term.ON_DEMAND),
            listed(Item.MACHINE, 300_000, "i4i.medium", Term.ON_DEMAND),
        ]
    )
    spending = replace(SPENDING, places=(place,), book=cheap, offers={"i4i.medium": (MEDIUM, NEWER)})
    assert said(cluster(spending, cpu=0.4)) == {}


@pytest.mark.parametrize(
    ("family", "number"), [("i3en", 3), ("i7ie", 7), ("n2-highmem", 2), ("z3-highmem", 3), ("", None)]
)
def test_a_family_has_its_generation_in_its_name(family: str, number: int | None) -> None:
    assert machines.generation(family) == number


def test_who_has_too_many_machines_is_not_told_to_reserve_them() -> None:
    bound = replace(reserved(240_000), offers=SPENDING.offers)
    assert set(said(cluster(bound))) == {"under-used"}
    assert set(said(cluster(bound, cpu=0.4))) == {"reservation"}


def test_machines_without_figures_or_price_have_nothing_said_of_their_size() -> None:
    for spending in (
        replace(SPENDING, engine=None),
        replace(SPENDING, places=(replace(PLACE, machine=None),)),
        replace(SPENDING, book=PriceBook([])),
    ):
        assert said(cluster(spending)) == {}


# All of them


def test_each_has_a_title_evidence_a_formula_and_a_sum() -> None:
    full = replace(reserved(240_000), offers={"i3.medium": (SMALL, MEDIUM, NEWER)}, overdue=(OVERDUE,), lately=METERED)
    busy = replace(full, lately=None)
    found = [
        *rules.savings_of(cluster(full)),
        *rules.savings_of(cluster(busy)),
        *rules.savings_of(cluster(busy, cpu=0.4, used=0.4)),
        savings.cold(table(), cluster()),
    ]
    assert {one.rule for one in found if one} == {
        "idle-cluster",
        "cold-table",
        "overdue-backups",
        "reservation",
        "under-used",
        "newer-machines",
    }
    for one in found:
        assert one is not None
        assert one.rule in rules.TITLES
        assert one.saving_micros > 0
        assert one.formula
        assert one.why_by_hand
        assert one.evidence
        for evidence in one.evidence:
            assert not evidence.chart or evidence.chart in CHARTS_BY_ID
