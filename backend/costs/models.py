"""What was used, as records by the hour that are only ever added, and the facts they are made from."""

from django.db import models

from backend.accounts.models import Organisation
from backend.core import ids


class HeldBytes(models.Model):
    """So many bytes of backups of a cluster in a location, from one look at them to the one that found another number.

    A cluster of "" has what no backup refers to any more, until it is deleted.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    cluster_id = models.CharField(max_length=40, blank=True)
    location_id = models.CharField(max_length=40)
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64, blank=True)
    bytes = models.BigIntegerField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "cluster_id", "location_id"],
                condition=models.Q(ended_at=None),
                name="held_bytes_one_now",
            ),
            models.CheckConstraint(
                condition=models.Q(ended_at=None) | models.Q(ended_at__gte=models.F("began_at")),
                name="held_bytes_end_after_they_began",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bytes} bytes of {self.cluster_id} in {self.location_id}"


class Meter(models.Model):
    """How far a fact was metered, and what was known of it then."""

    fact = models.CharField(primary_key=True, max_length=64, help_text="machine/<id>, bytes/<id>")
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    units = models.BigIntegerField()
    closed = models.DateTimeField(help_text="A full hour: what was before it is written")

    def __str__(self) -> str:
        return f"{self.fact} until {self.closed}"


class UsageRecord(models.Model):
    """Unit-seconds of one fact in one hour. Never changed or deleted; a correction is another record."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_usage_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    cluster_id = models.CharField(max_length=40, blank=True)
    fact = models.CharField(max_length=64, help_text="What it was made from: Meter.fact")
    node_id = models.CharField(max_length=40, blank=True)
    item = models.CharField(max_length=32, help_text="As in the price book")
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64, blank=True)
    name = models.CharField(max_length=64, blank=True, help_text="Machine type or class of storage")
    hour = models.DateTimeField(help_text="In which it was used: its beginning, UTC")
    unit_seconds = models.DecimalField(
        max_digits=30, decimal_places=0, help_text="Machine-seconds or byte-seconds; below zero takes back"
    )
    sequence = models.PositiveIntegerField(help_text="0: as the hour was closed; then corrections")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["fact", "hour", "sequence"], name="usage_once")]
        indexes = [
            models.Index(fields=["organisation", "hour"], name="usage_of_organisation"),
            models.Index(fields=["cluster_id", "hour"], name="usage_of_cluster"),
        ]

    def __str__(self) -> str:
        return f"{self.unit_seconds} of {self.fact} in {self.hour}"
