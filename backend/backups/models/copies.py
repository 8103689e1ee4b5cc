"""Backups in second locations."""

from django.db import models

from backend.backups.models.backups import Backup
from backend.backups.models.locations import BackupLocation
from backend.backups.models.objects import BackupObject
from backend.backups.states import CopyState


class BackupCopy(models.Model):
    """A complete backup in a second location: the same objects and manifests, byte for byte."""

    backup = models.ForeignKey(Backup, on_delete=models.PROTECT, related_name="copies")
    location = models.ForeignKey(BackupLocation, on_delete=models.PROTECT, related_name="copies")
    state = models.CharField(max_length=16, default=CopyState.RUNNING)
    cursor = models.BigIntegerField(default=0, help_text="Id of the last object that it refers to")
    bytes = models.BigIntegerField(default=0, help_text="As they are stored")
    copied_bytes = models.BigIntegerField(default=0, help_text="That were not there already")
    transfer = models.JSONField(default=dict, help_text="Of an object in parts: key, upload, part_bytes, receipts")
    damaged_manifest = models.CharField(max_length=200, blank=True)
    operation_id = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["backup", "location"], name="backup_copy_once"),
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in CopyState]), name="backup_copy_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"copy of {self.backup_id} in {self.location_id}"


class BackupCopyEntry(models.Model):
    """A reference from a copy to an object of its location."""

    copy = models.ForeignKey(BackupCopy, on_delete=models.CASCADE, related_name="entries")
    object = models.ForeignKey(BackupObject, on_delete=models.PROTECT, related_name="copy_entries")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["copy", "object"], name="backup_copy_entry_once")]

    def __str__(self) -> str:
        return f"{self.object_id} in {self.copy_id}"
