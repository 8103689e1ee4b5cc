"""A worker looks at budgets, one at a time, and what is crossed is on its way to who wants to know."""

import pytest

from backend.accounts.models import Organisation
from backend.alerts.models import AlertDelivery, AlertReceiver
from backend.budgets.models import Budget, BudgetCrossing
from backend.costs.recording import add_to_days
from backend.costs.sharing import parts_of
from provisioner.reconcile import budgets
from provisioner.worker import app

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_done_every_five_minutes() -> None:
    due = {each["task"]: each["schedule"] for each in app.conf.beat_schedule.values()}
    assert due["provisioner.reconcile_budgets"] == 300


def test_what_was_crossed_since_is_told_once() -> None:
    organisation = Organisation.objects.create(name="Acme", slug="acme")
    AlertReceiver.objects.create(
        organisation=organisation, name="chat", kind="slack", target="x", created_by="x", cluster_ids=[]
    )
    Budget.objects.create(
        organisation=organisation,
        name="all",
        scope="organisation",
        micros=100,
        spent_percents=[50],
        forecast_percents=[],
        created_by="x",
    )
    assert (budgets.look(), BudgetCrossing.objects.count()) == (1, 0)
    # On its first day, which is of the month that is looked at, also while the last hour of the one before is closed.
    first = Budget.objects.get().month
    assert first is not None
    add_to_days({(organisation.id, "", first): (parts_of(machines=50), 0)})
    assert [budgets.look() for _ in range(2)] == [1, 1]
    assert BudgetCrossing.objects.count() == 1
    (message,) = AlertDelivery.objects.all()
    assert (message.state, message.content["rule"]) == ("pending", "budget")
