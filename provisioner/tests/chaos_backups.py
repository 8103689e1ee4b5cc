"""Backups in a campaign: real ones, of tables on the simulated nodes, in a folder; and what must hold when all is over.

1. No complete backup needs an object or a manifest that is not in the store as it was written.
2. No node keeps a snapshot, or fetched files, of what has ended.
3. Nothing is in the store that the index does not know: an object without a row would never be purged.
"""

import hashlib
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

from backend.backups import actions as backups
from backend.backups import objects, restoring
from backend.backups.models import Backup, BackupLocation, BackupObject, Restore
from backend.backups.schemas import BackupOrder, RestoreOrder, RestoreTable
from backend.backups.states import BackupState, RestoreMode
from backend.clusters.models import Cluster, Node
from backend.clusters.states import ClusterState
from provisioner.operations.backup_store import DamagedManifest, check_manifests, key_for, open_store
from provisioner.tests.chaos_tenants import Tenant, operation_of
from provisioner.tests.chaos_world import FakeWorld

KEYSPACE, TABLE = "shop", "orders"
GRACE = timedelta(seconds=1)
"""Of objects that nobody needs: so short that a campaign sees them deleted, and stored anew."""


def shorten_grace() -> None:
    objects.GRACE = GRACE


def backup(tenant: Tenant) -> str | None:
    """A table of a cluster gets some more rows on one node, and all of the cluster is backed up."""
    cluster = tenant.serving()
    if cluster is None:
        return None
    _write(tenant, cluster)
    return operation_of(backups.create_backup(tenant.who, cluster.id, BackupOrder()))


def _write(tenant: Tenant, cluster: Cluster) -> None:
    nodes = list(Node.objects.filter(cluster=cluster, deleted_at=None, state="up").order_by("id"))
    replication = {d.name: 3 for d in cluster.datacenters.filter(deleted_at=None)}
    tenant.agents.create_table(cluster.ring_name, KEYSPACE, TABLE, replication=replication)
    if nodes:
        with tenant.agents.backups_of(tenant.choose.choice(nodes).id) as held:
            token = tenant.choose.randrange(-(2**63), 2**63)
            held.write(KEYSPACE, TABLE, {token: f"{token} of {cluster.id}"})


def verify_backup(tenant: Tenant) -> str | None:
    chosen = _complete(tenant)
    return chosen and operation_of(backups.verify_backup(tenant.who, chosen.id))


def delete_backup(tenant: Tenant) -> str | None:
    """What only it needs goes with it, while other backups may just come to need it."""
    chosen = _complete(tenant)
    return chosen and operation_of(backups.delete_backup(tenant.who, chosen.id))


def restore(tenant: Tenant) -> str | None:
    """A copy beside the live table."""
    chosen = _complete(tenant)
    if chosen is None or chosen.cluster.state not in (ClusterState.ACTIVE, ClusterState.DEGRADED):
        return None
    tenant.made += 1
    copy = RestoreTable(keyspace=KEYSPACE, table=TABLE, as_table=f"copy_{tenant.made}")
    return operation_of(restoring.start(tenant.who, chosen.id, RestoreOrder(mode=RestoreMode.COPY, tables=[copy])))


def _complete(tenant: Tenant) -> Backup | None:
    rows = Backup.objects.filter(organisation_id=tenant.who.organisation_id, state=BackupState.COMPLETE)
    found = list(rows.select_related("cluster").order_by("id"))
    return tenant.choose.choice(found) if found else None


# When all is over


def judge(world: FakeWorld) -> tuple[dict[str, int], list[str]]:
    """How many backups there are by state, and what is wrong."""
    states = Counter(Backup.objects.values_list("state", flat=True))
    trouble = [f"{row} is {row.state} and its operation is over" for row in _open()]
    for row in Backup.objects.filter(state=BackupState.COMPLETE).select_related("location", "cluster"):
        trouble += _lacks(row)
    trouble += _left_on_nodes(world)
    trouble += _unknown()
    return dict(states), trouble


def _open() -> list[Backup | Restore]:
    running = Backup.objects.filter(state__in=[BackupState.RUNNING, BackupState.DELETING])
    return [*running, *Restore.objects.filter(state="running")]


def _lacks(row: Backup) -> list[str]:
    store = open_store(row.location, row.organisation_id)
    found = []
    try:
        check_manifests(store, key_for(row), row)
    except DamagedManifest as damaged:
        found.append(f"{row.id}: {damaged}")
    for one in objects.of_backup(row):
        name = f"objects/{one.key[:2]}/{one.key}"
        if one.stored_at is None or one.doomed_at is not None or store.size(name) != one.stored_bytes:
            found.append(f"{row.id} needs {one.key}, which is not stored")
        elif hashlib.sha256(store.get(name)).hexdigest() != one.sha256:
            found.append(f"{row.id} needs {one.key}, which is another")
    return found


def _left_on_nodes(world: FakeWorld) -> list[str]:
    found = []
    for node in Node.objects.filter(deleted_at=None, cluster__deleted_at=None, state="up"):
        with world.agents.backups_of(node.id) as held:
            found += [f"{node.name} keeps the snapshot {tag}" for tag in held.snapshots]
            found += [f"{node.name} keeps what was fetched for {name}" for name in held.restores]
    return found


def _unknown() -> list[str]:
    location = BackupLocation.objects.get(organisation=None)
    place = Path(location.folder)
    found = []
    for path in sorted(place.rglob("*")):
        if not path.is_file():
            continue
        organisation, _, name = path.relative_to(place).as_posix().partition("/")
        known = BackupObject.objects.filter(location=location, organisation_id=organisation, key=path.name).exists()
        if name.startswith("objects/") and not known:
            found.append(f"{name} is in no index")
        of = re.match(r"manifests/[^/]+/([^/]+)/", name)
        if (
            of
            and not Backup.objects.filter(id=of[1], state__in=[BackupState.COMPLETE, BackupState.INCOMPLETE]).exists()
        ):
            found.append(f"{name} is of a backup that there is not")
    return found
