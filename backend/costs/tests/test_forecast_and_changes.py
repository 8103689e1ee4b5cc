"""Worked by hand: the forecast of a month, and what changed in words."""

from datetime import UTC, date, datetime, timedelta

import pytest

from backend.accounts.queries import Identity
from backend.accounts.states import Permission, Role
from backend.conftest import Tenant
from backend.costs import invoices
from backend.costs.forecasting import get_forecast
from backend.costs.models import CostLine, UsageRecord
from backend.costs.recording import add_to_days
from backend.costs.sharing import parts_of
from backend.costs.wording import Amount, Thing, changes, summary
from backend.prices.states import GIB, Item

HOUR = 3600


def machine(name: str = "i3.metal", cluster_id: str = "clu_a") -> Thing:
    return Thing(cluster_id=cluster_id, item=Item.MACHINE, provider="aws", region="us-east-1", name=name)


def test_changes_are_told_with_what_moved():
    backups = Thing(cluster_id="clu_a", item=Item.OBJECT_STORAGE, provider="aws", region="", name="standard")
    before = {
        machine(): Amount(3 * 240 * HOUR, 3_000_000),
        machine("gone"): Amount(240 * HOUR, 500_000),
        backups: Amount(100 * GIB * 240 * HOUR, 40_000),
        machine("same", "clu_b"): Amount(HOUR, 7),
    }
    now = {
        machine(): Amount(6 * 240 * HOUR, 6_600_000),
        machine("new", "clu_b"): Amount(120 * HOUR, 700_000),
        backups: Amount(100 * GIB * 240 * HOUR, 50_000),
        machine("same", "clu_b"): Amount(HOUR, 7),
    }
    names = {"clu_a": "orders", "clu_b": "search"}
    found = changes(before, now, names=names, hours=240)
    assert [change.text for change in found] == [
        "orders: i3.metal machines in us-east-1, 6.0 on average instead of 3.0 on average and at a price 10% higher: "
        "3.60 dollars more.",
        "search: new machines in us-east-1 are new, 0.5 on average: 0.70 dollars more.",
        "orders: gone machines in us-east-1 are gone, 1.0 on average before: 0.50 dollars less.",
        "orders: backups (standard) cost another price: 0.01 dollars more.",
    ]
    sums = [sum(amount.micros for amount in each.values()) for each in (before, now)]
    assert sum(change.micros for change in found) == sums[1] - sums[0]
    told = summary(before=sums[0], now=sums[1], days=10, month="November 2026", found=found, names=names)
    assert told == (
        "In the first 10 days of November 2026 7.35 dollars were spent, 3.81 (108%) more than in those of the "
        "month before; most of it by orders."
    )
    nothing = summary(before=0, now=0, days=10, month="November 2026", found=[], names={})
    assert nothing == "In the first 10 days of November 2026 nothing was spent, nor in those of the month before."
    as_much = summary(before=7, now=7, days=1, month="November 2026", found=[], names={})
    assert as_much.startswith("On the first day of November 2026 as much was spent")


@pytest.fixture
def who(tenant: Tenant) -> Identity:
    return Identity(
        organisation_id=tenant.organisation.id,
        user_id=tenant.owner.id,
        user_email=tenant.owner.email,
        role=Role.OWNER,
        permissions=frozenset({Permission.CLUSTERS_READ}),
    )


def test_a_forecast_is_what_was_spent_and_the_mean_hour_of_a_week_for_the_rest(tenant: Tenant, who: Identity) -> None:
    for number in range(14):
        day = date(2026, 11, 7) + timedelta(days=number)
        micros = 24_000 if day < date(2026, 11, 14) else 48_000
        add_to_days({(tenant.organisation.id, "", day): (parts_of(machines=micros), 0)})
    for moment in (datetime(2026, 11, 7, tzinfo=UTC), datetime(2026, 11, 14, tzinfo=UTC)):
        UsageRecord.objects.create(
            organisation=tenant.organisation,
            fact=f"machine/{moment}",
            item="machine",
            provider="local",
            hour=moment,
            unit_seconds=3600,
            sequence=0,
        )
    found = get_forecast(who, None, now=datetime(2026, 11, 21, 0, 6, tzinfo=UTC))
    # Seven days at 24,000 and seven at 48,000; 2,000 an hour for the 240 hours of ten days.
    assert (found["spent"], found["hourly"], found["hours_left"]) == (504_000, 2_000, 240)
    assert found["forecast"] == 504_000 + 480_000
    assert (found["last_seven_days"], found["seven_days_before"], found["trend"]) == (336_000, 168_000, 1.0)
    # The last hour of a month is closed in the next one, and is still of its month.
    after = get_forecast(who, None, now=datetime(2026, 12, 1, 0, 6, tzinfo=UTC))
    assert (after["month"], after["hours_left"], after["forecast"]) == ("2026-11", 0, 504_000)


def test_the_same_days_of_two_months_are_compared(
    tenant: Tenant, who: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invoices.timezone, "now", lambda: datetime(2026, 11, 3, 9, 0, tzinfo=UTC))
    for day, micros in (("2026-10-02", 100), ("2026-10-03", 9_999), ("2026-11-01", 70), ("2026-11-03", 5_555)):
        CostLine.objects.create(
            organisation=tenant.organisation,
            day=day,
            item="machine",
            provider="local",
            name="local.small",
            price=1,
            quantity=micros * 3600,
            micros=micros,
            sequence=0,
        )
    found = invoices.get_changes(who, None, None)
    # Two days of November are over; the third is not, so the third of October does not count either.
    assert (found["days"], found["before"], found["now"], found["micros"]) == (2, 100, 70, -30)
    assert found["items"][0]["text"].startswith("No cluster: local.small machines in local, 1.5 on average")
