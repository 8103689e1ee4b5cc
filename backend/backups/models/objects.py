"""The index of what lies in locations.

A bundle is all files of one SSTable as one object. Objects are named by their content, so one that several nodes or
several backups have is stored once; a bundle's row is the reference that keeps its object.
"""

from django.db import models

from backend.accounts.models import Organisation
from backend.backups.models.backups import BackupNode, BackupTable
from backend.backups.models.locations import BackupLocation


class BackupObject(models.Model):
    """An object in a location, of one organisation: the index that is asked instead of the bucket.

    A row is there before the object is (`stored_at` null) and after it (`doomed_at` set): from the moment a bundle
    names it until the store has confirmed that it is gone. A doomed object is never referred to anew.
    """

    location = models.ForeignKey(BackupLocation, on_delete=models.PROTECT, related_name="stored_objects")
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    key = models.CharField(max_length=64)
    bytes = models.BigIntegerField(help_text="Of the files in it")
    stored_bytes = models.BigIntegerField(null=True, help_text="As it lies in the store")
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the object as it lies in the store")
    stored_at = models.DateTimeField(null=True)
    verified_at = models.DateTimeField(null=True, help_text="When its size was last looked at")
    read_at = models.DateTimeField(null=True, help_text="When its contents were last compared")
    bad = models.CharField(
        max_length=16, blank=True, help_text="missing, size, content, unknown; empty: well as far as known"
    )
    unneeded_since = models.DateTimeField(null=True, help_text="Since when no bundle refers to it")
    doomed_at = models.DateTimeField(null=True, help_text="Since when it is being deleted")
    locked_until = models.DateTimeField(null=True, help_text="The store itself keeps it so long")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["location", "organisation", "key"], name="backup_object_once"),
        ]
        indexes = [
            models.Index(
                fields=["location", "organisation", "unneeded_since"],
                condition=models.Q(unneeded_since__isnull=False),
                name="backup_object_unneeded",
            ),
            models.Index(fields=["location"], condition=~models.Q(bad=""), name="backup_object_bad"),
        ]

    def __str__(self) -> str:
        return self.key


class BackupBundle(models.Model):
    """One SSTable of one node in one backup. Tokens are 64-bit."""

    node = models.ForeignKey(BackupNode, on_delete=models.CASCADE, related_name="entries")
    table = models.ForeignKey(BackupTable, on_delete=models.CASCADE, related_name="entries")
    object = models.ForeignKey(BackupObject, on_delete=models.PROTECT, related_name="entries")
    sstable = models.CharField(max_length=200)
    min_token = models.BigIntegerField()
    max_token = models.BigIntegerField()
    level = models.PositiveSmallIntegerField(default=0)
    repaired_at = models.BigIntegerField(default=0, help_text="Milliseconds since 1970; 0: not repaired")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "table", "sstable"], name="backup_bundle_once")]

    def __str__(self) -> str:
        return self.sstable
