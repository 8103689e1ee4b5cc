"""Backups: where they are kept, when they are made, what is in them, and what was restored from them.

A bundle is all files of one SSTable as one object. Objects are named by their content, so one that several nodes or
several backups have is stored once; a bundle's row is the reference that keeps its object.
"""

from django.db import models
from django.db.models.functions import Lower

from backend.accounts.models import Organisation
from backend.backups.states import (
    BackupState,
    CopyState,
    DrillShape,
    DrillState,
    LocationKind,
    NodeBackupState,
    RestoreMode,
    RestoreState,
)
from backend.clusters.models import Cluster, Node
from backend.core import ids


class BackupLocation(models.Model):
    """A bucket or folder of an organisation, or the operator's, in which every organisation has a place of its own.

    Credentials are in the vault (backend/backups/credentials.py).
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


class Backup(models.Model):
    """One picture of a cluster. The row stays as history when what it is about was deleted."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_backup_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="backups")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="backups")
    cluster_name = models.CharField(max_length=63)
    location = models.ForeignKey(BackupLocation, on_delete=models.PROTECT, related_name="backups")
    schedule = models.ForeignKey(BackupSchedule, on_delete=models.PROTECT, null=True, related_name="backups")
    state = models.CharField(max_length=16, default=BackupState.RUNNING)
    reason = models.TextField(blank=True, help_text="Why it failed; or what it lacks although it is complete")
    missing = models.JSONField(default=list, help_text="Sentences: what is not in it")
    selection = models.JSONField(default=list)
    rate_mib_per_second = models.PositiveIntegerField(null=True)
    engine = models.CharField(max_length=32)
    engine_version = models.CharField(max_length=32)
    key_id = models.CharField(max_length=16, help_text="Names the key that it is encrypted with")
    schema_sha256 = models.CharField(max_length=64, blank=True)
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    damaged_manifest = models.CharField(
        max_length=200, blank=True, help_text="Name of a manifest that a verification found to be missing or changed"
    )
    taken_at = models.DateTimeField(null=True, help_text="When the last node's snapshot was made")
    settled_at = models.DateTimeField(null=True, help_text="When all snapshots were whole: nothing later is in it")
    replication = models.JSONField(default=dict, help_text="Copies by keyspace and data centre, as the schema had them")
    bundles = models.PositiveIntegerField(default=0)
    bytes = models.BigIntegerField(default=0, help_text="Of all nodes' files")
    new_bytes = models.BigIntegerField(default=0, help_text="That were not stored already")
    verified_at = models.DateTimeField(null=True, help_text="When the sizes of all its objects were last looked at")
    contents_verified_at = models.DateTimeField(null=True, help_text="When a sample of its objects was last read")
    expires_at = models.DateTimeField(null=True, help_text="Made by hand: kept until then; null: until deleted")
    locked_until = models.DateTimeField(null=True, help_text="Nobody may delete it before")
    operation_id = models.CharField(max_length=40, blank=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in BackupState]), name="backup_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["organisation", "-id"], name="backup_list"),
            models.Index(fields=["cluster", "-id"], name="backup_of_cluster"),
            models.Index(
                fields=["location", "organisation"],
                condition=models.Q(state__in=["complete", "incomplete", "failed", "cancelled", "deleting"]),
                name="backup_in_location",
            ),
        ]

    def __str__(self) -> str:
        return f"backup {self.id} of {self.cluster_name}"

    @property
    def tag(self) -> str:
        """What the snapshots on the nodes are called."""
        return f"ringmaster-{self.id.replace('_', '-')}"


