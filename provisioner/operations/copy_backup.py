"""Copies a complete backup to a second location: objects that are not there, then manifests, that of the backup last.

Small objects go through the worker whole, larger ones in parts; between buckets of one service the service copies. What
goes through the worker is verified on the way: a whole object by its SHA-256, a part by its encrypted chunks.
"""

import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from backend.backups import copies, objects, progress, vault_keys
from backend.backups.models import BackupCopy, BackupObject
from backend.backups.objects import BeingDeleted
from backend.backups.states import BackupState
from backend.backups.words import size_of
from backend.operations.models import Operation
from provisioner.agent.bundle_format import BundleKeys, DamagedObjectError, WrongKeyError, around, check_chunks
from provisioner.operations.backup_store import (
    DamagedManifest,
    check_manifests,
    in_words,
    key_for,
    manifests_of,
    open_store,
)
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.object_lock import lock_objects
from provisioner.operations.verify_backup import object_name
from provisioner.stores.base import ObjectMissing, Part, Store, StoreUnreachable

_MIB = 1 << 20
PART_BYTES = 8 * _MIB
"""Objects up to this go whole."""
SERVICE_PART_BYTES = 64 * _MIB
_MOST_PARTS = 9_000
_SMALL_AT_ONCE = 32
_THREADS = 8
# A step is to be back within three seconds; a part that takes long is the last one of its call.
_BUDGET = 1.0


class _Changed(Exception):
    """An object in the first location is not what was written."""

    def __init__(self, source: BackupObject, reason: str) -> None:
        super().__init__(reason)
        self.source, self.reason = source, reason


def check_copy(context: StepContext) -> Outcome:
    copy = _copy(context)
    if copy.backup.state != BackupState.COMPLETE:
        return _give_up(context)
    with in_words():
        source, target = _stores(copy)
        target.probe()
        try:
            check_manifests(source, key_for(copy.backup), copy.backup)
        except DamagedManifest as error:
            progress.manifests_verified(copy.backup_id, damaged=error.name)
            raise Blocked("backup-damaged", str(error), "Cancel; the next backup is copied.") from error
    return Done("both locations answer")


def refer_objects(context: StepContext) -> Outcome:
    copy = _copy(context)
    try:
        more = copies.refer(copy.id)
    except BeingDeleted:
        return Wait(2, "objects that are just being deleted there to be gone")
    if more:
        return Wait(0, "what is there already to be found out")
    return Done(f"{copies.left(copy):,} objects are not there yet")


def forget_entries(context: StepContext) -> Outcome:
    copies.forget_entries(context.operation.parameters["copy"])
    return Done()


def copy_objects(context: StepContext) -> Outcome:
    """Some objects, or some parts of one; what is there is written down before the next."""
    copy = _copy(context)
    if copy.backup.state != BackupState.COMPLETE:
        return _give_up(context)
    wanted = copies.to_store(copy, at_most=_SMALL_AT_ONCE)
    if not wanted:
        return Done(f"{size_of(copy.copied_bytes)} were not there")
    began = time.monotonic()
    try:
        with in_words():
            moved = _move(copy, wanted)
    except _Changed as changed:
        objects.looked_at([changed.source.id], bad={changed.source.key: changed.reason}, contents=True)
        raise Blocked(
            "object-damaged",
            f"The object {changed.source.key} in {copy.backup.location.name} is damaged ({changed.reason}).",
            "Make a backup: what a node still has is stored anew, then retry. Or cancel; the next backup is copied.",
        ) from changed
    rate = copy.backup.rate_mib_per_second
    rest = moved / (rate * _MIB) - (time.monotonic() - began) if rate else 0.0
    copy.refresh_from_db()
    share = copy.copied_bytes / max(copy.bytes, 1)
    return Wait(max(rest, 0.0), f"{size_of(copy.copied_bytes)} of at most {size_of(copy.bytes)}", min(share, 1.0))


def _move(copy: BackupCopy, wanted: Sequence[tuple[BackupObject, BackupObject]]) -> int:
    """How many bytes went."""
    small = [pair for pair in wanted if (pair[1].stored_bytes or 0) <= PART_BYTES]
    if small:
        first, second = _stores(copy)
        with ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(lambda pair: _move_whole(first, second, pair[1]), small))
        copies.stored(copy.id, small)
        return sum(source.stored_bytes or 0 for _, source in small)
    return _move_parts(copy, *wanted[0])


def _move_whole(first: Store, second: Store, source: BackupObject) -> None:
    name = object_name(source.key)
    try:
        content = first.get(name)
    except ObjectMissing as error:
        raise _Changed(source, "missing") from error
    if hashlib.sha256(content).hexdigest() != source.sha256:
        raise _Changed(source, "content")
    second.put(name, content)


