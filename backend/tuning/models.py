"""What the agent of a node told last about its machine: first boot, how it is tuned, and what its disks do."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from backend.clusters.models import Node


class NodeTuning(models.Model):
    """The last report of the machine that a node has now. One that the node had before is forgotten."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, related_name="tuning", primary_key=True)
    generation = models.PositiveIntegerField(help_text="Of the machine it is about: Node.generation")
    report = models.JSONField(help_text="As GET /v1/tuning of the agent answers, without checked_at")
    passed = ArrayField(models.CharField(max_length=64), help_text="Checks that this machine has passed so far")
    checked_at = models.DateTimeField(help_text="When the agent was asked")

    class Meta:
        indexes = [models.Index(fields=["checked_at"], name="tuning_checked_at")]

    def __str__(self) -> str:
        return f"tuning of {self.node_id}"


class DiskMeasurement(models.Model):
    """The last measurement of the disks that a node has now."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, related_name="disk_measurement", primary_key=True)
    generation = models.PositiveIntegerField(help_text="Of the machine it is about: Node.generation")
    verdict = models.CharField(max_length=16, help_text="stable, usable or noisy")
    figures = models.JSONField(help_text="By name (read_iops ...): median, spread, verdict")
    warnings = models.JSONField(default=list)
    measured_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"disks of {self.node_id}"
