"""Looking at what is stored: manifests and signature, the size of every object, and the contents of a sample.

What is found to be wrong is written down and is the result: an operation that finds damage ends well, and the backup
says what is damaged. Nodes read contents where their cluster lives; else the control plane compares hashes itself.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from django.db.models import F, Q, QuerySet

from backend.backups import copies, objects, progress, vault_keys
from backend.backups.models import Backup, BackupCopy, BackupObject
from backend.backups.states import CopyState
from backend.clusters.states import SERVING, NodeState
from provisioner.agent.base import AgentError
from provisioner.operations import names
from provisioner.operations.backup_store import DamagedManifest, check_manifests, in_words, key_for, open_store
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.surroundings import surroundings
from provisioner.stores.base import ObjectMissing, Store

SIZES_AT_ONCE = 100
SAMPLE = 50
"""Objects that one verification reads; those that were not read for longest come first."""
SAMPLE_BYTES = 8 << 30
READ_AGAIN_AFTER = timedelta(days=7)
_THREADS = 16
_LARGEST_HERE = 64 << 20
"""Bytes of an object that the control plane reads itself, within a step."""


def verify_manifests(context: StepContext) -> Outcome:
    backup = _backup(context)
    key = key_for(backup)
    damaged = ""
    with in_words():
        store = open_store(backup.location, backup.organisation_id)
        try:
            check_manifests(store, key, backup)
        except DamagedManifest as error:
            damaged = error.name
        in_copies = {copy.location.name: _damaged_in(copy, key) for copy in _copies(backup)}
    progress.manifests_verified(backup.id, damaged=damaged)
    for place, name in in_copies.items():
        if name:
            return Done(f"{name} is damaged in {place}")
    return Done(f"{damaged} is damaged" if damaged else "manifests and signature are well")


def _copies(backup: Backup) -> list[BackupCopy]:
    return list(backup.copies.filter(state=CopyState.COMPLETE).select_related("location"))


def _damaged_in(copy: BackupCopy, key: bytes) -> str:
    try:
        check_manifests(open_store(copy.location, copy.backup.organisation_id), key, copy.backup)
        damaged = ""
    except DamagedManifest as error:
        damaged = error.name
    copies.manifests_verified(copy.id, damaged=damaged)
    return damaged


def verify_sizes(context: StepContext) -> Outcome:
    backup = _backup(context)
    every = objects.everywhere(backup).select_related("location")
    total = every.count()
    left = every.filter(Q(verified_at=None) | Q(verified_at__lt=context.operation.created_at))
    batch = list(left.order_by("id")[:SIZES_AT_ONCE])
    if not batch:
        progress.verified(backup.id, contents=False)
        return Done(_found(every, total, "have the right size"))
    with in_words():
        stores = {one.location_id: open_store(one.location, backup.organisation_id) for one in batch}
        with ThreadPoolExecutor(_THREADS) as threads:
            sizes = list(threads.map(lambda one: stores[one.location_id].size(_name(one)), batch))
    for place in stores:
        looked = [(one, size) for one, size in zip(batch, sizes, strict=True) if one.location_id == place]
        bad = {one.key: "missing" if size is None else "size" for one, size in looked if size != one.stored_bytes}
        objects.looked_at([one.id for one, _ in looked], bad=bad, contents=False)
    done = total - left.count()
    return Wait(0, f"{done:,} of {total:,} objects", done / max(total, 1))


def verify_contents(context: StepContext) -> Outcome:
    """A sample, the longest unread first; nothing that was read this week."""
    backup = _backup(context)
    every = objects.everywhere(backup).select_related("location")
    read = every.filter(read_at__gte=context.operation.created_at).count()
    over = Q(read_at=None) | Q(read_at__lt=context.operation.created_at - READ_AGAIN_AFTER)
    chosen = list(every.filter(over, bad="").order_by(F("read_at").asc(nulls_first=True), "id")[:1])
    if read >= SAMPLE or not chosen or _bytes_read(every, context) > SAMPLE_BYTES:
        progress.verified(backup.id, contents=True)
        return Done(f"{read:,} objects were read and are well" if not every.exclude(bad="").exists() else _bad(every))
    one = chosen[0]
    looked = _read_on_a_node(context, backup, one)
    if looked is None:
        looked = _read_here(backup, one)
    if isinstance(looked, Wait):
        return looked
    objects.looked_at([one.id], bad={one.key: looked} if looked else {}, contents=True)
    return Wait(0, f"{read + 1:,} objects were read", min(1.0, (read + 1) / SAMPLE))


def _bytes_read(every: QuerySet[BackupObject], context: StepContext) -> int:
    rows = every.filter(read_at__gte=context.operation.created_at)
    return sum(size or 0 for size in rows.values_list("stored_bytes", flat=True))


def _read_on_a_node(context: StepContext, backup: Backup, one: BackupObject) -> str | Wait | None:
    """What is wrong with it, empty: nothing. None: there is no node that could read it."""
    if backup.cluster.state not in SERVING:
        return None
    up = backup.cluster.nodes.filter(deleted_at=None, state=NodeState.UP).select_related("cluster", "datacenter")
    name = names.job(context.operation, f"read-{one.key[:12]}-{one.id}")
    parameters = {
        "store": vault_keys.store_of(one.location, backup.organisation_id),
        "encryption": vault_keys.encryption(key_for(backup)),
        "objects": [{"key": one.key, "bytes": one.stored_bytes, "sha256": one.sha256}],
        "mode": "content",
    }
    for node in up.order_by("position"):
        agent = surroundings().agent(node)
        try:
            job = agent.ensure_job(name, "verify-objects", parameters, wait_seconds=1)
            if job.state == "running":
                return Wait(0, f"{node.name} to read an object", None)
            agent.delete_job(name)
        except AgentError:
            continue
        if job.state == "succeeded":
            found: Sequence[dict[str, str]] = job.result["bad"]
            return found[0]["reason"] if found else ""
    return None


def _read_here(backup: Backup, one: BackupObject) -> str | Wait:
    if (one.stored_bytes or 0) > _LARGEST_HERE:
        # Its size was looked at; to read so much in one go is a node's work.
        return ""
    with in_words():
        return _wrong_with(open_store(one.location, backup.organisation_id), one)


def _wrong_with(store: Store, one: BackupObject) -> str:
    digest = hashlib.sha256()
    try:
        for piece in store.chunks(_name(one)):
            digest.update(piece)
    except ObjectMissing:
        return "missing"
    return "" if digest.hexdigest() == one.sha256 else "content"


def _name(one: BackupObject) -> str:
    return object_name(one.key)


def object_name(key: str) -> str:
    return f"objects/{key[:2]}/{key}"


def _found(every: QuerySet[BackupObject], total: int, well: str) -> str:
    return _bad(every) if every.exclude(bad="").exists() else f"all {total:,} objects {well}"


def _bad(every: QuerySet[BackupObject]) -> str:
    bad = list(every.exclude(bad="").order_by("id")[:1])
    return f"{every.exclude(bad='').count():,} objects are damaged, first {bad[0].key} ({bad[0].bad})"


def _backup(context: StepContext) -> Backup:
    return Backup.objects.select_related("location", "cluster").get(id=context.operation.parameters["backup"])


CODE = OperationCode(
    kind="verify_backup",
    steps={
        "verify_manifests": StepCode(do=verify_manifests),
        "verify_sizes": StepCode(do=verify_sizes),
        "verify_contents": StepCode(do=verify_contents),
    },
)
