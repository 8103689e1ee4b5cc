"""Where backups are kept."""

from django.db import models
from django.db.models.functions import Lower

from backend.accounts.models import Organisation
from backend.backups.states import LocationKind
from backend.core import ids


class BackupLocation(models.Model):
    """A bucket or folder of an organisation, or the operator's, in which every organisation has a place of its own.

    Credentials are in the vault (backend/backups/vault_keys.py).
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_backup_location_id)
    organisation = models.ForeignKey(
        Organisation,
        on_delete=models.PROTECT,
        null=True,
        related_name="backup_locations",
        help_text="null: the operator's, for everybody",
    )
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=16)
    folder = models.CharField(max_length=512, blank=True)
    bucket = models.CharField(max_length=222, blank=True)
    prefix = models.CharField(max_length=200, blank=True)
    region = models.CharField(max_length=64, blank=True)
    endpoint = models.CharField(max_length=512, blank=True, help_text="Of an S3-compatible server; empty: the cloud's")
    object_lock = models.CharField(
        max_length=16,
        blank=True,
        help_text="governance or compliance: the store keeps locked backups; empty: no",
    )
    problem = models.TextField(blank=True, help_text="Why the last check could not write there; empty: it could")
    problem_hint = models.TextField(blank=True)
    checked_at = models.DateTimeField(null=True)
    check_operation_id = models.CharField(max_length=40, blank=True, help_text="Of the check that is open; empty: none")
    swept_at = models.DateTimeField(null=True, help_text="When what nobody needs was last looked for")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "organisation", Lower("name"), condition=models.Q(deleted_at=None), name="backup_location_name_once"
            ),
            models.UniqueConstraint(
                models.F("kind"),
                condition=models.Q(organisation=None, deleted_at=None),
                name="backup_location_operators_once",
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=[k.value for k in LocationKind]), name="backup_location_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"


class BackupPlace(models.Model):
    """What an organisation has in a location, and when the store's own list was last held against the index."""

    location = models.ForeignKey(BackupLocation, on_delete=models.CASCADE, related_name="places")
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    listing_due_at = models.DateTimeField()
    cursor = models.CharField(max_length=200, blank=True, help_text="Name up to which this week's list was read")
    foreign_backups = models.PositiveIntegerField(default=0, help_text="With manifests there, and unknown here")
    unknown_objects = models.PositiveIntegerField(default=0, help_text="That the last list has found")
    missing_objects = models.PositiveIntegerField(default=0, help_text="That the last list has not found")
    listed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["location", "organisation"], name="backup_place_once")]
        indexes = [models.Index(fields=["listing_due_at"], name="backup_place_due")]

    def __str__(self) -> str:
        return f"{self.organisation_id} in {self.location_id}"
