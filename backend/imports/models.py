"""Imports: which SSTables of another cluster are brought into one of ours, and how far that is."""

from django.db import models

from backend.accounts.models import Organisation
from backend.backups.models import BackupLocation
from backend.clusters.models import Cluster, Node
from backend.core import ids
from backend.imports.states import ImportLayout, ImportState


class Import(models.Model):
    """One that was ordered, or one that was only looked at (`dry_run`)."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_import_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="imports")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="imports", help_text="Into which")
    location = models.ForeignKey(BackupLocation, on_delete=models.PROTECT, related_name="imports")
    path = models.CharField(max_length=500, blank=True, help_text="Below the organisation's place in the location")
    layout = models.CharField(max_length=16)
    backup_name = models.CharField(max_length=200, blank=True, help_text="Of Medusa")
    selection = models.JSONField(default=list, help_text="keyspace and table (empty: all); empty: all there are")
    schema_cql = models.TextField(blank=True, help_text="Empty: what lies beside the files")
    replication = models.JSONField(default=dict, help_text="Replicas by data centre of keyspaces that are made")
    checksums = models.BooleanField(default=True, help_text="Of Medusa: its MD5s are those of the files")
    dry_run = models.BooleanField(default=False)
    state = models.CharField(max_length=16, default=ImportState.RUNNING)
    tables = models.JSONField(default=list, help_text="keyspace, table, sstables, bytes, exists")
    statements = models.JSONField(default=list, help_text="type, keyspace, name, statement, in order")
    problems = models.JSONField(default=list, help_text="What is against it, in sentences")
    warnings = models.JSONField(default=list)
    same_shape = models.BooleanField(default=False, help_text="Each node gets one node's files, else each gets all")
    bytes = models.BigIntegerField(default=0, help_text="To fetch, of all nodes")
    fetched_bytes = models.BigIntegerField(default=0)
    repair = models.BooleanField(null=True, help_text="Repair its tables afterwards; null: where it is needed")
    repair_wanted = models.BooleanField(default=False, help_text="Its tables are repaired when it has ended")
    repair_operation_id = models.CharField(max_length=40, blank=True, help_text="Empty: not ordered")
    operation_id = models.CharField(max_length=40, blank=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in ImportState]), name="import_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(layout__in=[one.value for one in ImportLayout]), name="import_layout_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "-id"], name="import_of_cluster"),
            models.Index(
                fields=["finished_at"],
                condition=models.Q(state="succeeded", repair_wanted=True, repair_operation_id=""),
                name="import_to_repair",
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.id} into {self.cluster_id}"


class ImportSSTable(models.Model):
    """One SSTable as it was found."""

    imported = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="sstables")
    source = models.CharField(max_length=300, blank=True, help_text="Of Medusa: the node it is of")
    keyspace = models.CharField(max_length=222)
    table = models.CharField(max_length=222)
    folder = models.CharField(max_length=1000, help_text="Below the path")
    name = models.CharField(max_length=200, help_text="How its files begin: nb-12-big")
    files = models.JSONField(help_text="name, bytes, and where they are known md5 and part_bytes")
    bytes = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["imported", "folder", "name"], name="import_sstable_once"),
        ]

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"


class ImportNode(models.Model):
    """What one node fetches for an import."""

    imported = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="nodes")
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="+")
    source = models.CharField(max_length=300, blank=True, help_text="Whose files; empty: all")
    cursor = models.BigIntegerField(default=0, help_text="Id of the last SSTable that it has")
    bytes = models.BigIntegerField(default=0)
    fetched_bytes = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["imported", "node"], name="import_node_once")]

    def __str__(self) -> str:
        return f"{self.node_id} of {self.imported_id}"
