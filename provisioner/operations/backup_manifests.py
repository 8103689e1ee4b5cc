"""Manifests of a backup, and whether it is complete."""

from collections.abc import Callable, Sequence
from typing import Any

from backend.backups import progress
from backend.backups.models import Backup, BackupBundle, BackupNode
from backend.backups.states import NodeBackupState
from provisioner.agent.base import AgentClient
from provisioner.agent.repairs import KeyspaceRing
from provisioner.operations.backup_nodes import any_node, backup_of, part_of, size, told
from provisioner.operations.backup_store import (
    FORMAT,
    in_words,
    key_for,
    manifest_name,
    node_manifest_name,
    open_store,
    put_sealed,
    put_signed,
    schema_name,
)
from provisioner.operations.base import Done, Outcome, StepContext, Wait

# Of a bundle in a node's manifest, and where its values come from.
_COLUMNS = {
    "key": "object__key",
    "bytes": "object__bytes",
    "stored_bytes": "object__stored_bytes",
    "sha256": "object__sha256",
    "keyspace": "table__keyspace",
    "table": "table__name",
    "table_id": "table__table_id",
    "sstable": "sstable",
    "min_token": "min_token",
    "max_token": "max_token",
    "level": "level",
    "repaired_at": "repaired_at",
}


def write_manifest(context: StepContext) -> Outcome:
    part = part_of(context)
    if part.state == NodeBackupState.LOST:
        return Done(told(part))
    with in_words():
        store = open_store(part.backup.location, part.backup.organisation_id)
        sha256 = put_sealed(store, key_for(part.backup), node_manifest_name(part), _node_manifest(part))
    progress.manifest_written(part.id, sha256=sha256)
    return Done(f"{part.bundles:,} files, {size(part.bytes)}")


def _node_manifest(part: BackupNode) -> dict[str, Any]:
    entries = BackupBundle.objects.filter(node=part).order_by("id").values_list(*_COLUMNS.values())
    return {
        "format": FORMAT,
        "backup": part.backup_id,
        "node": part.node_id,
        "columns": list(_COLUMNS),
        "bundles": [list(entry) for entry in entries],
    }


def take_back_manifest(context: StepContext) -> Outcome:
    part = part_of(context)
    with in_words():
        open_store(part.backup.location, part.backup.organisation_id).delete([node_manifest_name(part)])
    progress.manifest_taken_back(part.id)
    return Done()


def complete_backup(context: StepContext) -> Outcome:
    """Complete is what has every range of every chosen table: enough replicas of it that no acknowledged row lacks."""
    backup = backup_of(context)
    parts = list(backup.nodes.order_by("name"))
    missing = _uncovered(backup, parts)
    if isinstance(missing, Wait):
        return missing
    lost = [part for part in parts if part.state != NodeBackupState.WRITTEN]
    note = ""
    if lost and not missing:
        said = ", ".join(part.name for part in lost)
        note = f"Made without {said}. The other replicas have every row that was written with a quorum."
    document = {
        "format": FORMAT,
        "backup": backup.id,
        "cluster": {"id": backup.cluster_id, "name": backup.cluster_name, "ring": backup.cluster.ring_name},
        "engine": {"name": backup.engine, "version": backup.engine_version, "settings": backup.cluster.settings},
        "key_id": backup.key_id,
        "schema": {"name": schema_name(backup), "sha256": backup.schema_sha256},
        "tables": [
            {"keyspace": table.keyspace, "table": table.name, "id": table.table_id}
            for table in backup.tables.order_by("keyspace", "name")
        ],
        "nodes": [
            {
                "id": part.node_id,
                "name": part.name,
                "host_id": part.host_id,
                "datacenter": part.datacenter,
                "rack": part.rack,
                "tokens": part.tokens,
                "taken_at": None if part.taken_at is None else part.taken_at.isoformat(),
                "manifest": node_manifest_name(part) if part.state == NodeBackupState.WRITTEN else "",
                "sha256": part.manifest_sha256,
                "bundles": part.bundles,
                "bytes": part.bytes,
            }
            for part in parts
        ],
        "complete": not missing,
        "missing": missing,
    }
    with in_words():
        store = open_store(backup.location, backup.organisation_id)
        sha256 = put_signed(store, key_for(backup), manifest_name(backup), document)
    progress.finished(backup.id, complete=not missing, missing=missing, note=note, sha256=sha256)
    return Done("complete" if not missing else f"incomplete: {missing[0]}")


def _uncovered(backup: Backup, parts: Sequence[BackupNode]) -> list[str] | Wait:
    """What is not in it, a sentence for each keyspace."""
    written = {part.host_id for part in parts if part.state == NodeBackupState.WRITTEN}
    if len(written) == len(parts):
        return []
    missing = []
    facts = any_node(backup, lambda agent: agent.tables())
    if isinstance(facts, Wait):
        return facts
    placement = {keyspace.name: keyspace.placement for keyspace in facts.keyspaces}
    moving = {keyspace.name for keyspace in facts.keyspaces if keyspace.tablets}
    lost = ", ".join(part.name for part in parts if part.host_id not in written)
    for keyspace in sorted(set(backup.tables.values_list("keyspace", flat=True))):
        if keyspace in moving:
            # Which tablets a node had when the others took their snapshots is not known any more.
            missing.append(f"The tablets of the keyspace {keyspace} that were on {lost}.")
            continue
        ring = any_node(backup, _ring_of(keyspace))
        if isinstance(ring, Wait):
            return ring
        by_datacenter = placement.get(keyspace) == "NetworkTopologyStrategy"
        lacking = 0
        for found in ring.ranges:
            of: dict[str, list[bool]] = {}
            for index in found.replicas:
                node = ring.nodes[index]
                group = node.datacenter if by_datacenter else ""
                of.setdefault(group, []).append(node.host_id in written)
            lacking += any(sum(have) < enough(len(have)) for have in of.values())
        if lacking:
            missing.append(
                f"{lacking} of {len(ring.ranges)} ranges of the keyspace {keyspace}: too few replicas without {lost}."
            )
    return missing


def _ring_of(keyspace: str) -> Callable[[AgentClient], KeyspaceRing]:
    return lambda agent: agent.keyspace_ring(keyspace)


def enough(replicas: int) -> int:
    """Of so many, how many must be there that each quorum has one among them."""
    return replicas - replicas // 2


def forget_manifest(context: StepContext) -> Outcome:
    backup = backup_of(context)
    with in_words():
        open_store(backup.location, backup.organisation_id).delete([manifest_name(backup)])
    progress.taken_back(backup.id)
    return Done()
