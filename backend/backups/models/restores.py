"""What was brought back, and the tables that a cluster has."""

from django.db import models

from backend.accounts.models import Organisation
from backend.backups.models.backups import Backup, BackupNode
from backend.backups.models.locations import BackupLocation
from backend.backups.states import RestoreMode, RestoreState
from backend.clusters.models import Cluster, Node
from backend.core import ids


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
