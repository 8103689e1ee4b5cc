"""What the control plane found to be wrong by itself, what it did about it and why: part of the activity log."""

from django.db import models

from backend.accounts.models import Organisation
from backend.clusters.models import Cluster
from backend.core import ids
from backend.findings.states import FindingState


class Finding(models.Model):
    """One thing that is or was wrong. At most one is open per subject and code; it is closed when it is over."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_finding_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="findings", null=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="findings", null=True)
    subject = models.CharField(max_length=128, help_text="Id of the node, or the provider's name of what was found")
    subject_name = models.CharField(max_length=128)
    code = models.CharField(max_length=64, help_text="engine-down, machine-dead, local-data-lost, disk-filling ...")
    severity = models.CharField(max_length=16, help_text="info, warning, critical")
    sentence = models.TextField(help_text="What was found and what it means")
    hint = models.TextField(blank=True, help_text="What a person may do")
    state = models.CharField(max_length=16, default=FindingState.OPEN)
    action = models.TextField(blank=True, help_text="What the control plane did about it, or why it did nothing")
    operation_id = models.CharField(max_length=40, blank=True, help_text="The operation it started about it")
    due_at = models.DateTimeField(null=True, help_text="When what was announced happens, if it was")
    first_seen_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["subject", "code"],
                condition=models.Q(state=FindingState.OPEN.value),
                name="finding_open_once",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in FindingState]), name="finding_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "-id"], name="finding_of_cluster"),
            models.Index(fields=["organisation", "-id"], name="finding_list"),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.subject_name}"