def _move_parts(copy: BackupCopy, there: BackupObject, source: BackupObject) -> int:
    first, second = _stores(copy)
    name, size = object_name(source.key), source.stored_bytes or 0
    transfer = _transfer(copy, first, second, source)
    moved, began = 0, time.monotonic()
    try:
        while (part := _next_part(transfer, size)) is not None and (not moved or time.monotonic() - began < _BUDGET):
            receipt = second.copy_part(first, name, transfer["upload"], part) if transfer["by_service"] else None
            receipt = receipt or _through(copy, first, second, source, transfer["upload"], part)
            transfer["receipts"].append(receipt)
            copies.transferred(copy.id, transfer)
            moved += part.length
        if part is None:
            second.finish_upload(name, transfer["upload"], transfer["receipts"])
            if second.size(name) != size:
                raise ObjectMissing(f"{name} has another size in {copy.location.name} than it had.")
            copies.stored(copy.id, [(there, source)])
    except ObjectMissing as error:
        # The upload is over, as services end those that take long; or it was finished and not written down.
        copies.transferred(copy.id, {})
        raise StoreUnreachable(f"{error.message} It begins anew.") from error
    return moved


def _transfer(copy: BackupCopy, first: Store, second: Store, source: BackupObject) -> dict[str, Any]:
    if copy.transfer.get("key") == source.key:
        return dict(copy.transfer)
    name, size = object_name(source.key), source.stored_bytes or 0
    if first.size(name) != size:
        raise _Changed(source, "missing" if first.size(name) is None else "size")
    upload = second.begin_upload(name, size)
    part_bytes = _part_bytes(size, SERVICE_PART_BYTES)
    part = Part(number=0, begin=0, length=min(part_bytes, size), size=size)
    receipt = second.copy_part(first, name, upload, part)
    transfer = {"key": source.key, "upload": upload, "by_service": receipt is not None}
    transfer["part_bytes"] = part_bytes if receipt else _part_bytes(size, PART_BYTES)
    transfer["receipts"] = [receipt] if receipt else []
    copies.transferred(copy.id, transfer)
    return transfer


def _part_bytes(size: int, usual: int) -> int:
    """So that there are not more parts than a service takes."""
    return max(usual, -(-size // _MOST_PARTS // _MIB) * _MIB)


def _next_part(transfer: dict[str, Any], size: int) -> Part | None:
    number = len(transfer["receipts"])
    begin = number * transfer["part_bytes"]
    if begin >= size:
        return None
    return Part(number=number, begin=begin, length=min(transfer["part_bytes"], size - begin), size=size)


def _through(copy: BackupCopy, first: Store, second: Store, source: BackupObject, upload: str, part: Part) -> str:
    """Read with the chunks that it is in, verified, and stored."""
    name = object_name(source.key)
    begin, length = around(part.size, part.begin, part.length)
    try:
        content = first.read(name, begin, length)
    except ObjectMissing as error:
        raise _Changed(source, "missing") from error
    keys = BundleKeys.derive(vault_keys.encryption(key_for(copy.backup))["key"])
    try:
        check_chunks(keys, source.key, part.size, begin, content)
    except (DamagedObjectError, WrongKeyError) as error:
        raise _Changed(source, "content") from error
    offset = part.begin - begin
    return second.put_part(name, upload, part, content[offset : offset + part.length])


def stop_copying(context: StepContext) -> Outcome:
    copy = _copy(context)
    if copy.transfer:
        with in_words():
            _stores(copy)[1].abort_upload(object_name(copy.transfer["key"]), copy.transfer["upload"])
        copies.transferred(copy.id, {})
    return Done()


def copy_manifests(context: StepContext) -> Outcome:
    """Byte for byte; checked in their new place before the copy counts."""
    copy = _copy(context)
    if copy.backup.state != BackupState.COMPLETE:
        return _give_up(context)
    with in_words():
        source, target = _stores(copy)
        for name in manifests_of(copy.backup):
            target.put(name, source.get(name))
        try:
            check_manifests(target, key_for(copy.backup), copy.backup)
        except DamagedManifest as error:
            raise Blocked("backup-damaged", str(error), "Retry; or cancel, and the next backup is copied.") from error
    copies.finished(copy.id)
    return Done("it is complete there")


def delete_manifests(context: StepContext) -> Outcome:
    copy = _copy(context)
    with in_words():
        delete_manifests_of(copy)
    return Done()


def delete_manifests_of(copy: BackupCopy) -> None:
    """That of the backup first."""
    open_store(copy.location, copy.backup.organisation_id).delete(manifests_of(copy.backup)[::-1])


def _give_up(context: StepContext) -> Outcome:
    progress.give_up(context.operation)
    return Wait(1, "the backup is being deleted")


def _copy(context: StepContext) -> BackupCopy:
    rows = BackupCopy.objects.select_related("backup__location", "backup__cluster", "location")
    return rows.get(id=context.operation.parameters["copy"])


def _stores(copy: BackupCopy) -> tuple[Store, Store]:
    organisation = copy.backup.organisation_id
    return open_store(copy.backup.location, organisation), open_store(copy.location, organisation)


def _cancelled(operation: Operation) -> None:
    copies.cancelled(operation.parameters["copy"])


CODE = OperationCode(
    kind="copy_backup",
    steps={
        "check_copy": StepCode(do=check_copy),
        "refer_objects": StepCode(do=refer_objects, undo=forget_entries),
        "copy_objects": StepCode(do=copy_objects, undo=stop_copying),
        "copy_manifests": StepCode(do=copy_manifests, undo=delete_manifests),
        "lock_objects": StepCode(do=lock_objects),
    },
    on_cancelled=_cancelled,
)
