"""The plans of the operations on backups."""

from collections.abc import Sequence

from backend.backups.states import RestoreMode
from backend.clusters.models import Node
from backend.operations.actions import PlannedStep

CHECK_SECONDS = 3
BACKUP_SECONDS = 60
VERIFY_SECONDS = 30
RESTORE_SECONDS = 60
PURGE_SECONDS = 30
LISTING_SECONDS = 30
COPY_SECONDS = 60
DRILL_SECONDS = 300

_HOURS = 3600

Groups = list[list[PlannedStep]]


def check_location() -> Groups:
    return [[PlannedStep("probe_location", "Write, read and delete a small object", deadline_seconds=60)]]


def backup(nodes: Sequence[Node], *, lock: bool = False, hold: bool = False) -> Groups:
    """Snapshots on all nodes at once; then each node sends what is not stored yet; manifests last.

    `lock`: the store itself is to keep it. `hold`: data moves among the nodes by itself, and must not meanwhile.
    """

    def on_each(name: str, title: str, seconds: int) -> list[PlannedStep]:
        return [PlannedStep(name, title, node.id, node.name, deadline_seconds=seconds) for node in nodes]

    return [
        [PlannedStep("check_backup", "Check location, tables and room", deadline_seconds=120)],
        *([[PlannedStep("hold_tablets", "Keep tablets where they are", deadline_seconds=_HOURS)]] if hold else []),
        on_each("take_snapshot", "Take a snapshot", 300),
        *([[PlannedStep("release_tablets", "Let tablets move again", deadline_seconds=300)]] if hold else []),
        [PlannedStep("read_schema", "Keep the schema", deadline_seconds=120)],
        on_each("index_snapshot", "Find out what is new", 2 * _HOURS),
        on_each("check_stored", "Look at what is stored already", _HOURS),
        on_each("upload", "Upload what is new", 24 * _HOURS),
        on_each("write_manifest", "Write the node's manifest", 300),
        [PlannedStep("complete_backup", "See whether it is complete, and sign it", deadline_seconds=300)],
        *([[PlannedStep("lock_objects", "Have the store keep it", deadline_seconds=2 * _HOURS)]] if lock else []),
        on_each("clear_snapshot", "Clear the snapshot", 300),
    ]


def restore(nodes: Sequence[Node], *, mode: RestoreMode, moment: bool = False) -> Groups:
    """Fetched and verified first, changed afterwards. `moment`: with archived commit logs."""

    def on_each(name: str, title: str, seconds: int, *, mid_way: bool = False) -> list[PlannedStep]:
        return [PlannedStep(name, title, node.id, node.name, seconds, mid_way) for node in nodes]

    changes: Groups = []
    if moment:
        changes.append(on_each("replay_logs", "Make files of the commit logs", 12 * _HOURS))
    if mode in (RestoreMode.COPY, RestoreMode.CLUSTER):
        changes.append([PlannedStep("create_tables", "Create the tables", deadline_seconds=300)])
    if mode is RestoreMode.REPLACE:
        changes.append([PlannedStep("empty_tables", "Empty the tables", deadline_seconds=300)])
    return [
        [PlannedStep("check_restore", "Check backup, schema and room", deadline_seconds=600)],
        on_each("fetch_files", "Fetch and verify files", 24 * _HOURS),
        *changes,
        on_each("import_files", "Give the files to the database", 6 * _HOURS, mid_way=True),
        on_each("remove_fetched", "Remove what was fetched", 600, mid_way=True),
    ]


def copy(*, lock: bool) -> Groups:
    return [
        [PlannedStep("check_copy", "Check both locations", deadline_seconds=120)],
        [PlannedStep("refer_objects", "Find out what is not there yet", deadline_seconds=_HOURS)],
        [PlannedStep("copy_objects", "Copy and verify objects", deadline_seconds=72 * _HOURS)],
        [PlannedStep("copy_manifests", "Copy the manifests", deadline_seconds=600)],
        *([[PlannedStep("lock_objects", "Have the store keep it", deadline_seconds=2 * _HOURS)]] if lock else []),
    ]


def listing() -> Groups:
    return [
        [PlannedStep("list_backups", "See whose backups are there", deadline_seconds=_HOURS)],
        [PlannedStep("list_objects", "Hold the objects against the index", deadline_seconds=12 * _HOURS)],
    ]


def take_over(nodes: Sequence[Node], *, moment: bool, hold: bool) -> Groups:
    """First the way back: a backup of what the tables hold. Then the rows that the copy shows."""
    return [
        *backup(nodes, hold=hold),
        [PlannedStep("check_way_back", "See that the way back is there", deadline_seconds=60)],
        *restore(nodes, mode=RestoreMode.REPLACE, moment=moment),
    ]


def clone(name: str, new: str) -> Groups:
    """Backup and cluster are made side by side."""
    return [
        [
            PlannedStep("back_up", f"Back {name} up", deadline_seconds=24 * _HOURS),
            PlannedStep("order_cluster", f"Order {new} and wait until it serves", deadline_seconds=_HOURS),
        ],
        [PlannedStep("restore_backup", f"Restore the backup into {new}", deadline_seconds=24 * _HOURS)],
    ]


def restore_drill() -> Groups:
    """What is ordered is removed at the end, also when something before has failed."""
    return [
        [PlannedStep("check_drill", "Check the backup", deadline_seconds=120)],
        [PlannedStep("order_cluster", "Order a cluster to restore into", deadline_seconds=_HOURS)],
        [PlannedStep("restore_backup", "Restore the backup into it", deadline_seconds=24 * _HOURS)],
        [PlannedStep("read_restored", "Read every row that was restored", deadline_seconds=12 * _HOURS)],
        [PlannedStep("read_live", "Read the live tables", deadline_seconds=12 * _HOURS)],
        [PlannedStep("compare_rows", "Compare", deadline_seconds=60)],
        [PlannedStep("remove_cluster", "Remove the cluster", deadline_seconds=_HOURS)],
    ]


def verify() -> Groups:
    return [
        [PlannedStep("verify_manifests", "Check manifests and signature", deadline_seconds=600)],
        [PlannedStep("verify_sizes", "Look at the size of every object", deadline_seconds=2 * _HOURS)],
        [PlannedStep("verify_contents", "Read a sample of the objects", deadline_seconds=12 * _HOURS)],
    ]


def purge() -> Groups:
    return [
        [PlannedStep("expire_backups", "Find backups that are kept no longer", deadline_seconds=300)],
        [PlannedStep("delete_manifests", "Delete their manifests", deadline_seconds=_HOURS)],
        [PlannedStep("mark_objects", "Mark what no backup needs", deadline_seconds=_HOURS)],
        [PlannedStep("sweep_objects", "Delete what was marked long enough", deadline_seconds=12 * _HOURS)],
    ]
