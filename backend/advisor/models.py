"""What the schema was when it was read last, what there is to say about it, and what was changed by it."""

from django.db import models

from backend.advisor.rules.facts import AdviceSeverity
from backend.advisor.states import TableChangeState
from backend.clusters.models import Cluster
from backend.core import ids


class Review(models.Model):
    """When a cluster is looked at next, and how the last look went. One per cluster."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="review", primary_key=True)
    due_at = models.DateTimeField()
    asked_at = models.DateTimeField(null=True, help_text="Since when a person waits for the next look")
    schema_read_at = models.DateTimeField(null=True)
    keyspaces = models.JSONField(default=list, help_text="name, class, replication, as the agent tells them")
    computed_at = models.DateTimeField(null=True, help_text="When the advice was worked out last")
    window_seconds = models.PositiveIntegerField(default=0, help_text="The time that it rests on")
    problem = models.TextField(blank=True, default="", help_text="Why the last look came to nothing")

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="review_due")]

    def __str__(self) -> str:
        return f"review of {self.cluster_id}"


class TableSchema(models.Model):
    """A table as a node described it last (the agent's job describe-tables)."""

    id = models.BigAutoField(primary_key=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="table_schemas")
    keyspace = models.CharField(max_length=64)
    name = models.CharField(max_length=222)
    table_id = models.CharField(max_length=64, blank=True)
    view_of = models.CharField(max_length=222, blank=True, default="")
    options = models.JSONField(default=dict)
    columns = models.JSONField(default=list)
    indexes = models.JSONField(default=list)
    statement = models.TextField(blank=True, default="")
    read_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "keyspace", "name"], name="table_schema_once")]

    def __str__(self) -> str:
        return f"{self.keyspace}.{self.name}"


class AdviceItem(models.Model):
    """One thing to say. The row stays when it is no longer true, so that what was dismissed is when it comes back."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_advice_id)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="advice")
    rule = models.CharField(max_length=40)
    keyspace = models.CharField(max_length=64, blank=True, default="")
    table = models.CharField(max_length=222, blank=True, default="")
    subject = models.CharField(max_length=222, blank=True, default="")
    severity = models.CharField(max_length=10)
    words = models.JSONField(help_text="finding, evidence, gain, figure, cost, statement, change, why_by_hand, formula")
    saving_micros = models.BigIntegerField(
        default=0, help_text="Micro-dollars a month that it would save; 0: it is not about money"
    )
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    over_at = models.DateTimeField(null=True, help_text="Since when it is not true any more; null: it is")
    dismissed_at = models.DateTimeField(null=True)
    dismissed_by = models.CharField(max_length=254, blank=True, default="")
    dismissed_reason = models.CharField(max_length=500, blank=True, default="")
    dismissed_until = models.DateTimeField(null=True, help_text="null: for good")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "rule", "keyspace", "table", "subject"], name="advice_once"),
            models.CheckConstraint(
                condition=models.Q(severity__in=[s.value for s in AdviceSeverity]), name="advice_severity"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "-id"], condition=models.Q(over_at=None), name="advice_list"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.keyspace}.{self.table}"


class TableChange(models.Model):
    """Options of a table that were set by Apply, with what they were: the way back."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_table_change_id)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="table_changes")
    rule = models.CharField(max_length=40)
    keyspace = models.CharField(max_length=64)
    table = models.CharField(max_length=222)
    before = models.JSONField()
    after = models.JSONField()
    rewrite = models.BooleanField(default=False, help_text="Files were written anew afterwards")
    state = models.CharField(max_length=16, default=TableChangeState.APPLYING)
    undoes = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="undone_by")
    operation_id = models.CharField(max_length=40, blank=True, default="")
    ordered_by = models.CharField(max_length=254)
    ordered_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in TableChangeState]), name="table_change_state_known"
            ),
            models.UniqueConstraint(
                fields=["cluster", "keyspace", "table"],
                condition=models.Q(state=TableChangeState.APPLYING),
                name="table_change_once",
            ),
        ]
        indexes = [models.Index(fields=["cluster", "-id"], name="table_change_list")]

    def __str__(self) -> str:
        return f"{self.rule} {self.keyspace}.{self.table}"
