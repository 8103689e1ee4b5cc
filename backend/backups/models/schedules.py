"""When clusters are backed up."""

from django.db import models
from django.db.models.functions import Lower

from backend.backups.models.locations import BackupLocation
from backend.clusters.models import Cluster
from backend.core import ids


class BackupSchedule(models.Model):
    """When a cluster is backed up, what of it, where to, and how long that is kept."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_backup_schedule_id)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="backup_schedules")
    location = models.ForeignKey(BackupLocation, on_delete=models.PROTECT, related_name="schedules")
    second_location = models.ForeignKey(
        BackupLocation,
        on_delete=models.PROTECT,
        null=True,
        related_name="second_schedules",
        help_text="Where its complete backups are copied to; null: nowhere",
    )
    name = models.CharField(max_length=63)
    cron = models.CharField(max_length=100, blank=True, help_text="Five fields; empty: by interval")
    interval_minutes = models.PositiveIntegerField(null=True)
    time_zone = models.CharField(max_length=64, default="UTC", help_text="IANA name, for cron")
    selection = models.JSONField(default=list, help_text="keyspace, table (empty: all); an empty list: everything")
    keep_days = models.PositiveIntegerField(null=True, help_text="Older ones go; null: no matter how old")
    keep_count = models.PositiveIntegerField(null=True, help_text="Of the complete ones the newest stay; null: all")
    keep_after_deletion_days = models.PositiveIntegerField(
        default=30, help_text="After the cluster was deleted its backups stay so long"
    )
    lock_days = models.PositiveIntegerField(null=True, help_text="Nobody may delete them before; null: not locked")
    rate_mib_per_second = models.PositiveIntegerField(null=True, help_text="Of each node; null: as fast as it goes")
    enabled = models.BooleanField(default=True)
    due_at = models.DateTimeField(null=True, help_text="null: not by itself")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "cluster", Lower("name"), condition=models.Q(deleted_at=None), name="backup_schedule_name_once"
            ),
            models.CheckConstraint(
                condition=models.Q(cron="") ^ models.Q(interval_minutes=None), name="backup_schedule_cron_or_interval"
            ),
            models.CheckConstraint(
                condition=~models.Q(keep_days=None, keep_count=None) & ~models.Q(keep_days=0) & ~models.Q(keep_count=0),
                name="backup_schedule_keeps_something",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=models.Q(due_at__isnull=False), name="backup_schedule_due"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"
