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


class TrafficReading(models.Model):
    """What a node's agent said last of the bytes that its engine sent, and what of them is not yet in usage records."""

    node_id = models.CharField(primary_key=True, max_length=40)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    cluster_id = models.CharField(max_length=40)
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64)
    epoch = models.CharField(max_length=64, help_text="Of the counters: another one began at 0")
    counts = models.JSONField(help_text="Bytes by counter")
    read_at = models.DateTimeField(help_text="By the database's clock; never goes back")
    due = models.JSONField(default=dict, help_text="Bytes by hour and item that are still to be written")
    due_from = models.DateTimeField(null=True, help_text="The first hour of these; null: there is none")

    class Meta:
        indexes = [
            models.Index(fields=["due_from"], condition=models.Q(due_from__isnull=False), name="traffic_reading_due")
        ]

    def __str__(self) -> str:
        return f"traffic of {self.node_id} at {self.read_at}"


class Meter(models.Model):
    """How far a fact was metered, and what was known of it then."""

    fact = models.CharField(primary_key=True, max_length=64, help_text="machine/<id>, disk/<id>, bytes/<id>")
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
    fact = models.CharField(max_length=64, help_text="What it was made from: Meter.fact, or traffic/<node>/<item>")
    node_id = models.CharField(max_length=40, blank=True)
    item = models.CharField(max_length=32, help_text="As in the price book")
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64, blank=True)
    name = models.CharField(max_length=64, blank=True, help_text="Machine type or class of storage")
    hour = models.DateTimeField(help_text="In which it was used: its beginning, UTC")
    unit_seconds = models.DecimalField(
        max_digits=30,
        decimal_places=0,
        help_text="Machine-seconds or byte-seconds; of traffic bytes, of requests their number. Below zero takes back",
    )
    sequence = models.PositiveIntegerField(help_text="0: as the hour was closed; then corrections")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["fact", "hour", "sequence"], name="usage_once")]
        indexes = [
            models.Index(fields=["organisation", "hour", "id"], name="usage_in_order"),
            models.Index(fields=["cluster_id", "hour"], name="usage_of_cluster"),
        ]

    def __str__(self) -> str:
        return f"{self.unit_seconds} of {self.fact} in {self.hour}"


class CostLine(models.Model):
    """What one line of a cluster came to on one day of UTC: so much of one thing at one price.

    A row grows while its day has hours that are not closed. Afterwards it stays; a correction is another row.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_cost_line_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+", db_index=False)
    cluster_id = models.CharField(max_length=40, blank=True)
    day = models.DateField()
    item = models.CharField(max_length=32, help_text="As in the price book")
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64, blank=True)
    name = models.CharField(max_length=64, blank=True, help_text="Machine type or class of storage")
    price = models.BigIntegerField(null=True, help_text="Of the book, in force then; null: there was none, it is free")
    quantity = models.DecimalField(
        max_digits=30, decimal_places=0, help_text="Unit-seconds; of mark-up: micro-dollars that it is a share of"
    )
    micros = models.BigIntegerField(help_text="Micro-dollars; below zero takes back")
    sequence = models.PositiveIntegerField(help_text="0: as the day went by; then corrections")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "organisation",
                    "day",
                    "cluster_id",
                    "item",
                    "provider",
                    "region",
                    "name",
                    "price",
                    "sequence",
                ],
                nulls_distinct=False,
                name="cost_line_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.micros} for {self.item} of {self.cluster_id} on {self.day}"


class Spent(models.Model):
    """Micro-dollars by part (sharing.Parts)."""

    # Their own keys and indexes begin with it, or with a table of it.
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+", db_index=False)
    compute = models.BigIntegerField(default=0)
    storage = models.BigIntegerField(default=0)
    backups = models.BigIntegerField(default=0)
    traffic = models.BigIntegerField(default=0)
    overhead = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class CostDay(Spent):
    """The sum of a cluster's lines of a day, for reports."""

    pk = models.CompositePrimaryKey("organisation_id", "cluster_id", "day")
    cluster_id = models.CharField(max_length=40, blank=True)
    day = models.DateField()
    unmeasured = models.BigIntegerField(default=0, help_text="Of it: shared because there were no metrics of the hour")

    class Meta:
        indexes = [
            models.Index(
                fields=["organisation", "day"],
                include=["cluster_id", "compute", "storage", "backups", "traffic", "overhead", "unmeasured"],
                name="cost_day_report",
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id} on {self.day}"


class CostMonth(Spent):
    """The sum of a cluster's days of a month, for reports over long times."""

    pk = models.CompositePrimaryKey("organisation_id", "month", "cluster_id")
    cluster_id = models.CharField(max_length=40, blank=True)
    month = models.DateField(help_text="Its first day")
    unmeasured = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.cluster_id} in {self.month}"


class HourToShare(Spent):
    """What of an hour's cost is still to be shared out to tables: until then it is in the cluster's shared part."""

    pk = models.CompositePrimaryKey("cluster_id", "hour", "organisation_id")
    cluster_id = models.CharField(max_length=40, blank=True)
    hour = models.DateTimeField()
    uncounted = models.BigIntegerField(default=0, help_text="Above zero: its reads and writes are to be counted, too")

    def __str__(self) -> str:
        return f"{self.cluster_id} in {self.hour}"


class CostTable(models.Model):
    """A table that costs were shared out to. Keyspace and name of "": what is shared."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+", db_index=False)
    cluster_id = models.CharField(max_length=40, blank=True)
    keyspace = models.CharField(max_length=222, blank=True)
    name = models.CharField(max_length=222, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "cluster_id", "keyspace", "name"], name="cost_table_once")
        ]

    def __str__(self) -> str:
        return f"{self.keyspace}.{self.name} of {self.cluster_id}"


class TableSpent(Spent):
    """What a table cost. Those of a cluster sum to its `CostDay` in every part, in every transaction."""

    table = models.ForeignKey(CostTable, on_delete=models.PROTECT, related_name="+", db_index=False)
    micros = models.BigIntegerField(default=0, help_text="The sum of the parts")
    reads = models.BigIntegerField(default=0)
    writes = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class TableDay(TableSpent):
    """Kept for some weeks (sharing_hours.DAYS_KEPT)."""

    pk = models.CompositePrimaryKey("table_id", "day")
    day = models.DateField()

    class Meta:
        indexes = [models.Index(fields=["organisation", "day"], name="table_day_report")]

    def __str__(self) -> str:
        return f"{self.table_id} on {self.day}"


class TableMonth(TableSpent):
    """Kept for good."""

    pk = models.CompositePrimaryKey("table_id", "month")
    month = models.DateField(help_text="Its first day")

    class Meta:
        indexes = [
            models.Index(fields=["organisation", "month"], include=["table", "micros"], name="table_month_report")
        ]

    def __str__(self) -> str:
        return f"{self.table_id} in {self.month}"
