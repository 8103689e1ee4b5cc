"""What is crossed is told once, and is over when the month is or the budget was raised. Worked by hand."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from backend.alerts.models import AlertDelivery
from backend.audit.models import AuditRecord
from backend.budgets import checking
from backend.budgets.checking import check_budgets
from backend.budgets.models import Budget, BudgetCrossing
from backend.budgets.states import is_crossed
from backend.budgets.tests.conftest import NOW, cluster, receiver, spend, told
from backend.conftest import ApiClient, Tenant

DOLLAR = 1_000_000


def make(api: ApiClient, **more: Any) -> dict[str, Any]:
    answer = api.post("/budgets", {"name": "all", "micros": 100 * DOLLAR} | more)
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def crossed(found: dict[str, Any]) -> list[tuple[str, int]]:
    return [(one["measure"], one["percent"]) for one in found["crossings"] if one["cleared_at"] is None]


def test_each_threshold_is_told_once_a_month(api: ApiClient, tenant: Tenant, clock: Any):
    chat = receiver(tenant)
    spend(tenant.organisation.id, "", 40 * DOLLAR, day=date(2026, 11, 2))
    made = make(api)
    assert (made["month"], made["spent"], made["forecast"], crossed(made)) == ("2026-11", 40 * DOLLAR, 40 * DOLLAR, [])
    spend(tenant.organisation.id, "", 12 * DOLLAR)
    for _ in range(3):
        assert check_budgets() == 1
    # 12 dollars in the 12 hours since the first usage of the week, so one an hour for the 228 that are left.
    found = api.get(f"/budgets/{made['id']}").json()
    assert (found["spent"], found["forecast"]) == (52 * DOLLAR, 280 * DOLLAR)
    assert crossed(found) == [("spent", 50), ("forecast", 100)]
    assert told(chat) == [
        "all: 52.00 dollars spent in November 2026, which is past 50 % of 100.00 dollars. And 1 more."
    ]
    message = AlertDelivery.objects.get().content
    assert [each["sentence"] for each in message["alerts"]] == [
        "all: 52.00 dollars spent in November 2026, which is past 50 % of 100.00 dollars.",
        "all: November 2026 will come to 280.00 dollars, which is past 100 % of 100.00 dollars.",
    ]
    assert (message["severity"], message["status"], message["cluster"]) == ("warning", "firing", None)
    spend(tenant.organisation.id, "", 30 * DOLLAR)
    check_budgets()
    assert told(chat)[1:] == ["all: 82.00 dollars spent in November 2026, which is past 80 % of 100.00 dollars."]
    spend(tenant.organisation.id, "", 30 * DOLLAR)
    check_budgets()
    assert told(chat)[2:] == ["all: 112.00 dollars spent in November 2026, which is past 100 % of 100.00 dollars."]
    assert AuditRecord.objects.filter(action="budget.cross", actor="ringmaster").count() == 4


def test_it_is_over_with_the_month_and_may_be_crossed_again_in_the_next(api: ApiClient, tenant: Tenant, clock: Any):
    chat = receiver(tenant)
    spend(tenant.organisation.id, "", 60 * DOLLAR, day=date(2026, 11, 2))
    made = make(api, forecast_percents=[])
    assert crossed(made) == [("spent", 50)]
    # The last hour of November is closed on the first of December, and is still November's.
    clock.moment = datetime(2026, 12, 1, 1, 4, tzinfo=UTC)
    check_budgets()
    assert len(told(chat)) == 1
    clock.moment = datetime(2026, 12, 1, 1, 6, tzinfo=UTC)
    check_budgets()
    assert told(chat)[1:] == ["Over: all: 60.00 dollars spent in November 2026, which is past 50 % of 100.00 dollars."]
    found = api.get(f"/budgets/{made['id']}").json()
    assert (found["month"], found["spent"], found["crossings"]) == ("2026-12", 0, [])
    spend(tenant.organisation.id, "", 50 * DOLLAR, day=date(2026, 12, 1))
    check_budgets()
    assert told(chat)[2:] == ["all: 50.00 dollars spent in December 2026, which is past 50 % of 100.00 dollars."]
    # A clock that is put back tells nothing of November again.
    clock.moment = NOW
    check_budgets()
    assert len(told(chat)) == 3
    assert api.get(f"/budgets/{made['id']}").json()["month"] == "2026-12"


def test_raising_a_budget_clears_what_is_not_crossed_any_more(api: ApiClient, tenant: Tenant, clock: Any):
    chat = receiver(tenant)
    spend(tenant.organisation.id, "", 85 * DOLLAR, day=date(2026, 11, 2))
    made = make(api, forecast_percents=[])
    assert crossed(made) == [("spent", 80), ("spent", 50)]
    raised = api.patch(f"/budgets/{made['id']}", {"micros": 150 * DOLLAR}).json()
    assert crossed(raised) == [("spent", 50)]
    assert told(chat)[1:] == ["Over: all: 85.00 dollars spent in November 2026, which is past 80 % of 100.00 dollars."]
    lowered = api.patch(f"/budgets/{made['id']}", {"micros": 85 * DOLLAR}).json()
    assert crossed(lowered) == [("spent", 100), ("spent", 80), ("spent", 50)]
    without = api.patch(f"/budgets/{made['id']}", {"spent_percents": [100]}).json()
    assert crossed(without) == [("spent", 100)]
    assert api.delete(f"/budgets/{made['id']}").status_code == 204
    assert not BudgetCrossing.objects.filter(cleared_at=None).exists()
    assert told(chat)[-1].startswith("Over: all: 85.00 dollars")
    assert check_budgets() == 0


def test_a_forecast_that_goes_down_does_not_come_and_go(api: ApiClient, tenant: Tenant, clock: Any):
    chat = receiver(tenant)
    spend(tenant.organisation.id, "", 12 * DOLLAR)
    made = make(api)
    assert crossed(made) == [("forecast", 100)]
    for hours in (24, 24, 24):
        clock += timedelta(hours=hours)
        check_budgets()
    found = api.get(f"/budgets/{made['id']}").json()
    assert found["forecast"] < 100 * DOLLAR
    assert crossed(found) == [("forecast", 100)]
    assert len(told(chat)) == 1


def test_budgets_of_tags_and_clusters_count_theirs_only(api: ApiClient, tenant: Tenant, stranger: Tenant, clock: Any):
    shop, search = cluster(tenant, "shop", team="shop"), cluster(tenant, "search", team="find")
    foreign = cluster(stranger, "shop", team="shop")
    for number, (whose, row) in enumerate(((tenant, shop), (tenant, search), (stranger, foreign))):
        spend(whose.organisation.id, row.id, 10**number * DOLLAR, day=date(2026, 11, 2))
    everything, only_shop = receiver(tenant), receiver(tenant, "shop", cluster_ids=[shop.id])
    theirs, severe = receiver(stranger), receiver(tenant, "severe", severity="critical")
    of_tag = make(api, name="tag", scope="tag", tag_key="team", tag_value="shop", micros=2 * DOLLAR)
    of_cluster = make(api, name="cluster", scope="cluster", cluster_id=shop.id, micros=2 * DOLLAR)
    of_all = make(api, name="all", micros=22 * DOLLAR)
    assert [each["spent"] for each in (of_tag, of_cluster, of_all)] == [DOLLAR, DOLLAR, 11 * DOLLAR]
    assert (of_cluster["cluster"]["name"], of_tag["tag"]) == ("shop", {"key": "team", "value": "shop"})
    assert [one.partition(":")[0] for one in told(everything)] == ["tag", "cluster", "all"]
    # Who wants to hear of some clusters hears of budgets of those; half a budget is not critical.
    assert [one.partition(":")[0] for one in told(only_shop)] == ["cluster"]
    assert (told(theirs), told(severe)) == ([], [])
    spend(tenant.organisation.id, shop.id, DOLLAR)
    check_budgets()
    assert [one.partition(":")[0] for one in told(severe)] == ["tag", "cluster"]


def test_who_has_no_time_for_all_goes_on_where_it_stopped(
    api: ApiClient, tenant: Tenant, clock: Any, monkeypatch: pytest.MonkeyPatch
):
    for number in range(3):
        make(api, name=f"b{number}")
    ticks = iter(range(0, 1000, 25))
    monkeypatch.setattr(checking, "monotonic", lambda: next(ticks))
    clock += timedelta(minutes=5)
    assert check_budgets() == 1
    clock += timedelta(minutes=5)
    assert check_budgets() == 1
    assert [row.checked_at for row in Budget.objects.order_by("id")] == [
        NOW + timedelta(minutes=5),
        NOW + timedelta(minutes=10),
        NOW,
    ]


@pytest.mark.parametrize(
    ("amount", "percent", "budget", "is_it"),
    [(0, 50, 1, False), (50, 50, 100, True), (49, 50, 100, False), (5, 50, 11, False), (6, 50, 11, True)],
)
def test_at_the_threshold_is_crossed(amount: int, percent: int, budget: int, is_it: bool):
    assert is_crossed(amount, percent, budget) is is_it
