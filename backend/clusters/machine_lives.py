"""When machines began and ended, by the database's clock. Each call may be repeated, also late."""

from typing import Any

from django.db.models.functions import Greatest, Now

from backend.clusters.models import MachineLife, Node
from backend.prices.states import BLOCK_CLASSES, BOOT_DISK_BYTES


def begin(node_id: str) -> None:
    """The machine that the node has now runs. Only the first call for it counts."""
    node = Node.objects.select_related("cluster", "datacenter").get(id=node_id)
    if node.deleted_at is not None:
        return
    life = MachineLife(
        node=node,
        generation=node.generation,
        organisation_id=node.cluster.organisation_id,
        cluster_id=node.cluster_id,
        provider=node.cluster.provider,
        region=node.datacenter.region,
        zone=node.zone,
        machine_type=node.machine_type,
        began_at=Now(),
    )
    if disk := BOOT_DISK_BYTES.get(life.provider):
        life.disk_class, life.disk_bytes, life.disk_began_at = BLOCK_CLASSES[life.provider], disk, Now()
    MachineLife.objects.bulk_create([life], ignore_conflicts=True)


def end(**which: Any) -> None:
    """The machines are gone. A clock that was put back does not make them end before they began."""
    MachineLife.objects.filter(ended_at=None, **which).update(ended_at=Greatest(Now(), "began_at"))
