"""Backups, what each node gave to them, and the tables in them."""

from django.db import models

from backend.accounts.models import Organisation
from backend.backups.models.locations import BackupLocation
from backend.backups.models.schedules import BackupSchedule
from backend.backups.states import BackupState, NodeBackupState
from backend.clusters.models import Cluster, Node
from backend.core import ids


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
