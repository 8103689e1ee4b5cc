"""What may be spent in a month, on what, and when which part of it was reached."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower

from backend.accounts.models import Organisation
from backend.budgets.states import BudgetScope, Measure
from backend.clusters.models import Cluster
from backend.core import ids


class Budget(models.Model):
    """So many micro-dollars in each month of UTC. What was found at the last look is kept with it."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_budget_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="budgets")
    name = models.CharField(max_length=63)
    scope = models.CharField(max_length=16)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, null=True, related_name="budgets")
    tag_key = models.CharField(max_length=63, blank=True)
    tag_value = models.CharField(max_length=128, blank=True)
    micros = models.BigIntegerField(help_text="For a month")
    spent_percents = ArrayField(models.PositiveIntegerField(), help_text="Of what was spent, rising")
    forecast_percents = ArrayField(models.PositiveIntegerField(), help_text="Of the forecast, rising")
    month = models.DateField(null=True, help_text="The first day of the month that was looked at last")
    spent = models.BigIntegerField(default=0, help_text="In that month")
    forecast = models.BigIntegerField(default=0)
    checked_at = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "organisation", Lower("name"), condition=models.Q(deleted_at=None), name="budget_name_once"
            ),
            models.CheckConstraint(condition=models.Q(micros__gt=0), name="budget_above_zero"),
            models.CheckConstraint(
                condition=models.Q(scope=BudgetScope.ORGANISATION.value, cluster=None, tag_key="")
                | models.Q(scope=BudgetScope.CLUSTER.value, cluster__isnull=False, tag_key="")
                | models.Q(scope=BudgetScope.TAG.value, cluster=None) & ~models.Q(tag_key=""),
                name="budget_scope_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["organisation", "-id"], condition=models.Q(deleted_at=None), name="budget_list"),
            models.Index(
                models.F("checked_at").asc(nulls_first=True), condition=models.Q(deleted_at=None), name="budget_next"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"


class BudgetCrossing(models.Model):
    """A threshold that was reached in a month: people were told once, and it stands until it is cleared."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_budget_crossing_id)
    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="crossings")
    month = models.DateField()
    measure = models.CharField(max_length=16)
    percent = models.PositiveIntegerField()
    micros = models.BigIntegerField(help_text="What it had come to, or was to come to, when it was found")
    budget_micros = models.BigIntegerField(help_text="The budget then")
    crossed_at = models.DateTimeField()
    cleared_at = models.DateTimeField(null=True, help_text="When the month was over or the budget was changed")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["budget", "measure", "percent"],
                condition=models.Q(cleared_at=None),
                name="budget_crossing_open_once",
            ),
            models.CheckConstraint(
                condition=models.Q(measure__in=[each.value for each in Measure]), name="budget_crossing_measure_known"
            ),
        ]
        indexes = [models.Index(fields=["budget", "month"], name="budget_crossing_of_month")]

    def __str__(self) -> str:
        return f"{self.percent} % of {self.budget_id}"
