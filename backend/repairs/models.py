"""When a cluster is repaired and how, what is known of its tables, and the runs with their segments."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from backend.clusters.models import Cluster
from backend.core import ids
from backend.repairs.planning.modes import RepairWish
from backend.repairs.planning.pace import LEAST, MOST, USUAL
from backend.repairs.states import USUAL_HOURS, RepairPriority, RepairRunReason, RepairRunState, RepairSegmentState


class RepairSchedule(models.Model):
    """One per cluster, made when it first serves. Intensity and parallelism are read all through a run."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="repair_schedule", primary_key=True)
    enabled = models.BooleanField(default=True)
    every_hours = models.PositiveIntegerField(default=USUAL_HOURS)
    intensity = models.PositiveSmallIntegerField(default=USUAL, help_text="1 to 100")
    parallelism = models.PositiveIntegerField(default=0, help_text="Segments at once; 0: as many as the ring allows")
    read_p99_target_ms = models.FloatField(null=True, help_text="The brake is put on above it; null: there is none")
    windows = models.JSONField(default=list, help_text="As the API has them; none: at any time")
    due_at = models.DateTimeField(help_text="When the next run begins")
    looked_at = models.DateTimeField(null=True, help_text="When its tables were read")
    changed_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(intensity__gte=LEAST, intensity__lte=MOST), name="repair_intensity_known"
            )
        ]
        indexes = [models.Index(fields=["due_at"], condition=models.Q(enabled=True), name="repair_due")]

    def __str__(self) -> str:
        return f"repairs of {self.cluster_id}"


class RepairTable(models.Model):
    """A table as the nodes told it last, what people want for it, and when which of its ranges were repaired."""

    id = models.BigAutoField(primary_key=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="repair_tables")
    keyspace = models.CharField(max_length=64)
    name = models.CharField(max_length=222)
    table_id = models.CharField(max_length=64, blank=True, help_text="Another one is another table of the same name")
    facts = models.JSONField(default=dict, help_text="planning.modes.TableFacts, without the names")
    rate = models.FloatField(null=True, help_text="Bytes per second of one copy; null: not measured")
    wish = models.CharField(max_length=16, default=RepairWish.AUTO)
    deadline_hours = models.PositiveIntegerField(null=True, help_text="null: the usual")
    priority = models.CharField(max_length=8, default=RepairPriority.NORMAL)
    coverage = models.JSONField(default=list, help_text="[start, end, seconds since 1970]: last repair of each range")
    repaired_at = models.DateTimeField(null=True, help_text="The oldest in coverage; null: a range has none")
    checked_at = models.DateTimeField(null=True, help_text="When all of it was compared last, repaired data too")
    last_run_id = models.CharField(max_length=40, blank=True, default="")
    last_mode = models.CharField(max_length=16, blank=True, default="")
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "keyspace", "name"], name="repair_table_once"),
            models.CheckConstraint(
                condition=models.Q(wish__in=[w.value for w in RepairWish]), name="repair_wish_known"
            ),
            models.CheckConstraint(
                condition=models.Q(priority__in=[p.value for p in RepairPriority]), name="repair_priority_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.keyspace}.{self.name}"


class RepairRun(models.Model):
    id = models.CharField(primary_key=True, max_length=40, default=ids.new_repair_id)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="repair_runs")
    operation_id = models.CharField(max_length=40, blank=True, default="")
    reason = models.CharField(max_length=16)
    state = models.CharField(max_length=16, default=RepairRunState.RUNNING)
    asked = models.JSONField(default=dict, help_text="tables, mode, node, any_time: what was ordered")
    works = models.JSONField(default=list, help_text="What the plan came to: a Work of the planning each")
    skipped = models.JSONField(default=list, help_text="keyspace, table, why")
    missing = models.JSONField(default=list, help_text="keyspace, table: gone since it was planned")
    ring = models.CharField(max_length=64, blank=True, default="", help_text="Digest of the rings it was planned for")
    revision = models.PositiveIntegerField(default=0, help_text="Counts what was written of its segments")
    segments_expected = models.PositiveIntegerField(default=0)
    segments_done = models.PositiveIntegerField(default=0)
    segments_given_up = models.PositiveIntegerField(default=0)
    bytes_streamed = models.BigIntegerField(default=0)
    progress = models.FloatField(default=0)
    brake = models.JSONField(default=dict, help_text="factor, changed_at, reason, holds")
    pace = models.JSONField(default=dict, help_text="Stream limit that was set on the nodes, MiB/s, and how often")
    foreign = models.JSONField(default=list, help_text="Repairs that are not ours: node, keyspace, tables")
    note = models.TextField(blank=True, default="", help_text="What it waits for, or why it ended as it did")
    idle_since = models.DateTimeField(null=True, help_text="Since when nothing could be started")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in RepairRunState]), name="repair_run_known"
            ),
            models.CheckConstraint(
                condition=models.Q(reason__in=[r.value for r in RepairRunReason]), name="repair_run_reason_known"
            ),
            models.UniqueConstraint(
                fields=["cluster"], condition=models.Q(state=RepairRunState.RUNNING), name="repair_run_once"
            ),
        ]
        indexes = [models.Index(fields=["cluster", "-id"], name="repair_run_list")]

    def __str__(self) -> str:
        return self.id


class RepairSegment(models.Model):
    """Written before its node is asked, so that whoever comes after knows what to look for there."""

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(RepairRun, on_delete=models.CASCADE, related_name="segments")
    keyspace = models.CharField(max_length=64)
    tables = ArrayField(models.CharField(max_length=222))
    mode = models.CharField(max_length=16)
    ranges = models.JSONField(help_text="[start, end], tokens")
    nodes = ArrayField(models.CharField(max_length=40), help_text="Ids of those that take part")
    coordinator = models.CharField(max_length=40)
    state = models.CharField(max_length=16, default=RepairSegmentState.RUNNING)
    attempt = models.PositiveIntegerField(default=1)
    failures = models.PositiveIntegerField(default=0)
    splits = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True)
    expected_bytes = models.BigIntegerField(default=0)
    expected_seconds = models.FloatField(default=0)
    engine_started_at = models.CharField(
        max_length=40, blank=True, default="", help_text="The coordinator's process that ran it"
    )
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    bytes_streamed = models.BigIntegerField(default=0)
    error_code = models.CharField(max_length=64, blank=True, default="")
    error = models.TextField(blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in RepairSegmentState]), name="repair_segment_known"
            )
        ]
        indexes = [models.Index(fields=["run", "id"], name="repair_segment_list")]

    def __str__(self) -> str:
        return f"{self.keyspace} {self.tables} {self.state}"

    @property
    def job(self) -> str:
        """The name of its job at the coordinator's agent; each attempt has its own."""
        return f"repair-{self.run_id}-{self.pk}-{self.attempt}"
