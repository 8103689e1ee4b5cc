"""What clusters want otherwise than usual, what has fired, who is told, and how telling them went.

What fires now and silences are Alertmanager's (alertmanager.py): there is no copy of them here.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower

from backend.accounts.models import Organisation
from backend.alerts.states import USUAL_TOPICS, AlertState, DeliveryKind, DeliveryState, ReceiverKind
from backend.clusters.models import Cluster
from backend.core import ids
from backend.findings.states import Severity


class AlertOverride(models.Model):
    """What a cluster has otherwise than a rule's usual values. null: as usual."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="alert_overrides")
    rule = models.CharField(max_length=40)
    threshold = models.FloatField(null=True, help_text="In the rule's unit")
    for_seconds = models.PositiveIntegerField(null=True)
    enabled = models.BooleanField(default=True)
    changed_by = models.CharField(max_length=200)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "rule"], name="alert_override_once")]

    def __str__(self) -> str:
        return f"{self.rule} of {self.cluster_id}"


class AlertEvent(models.Model):
    """An alert that Alertmanager told of, from its beginning to its end. What was silenced or inhibited is not here."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_alert_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="alerts")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="alerts")
    rule = models.CharField(max_length=40)
    severity = models.CharField(max_length=16)
    fingerprint = models.CharField(max_length=32, help_text="Alertmanager's, of all labels")
    labels = models.JSONField(help_text="Node, keyspace, table and the like")
    sentence = models.TextField(help_text="As it was when it began")
    state = models.CharField(max_length=16, default=AlertState.FIRING)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(help_text="When Alertmanager told of it last")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["fingerprint"], condition=models.Q(state=AlertState.FIRING.value), name="alert_open_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in AlertState]), name="alert_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "-id"], name="alert_of_cluster"),
            models.Index(fields=["organisation", "-id"], name="alert_list"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} of {self.cluster_id}"


def _usual_topics() -> list[str]:
    return [topic.value for topic in USUAL_TOPICS]


class AlertReceiver(models.Model):
    """Where an organisation wants to be told. Addresses and keys that are secrets are in the vault."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_alert_receiver_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="alert_receivers")
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=16)
    target = models.CharField(max_length=300, help_text="Where to, as people may see it")
    addresses = ArrayField(models.CharField(max_length=254), default=list, help_text="Of e-mail")
    topics = ArrayField(
        models.CharField(max_length=16),
        default=_usual_topics,
        db_default=_usual_topics(),
        help_text="What it is told of",
    )
    severity = models.CharField(max_length=16, default=Severity.INFO, help_text="The least that is told")
    cluster_ids = ArrayField(models.CharField(max_length=40), default=list, help_text="Empty: all clusters")
    enabled = models.BooleanField(default=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "organisation", Lower("name"), condition=models.Q(deleted_at=None), name="alert_receiver_name_once"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=[k.value for k in ReceiverKind]), name="alert_receiver_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"


class AlertDelivery(models.Model):
    """One message for one receiver: due until it was taken or given up. Tried again as RETRY_SECONDS says."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_alert_delivery_id)
    receiver = models.ForeignKey(AlertReceiver, on_delete=models.CASCADE, related_name="deliveries")
    kind = models.CharField(max_length=16, default=DeliveryKind.ALERTS)
    content = models.JSONField(help_text="What is told, before it is put into the receiver's form")
    state = models.CharField(max_length=16, default=DeliveryState.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True, help_text="When it is tried, or tried again if whoever tries it died")
    replay_of = models.CharField(
        max_length=40, blank=True, default="", db_default="", help_text="Id of the delivery that it says again"
    )
    result = models.TextField(blank=True, help_text="What the other side said last, or why it was not reached")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in DeliveryState]), name="alert_delivery_state_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(state=DeliveryState.PENDING.value),
                name="alert_delivery_due",
            ),
            models.Index(fields=["receiver", "-id"], name="alert_delivery_list"),
        ]

    def __str__(self) -> str:
        return f"{self.id} for {self.receiver_id}"


class OperationNews(models.Model):
    """An operation got into a state somebody wants to be told of; gone when it is on its way to them.

    A trigger of the database writes it (migration 0002), so that nothing that changes an operation can forget it, and
    only where a receiver of the organisation wants operations.
    """

    id = models.BigAutoField(primary_key=True)
    operation_id = models.CharField(max_length=40)
    state = models.CharField(max_length=16)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.operation_id} is {self.state}"
