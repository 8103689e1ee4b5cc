"""Holds the store's list against the index, page by page: see backend/backups/listing.py. Nothing is deleted here."""

import re
from itertools import islice

from backend.backups import listing
from backend.backups.listing import Listed
from backend.backups.models import BackupPlace
from provisioner.operations.backup_store import in_words, open_store
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.stores.base import Store

PAGE = 1000
_OBJECT = re.compile(r"objects/[0-9a-f]{2}/([0-9a-f]{64})")
_MANIFEST = re.compile(r"manifests/[^/]+/([^/]+)/manifest\.json")


def list_backups(context: StepContext) -> Outcome:
    place = _place(context)
    with in_words():
        names = (found.name for found in _store(place).list("manifests/"))
        ids = {found[1] for name in names if (found := _MANIFEST.fullmatch(name))}
    foreign = listing.backups_seen(place.id, ids)
    if foreign:
        return Done(f"{foreign} backups are not of this control plane: what it does not know is left alone")
    return Done(f"{len(ids):,} backups")


def list_objects(context: StepContext) -> Outcome:
    place = _place(context)
    with in_words():
        page = list(islice(_store(place).list("objects/", after=place.cursor), PAGE))
    found = [
        Listed(key=key[1], size=one.size, modified_at=one.modified_at)
        for one in page
        if (key := _OBJECT.fullmatch(one.name))
    ]
    last = len(page) < PAGE
    cursor = "" if last else page[-1].name
    listing.compared(
        place.id,
        found,
        after=_key(place.cursor),
        upto=_key(cursor),
        cursor=cursor,
        begun=context.operation.created_at,
    )
    if not last:
        return Wait(0, f"up to {cursor}")
    listing.finished(place.id)
    place.refresh_from_db()
    return Done(f"{place.unknown_objects:,} objects that nobody knows, {place.missing_objects:,} that are not there")


def _key(name: str) -> str:
    return name.rpartition("/")[2]


def _store(place: BackupPlace) -> Store:
    return open_store(place.location, place.organisation_id)


def _place(context: StepContext) -> BackupPlace:
    return BackupPlace.objects.select_related("location").get(id=context.operation.parameters["place"])


CODE = OperationCode(
    kind="list_backup_location",
    steps={"list_backups": StepCode(do=list_backups), "list_objects": StepCode(do=list_objects)},
)
