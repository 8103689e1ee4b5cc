"""Commit logs that are stored as they are written."""

from django.db import models

from backend.accounts.models import Organisation
from backend.backups.models.locations import BackupLocation
from backend.backups.models.objects import BackupObject
from backend.clusters.models import Cluster, Node


class LogArchive(models.Model):
    """That a cluster's commit logs are stored as they are written, so that a restore can stop at any second."""

    cluster = models.OneToOneField(Cluster, on_delete=models.PROTECT, related_name="log_archive", primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    location = models.ForeignKey(BackupLocation, on_delete=models.PROTECT, related_name="log_archives")
    enabled = models.BooleanField(default=True)
    keep_days = models.PositiveIntegerField()
    interval_seconds = models.PositiveIntegerField(default=60, help_text="How old an unstored write becomes at most")
    revision = models.PositiveIntegerField(default=1, help_text="Counts the orders; nodes are told each")
    purged_until = models.DateTimeField(null=True, help_text="Older pieces were taken away")
    looked_at = models.DateTimeField(null=True, help_text="When the nodes were last asked")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["looked_at"], name="log_archive_looked_at")]

    def __str__(self) -> str:
        return f"log archive of {self.cluster_id}"


class ArchiveStream(models.Model):
    """What one node archived from when it was told to: another machine, location or key begins another stream."""

    archive = models.ForeignKey(LogArchive, on_delete=models.PROTECT, related_name="streams")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=64)
    revision = models.PositiveIntegerField(help_text="Of the order that the node was told last")
    began_at = models.DateTimeField(null=True)
    covered_until = models.DateTimeField(null=True, help_text="What was written before is stored, but for the gaps")
    sequence = models.BigIntegerField(default=0, help_text="Of the last entry that was read")
    waiting_bytes = models.BigIntegerField(default=0)
    problem = models.TextField(blank=True, help_text="Why the node's last try to store failed; empty: it did not")
    ended_at = models.DateTimeField(null=True, help_text="When something else took its place")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "name"], name="archive_stream_once"),
            models.UniqueConstraint(fields=["node"], condition=models.Q(ended_at=None), name="archive_stream_now_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.node_id}"


class ArchiveGap(models.Model):
    """Writes of that time may be missing from a stream."""

    stream = models.ForeignKey(ArchiveStream, on_delete=models.CASCADE, related_name="gaps")
    sequence = models.BigIntegerField()
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "sequence"], name="archive_gap_once")]

    def __str__(self) -> str:
        return self.reason


class ArchivePiece(models.Model):
    """Some of a commit log, in an object. No write in it reached the node before `first_at` or after `last_at`."""

    stream = models.ForeignKey(ArchiveStream, on_delete=models.CASCADE, related_name="pieces")
    object = models.ForeignKey(BackupObject, on_delete=models.PROTECT, related_name="pieces")
    sequence = models.BigIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "sequence"], name="archive_piece_once")]
        indexes = [models.Index(fields=["stream", "last_at"], name="archive_piece_by_time")]

    def __str__(self) -> str:
        return f"{self.sequence} of {self.stream_id}"
