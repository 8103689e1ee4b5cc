"""Durable operations: the rows are the truth, Celery messages are nudges. See docs/operations.md."""

from django.db import models

from backend.accounts.models import Organisation
from backend.core import ids
from backend.operations.states import OPEN, OperationState, StepState


class Operation(models.Model):
    id = models.CharField(primary_key=True, max_length=40, default=ids.new_operation_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="operations")
    kind = models.CharField(max_length=40, help_text="create_cluster, delete_cluster, ...")
    # By id, not by foreign key: clusters know operations, never the other way round.
    cluster_id = models.CharField(max_length=40, blank=True, help_text="Empty: not about one cluster")
    cluster_name = models.CharField(max_length=63, blank=True)
    parameters = models.JSONField(default=dict)
    exclusive = models.BooleanField(default=True)
    actor = models.CharField(max_length=200, help_text="Who asked, as the audit log names them")
    state = models.CharField(max_length=16, default=OperationState.PENDING)
    # With defaults in the database: the API of the release before does not name these columns when it inserts.
    waits_for = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="Id of the operation whose end, or pause, is waited for; it then goes on",
    )
    waits_for_kind = models.CharField(max_length=40, blank=True, default="", db_default="")
    waits_reason = models.TextField(
        blank=True, default="", db_default="", help_text="Why it waits, as a sentence of coordination.py"
    )
    pausable = models.BooleanField(
        default=False, db_default=False, help_text="Between two groups it may stop and go on later"
    )
    progress = models.FloatField(default=0, help_text="0 to 1; only grows")
    expected_seconds = models.PositiveIntegerField(help_text="What the whole operation usually takes, in seconds")
    cancellable_until = models.PositiveIntegerField(
        null=True, help_text="Step position from which on it cannot be cancelled; null: always can"
    )
    traceparent = models.CharField(
        max_length=55,
        blank=True,
        default="",
        db_default="",
        help_text="Of the order, as W3C writes it; empty: no trace",
    )
    reason_code = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True, help_text="One sentence: what happened and what it means")
    reason_hint = models.TextField(blank=True, help_text="What to do about it")
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True, help_text="null: nothing to do (finished, blocked, paused, waiting)")
    nudged_at = models.DateTimeField(null=True)
    attempt = models.PositiveIntegerField(default=0, help_text="Failed attempts in a row; 0 after each success")
    claims = models.PositiveIntegerField(
        default=0, help_text="Leases in a row under which nothing was recorded: what kills each worker is parked"
    )
    cancel_requested_at = models.DateTimeField(null=True)
    retry_requested_at = models.DateTimeField(null=True)
    pause_requested_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster_id"],
                condition=models.Q(exclusive=True, state__in=[s.value for s in OPEN]) & ~models.Q(cluster_id=""),
                name="operation_exclusive_once",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in OperationState]), name="operation_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(progress__gte=0, progress__lte=1), name="operation_progress_range"
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=models.Q(due_at__isnull=False), name="operation_due"),
            models.Index(fields=["organisation", "-id"], name="operation_list"),
            models.Index(fields=["cluster_id", "-id"], name="operation_of_cluster"),
            models.Index(fields=["cluster_id"], condition=~models.Q(waits_for=""), name="operation_waiting"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class OperationStep(models.Model):
    """One line of a plan. Stored with the operation, kept for ever as the customer's activity log."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_step_id)
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="steps")
    position = models.PositiveIntegerField()
    group = models.PositiveIntegerField(help_text="Steps of one group run side by side; groups run in order")
    name = models.CharField(max_length=64, help_text="What the provisioner looks the step up by")
    title = models.CharField(max_length=120, help_text="What the customer reads: Start the engine")
    target = models.CharField(max_length=64, blank=True, help_text="Id of the node it is about; empty: the cluster")
    target_title = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=16, default=StepState.PENDING)
    attempt = models.PositiveIntegerField(default=0, help_text="Failed attempts in a row")
    due_at = models.DateTimeField(null=True, help_text="Not to be looked at again before; null: at once")
    deadline_seconds = models.PositiveIntegerField(help_text="Longer than this and the step is flagged overdue")
    mid_way = models.BooleanField(default=False, help_text="No pause falls before it: something is half done")
    overdue = models.BooleanField(default=False)
    progress = models.FloatField(default=0)
    eta_at = models.DateTimeField(null=True, help_text="When it will probably be done, if it can tell")
    message = models.TextField(blank=True, help_text="What is going on, or why it is tried again")
    output = models.JSONField(default=dict, help_text="Small facts later steps need; never a secret")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    undo_started_at = models.DateTimeField(null=True)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["operation", "position"], name="step_position_once"),
            models.CheckConstraint(condition=models.Q(state__in=[s.value for s in StepState]), name="step_state_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.target}"
