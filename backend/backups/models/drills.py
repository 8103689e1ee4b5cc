"""Restores for a trial."""

from django.db import models

from backend.accounts.models import Organisation
from backend.backups.models.backups import Backup
from backend.backups.models.restores import Restore
from backend.backups.states import DrillShape, DrillState
from backend.clusters.models import Cluster
from backend.core import ids


class DrillSchedule(models.Model):
    """When the newest complete backup of a cluster is restored for a trial."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="drill_schedule", primary_key=True)
    cron = models.CharField(max_length=100, blank=True, help_text="Five fields; empty: by interval")
    interval_minutes = models.PositiveIntegerField(null=True)
    time_zone = models.CharField(max_length=64, default="UTC", help_text="IANA name, for cron")
    selection = models.JSONField(default=list, help_text="keyspace, table; an empty list: all that is in the backup")
    shape = models.CharField(max_length=8, default=DrillShape.ZONES)
    compare_live = models.BooleanField(default=True, help_text="Read the cluster's own tables too, to compare")
    enabled = models.BooleanField(default=True)
    due_at = models.DateTimeField(null=True, help_text="null: not by itself")
    skipped = models.TextField(blank=True, help_text="Why its last turn was passed over; empty: it was not")
    created_by = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(cron="") ^ models.Q(interval_minutes=None), name="drill_schedule_cron_or_interval"
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=models.Q(due_at__isnull=False), name="drill_schedule_due"),
        ]

    def __str__(self) -> str:
        return f"drills of {self.cluster_id}"


class Drill(models.Model):
    """One restore for a trial, into a cluster that is made for it and goes with it."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_restore_drill_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="drills")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="drills", help_text="Backed up")
    backup = models.ForeignKey(Backup, on_delete=models.PROTECT, related_name="drills")
    order = models.JSONField(help_text="The scratch cluster as it is ordered: a ClusterOrder")
    scratch = models.ForeignKey(Cluster, on_delete=models.PROTECT, null=True, related_name="+")
    restore = models.ForeignKey(Restore, on_delete=models.PROTECT, null=True, related_name="+")
    tables = models.JSONField(default=list, help_text="keyspace, table: chosen ones; an empty list: all")
    compare_live = models.BooleanField(default=True)
    state = models.CharField(max_length=16, default=DrillState.RUNNING)
    reason = models.TextField(blank=True, help_text="Why it proved nothing")
    stages = models.JSONField(default=dict, help_text="By name of the stage, when it ended: ISO 8601")
    readings = models.JSONField(default=dict, help_text="By restored or live, then table: digests of its slices")
    results = models.JSONField(default=list, help_text="For each table what was found: drill_checks.TableResult")
    rto_seconds = models.FloatField(null=True, help_text="From its start until the restored tables answer")
    actor = models.CharField(max_length=200)
    operation_id = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in DrillState]), name="drill_state_known"
            ),
            models.UniqueConstraint(
                fields=["cluster"], condition=models.Q(state=DrillState.RUNNING), name="drill_of_cluster_once"
            ),
        ]
        indexes = [models.Index(fields=["cluster", "-id"], name="drill_of_cluster")]

    def __str__(self) -> str:
        return f"drill {self.id} of {self.backup_id}"