class BackupNode(models.Model):
    """What one node gave to a backup: what its manifest says."""

    backup = models.ForeignKey(Backup, on_delete=models.CASCADE, related_name="nodes")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=80)
    host_id = models.CharField(max_length=36, blank=True)
    datacenter = models.CharField(max_length=96)
    rack = models.CharField(max_length=64)
    tokens = models.JSONField(default=list)
    state = models.CharField(max_length=16, default=NodeBackupState.PENDING)
    reason = models.TextField(blank=True, help_text="Why it is lost")
    silent_since = models.DateTimeField(null=True, help_text="Since when its agent does not answer")
    taken_at = models.DateTimeField(null=True)
    cursor = models.CharField(max_length=500, blank=True, help_text="Up to where its bundles were read")
    bundles = models.PositiveIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    new_bytes = models.BigIntegerField(default=0, help_text="Of objects that it is to upload")
    uploaded_bytes = models.BigIntegerField(default=0)
    manifest_sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["backup", "node"], name="backup_node_once"),
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in NodeBackupState]), name="backup_node_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} in {self.backup_id}"


class BackupTable(models.Model):
    backup = models.ForeignKey(Backup, on_delete=models.CASCADE, related_name="tables")
    keyspace = models.CharField(max_length=222)
    name = models.CharField(max_length=222)
    table_id = models.CharField(max_length=36, blank=True)
    columns = models.JSONField(default=list, help_text="name, type, kind as the agent's job describe-schema tells them")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["backup", "keyspace", "name"], name="backup_table_once")]

    def __str__(self) -> str:
        return f"{self.keyspace}.{self.name}"


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


class TableReading(models.Model):
    """The tables of a cluster as its database told them last: for choosing, and for comparing before a restore."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="table_reading", primary_key=True)
    tables = models.JSONField(default=list, help_text="keyspace, table, id, columns; without the engine's own")
    read_at = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True, help_text="When somebody last wanted to see them")

    class Meta:
        indexes = [models.Index(fields=["looked_at"], name="table_reading_looked_at")]

    def __str__(self) -> str:
        return f"tables of {self.cluster_id}"


class Restore(models.Model):
    """Data brought back from a backup."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_restore_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="restores")
    backup = models.ForeignKey(Backup, on_delete=models.PROTECT, related_name="restores")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="restores", help_text="Into which")
    location = models.ForeignKey(
        BackupLocation,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="From which; null: the backup's first",
    )
    mode = models.CharField(max_length=16)
    tables = models.JSONField(default=list, help_text="keyspace, table, as_keyspace, as_table")
    point_in_time = models.DateTimeField(null=True, help_text="Until when; null: as the backup has it")
    state = models.CharField(max_length=16, default=RestoreState.RUNNING)
    bytes = models.BigIntegerField(default=0, help_text="To fetch, of all nodes")
    fetched_bytes = models.BigIntegerField(default=0)
    repair_wanted = models.BooleanField(default=False, help_text="Its tables are repaired when it has ended")
    repair_operation_id = models.CharField(max_length=40, blank=True, help_text="Empty: not ordered")
    way_back = models.ForeignKey(
        Backup,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="Of what the tables held before; null: none was made",
    )
    scratch = models.BooleanField(default=False, help_text="The cluster is a drill's and goes at its end")
    operation_id = models.CharField(max_length=40, blank=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in RestoreState]), name="restore_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(mode__in=[m.value for m in RestoreMode]), name="restore_mode_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "-id"], name="restore_of_cluster"),
            models.Index(fields=["backup"], condition=models.Q(state="running"), name="restore_of_backup"),
            models.Index(
                fields=["finished_at"],
                condition=models.Q(state="succeeded", repair_wanted=True, repair_operation_id=""),
                name="restore_to_repair",
            ),
        ]

    def __str__(self) -> str:
        return f"restore {self.id} of {self.backup_id}"


class RestoreNode(models.Model):
    """What one node fetches for a restore."""

    restore = models.ForeignKey(Restore, on_delete=models.CASCADE, related_name="nodes")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="+")
    source = models.ForeignKey(
        BackupNode, on_delete=models.PROTECT, null=True, related_name="+", help_text="Whose files; null: all nodes'"
    )
    cursor = models.BigIntegerField(default=0, help_text="Id of the last bundle that it has")
    piece_cursor = models.BigIntegerField(default=0, help_text="Id of the last piece of a commit log that it has")
    bytes = models.BigIntegerField(default=0)
    fetched_bytes = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["restore", "node"], name="restore_node_once")]

    def __str__(self) -> str:
        return f"{self.node_id} of {self.restore_id}"


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
