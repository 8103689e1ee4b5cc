"""Questions that were put to nodes, and what was answered. Kept for a day; the operation and the audit log stay."""

from django.db import models

from backend.accounts.models import Organisation
from backend.clusters.models import Cluster, Node
from backend.core import ids
from backend.diagnostics.states import DiagnosisState


class Diagnosis(models.Model):
    """One question to one node. `answer` may hold keys and values of data."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_diagnosis_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="diagnoses")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="diagnoses")
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="diagnoses")
    question = models.CharField(max_length=32)
    parameters = models.JSONField(default=dict)
    state = models.CharField(max_length=16, default=DiagnosisState.ASKED)
    operation_id = models.CharField(max_length=40)
    asked_by = models.CharField(max_length=254)
    asked_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)
    code = models.CharField(max_length=64, blank=True, help_text="Of the failure, stable")
    message = models.TextField(blank=True, help_text="Why there is no answer")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in DiagnosisState]), name="diagnosis_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "-id"], name="diagnosis_of_cluster"),
            models.Index(fields=["organisation", "-asked_at"], name="diagnosis_rate"),
            models.Index(fields=["asked_at"], name="diagnosis_age"),
        ]

    def __str__(self) -> str:
        return f"{self.question} of {self.node_id}"
