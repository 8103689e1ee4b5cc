"""Once a week the store's own list is held against the index: what nobody knows, and what is not there.

An object without a row would never be purged; a row without its object would only be found when it is verified. All
else trusts the index.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from backend.backups import plans
from backend.backups.models import Backup, BackupLocation, BackupObject, BackupPlace
from backend.operations import actions as operations
from backend.operations.models import Operation

EVERY = timedelta(days=7)
LONGEST_UPLOAD = timedelta(days=14)
"""An object that is younger may be on its way into the index."""
UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """An object as the store lists it; `size` in bytes."""

    key: str
    size: int
    modified_at: datetime


def ensure_place(location: BackupLocation, organisation_id: str) -> None:
    BackupPlace.objects.get_or_create(
        location=location, organisation_id=organisation_id, defaults={"listing_due_at": Now() + EVERY}
    )


def due(*, at_most: int) -> list[BackupPlace]:
    rows = BackupPlace.objects.filter(listing_due_at__lte=Now(), location__deleted_at=None)
    return list(rows.select_related("location").order_by("listing_due_at")[:at_most])


@transaction.atomic
def start(place: BackupPlace, *, actor: str) -> Operation | None:
    """None: somebody else has begun it."""
    if not BackupPlace.objects.filter(id=place.id, listing_due_at=place.listing_due_at).update(
        listing_due_at=Now() + EVERY, cursor="", unknown_objects=0, missing_objects=0
    ):
        return None
    return operations.start(
        organisation_id=place.organisation_id,
        kind="list_backup_location",
        cluster_id="",
        cluster_name="",
        actor=actor,
        parameters={"location": place.location_id, "name": place.location.name, "place": place.id},
        groups=plans.listing(),
        expected_seconds=plans.LISTING_SECONDS,
    )


def backups_seen(place_id: int, backup_ids: Collection[str]) -> int:
    """Backups whose manifests lie there; how many of them are not in this database."""
    known = set(Backup.objects.filter(id__in=backup_ids).values_list("id", flat=True))
    foreign = len(set(backup_ids) - known)
    BackupPlace.objects.filter(id=place_id).update(foreign_backups=foreign)
    return foreign


@transaction.atomic
def compared(place_id: int, page: Sequence[Listed], *, after: str, upto: str, cursor: str, begun: datetime) -> None:
    """A page of the list, of the keys after `after` up to `upto` (empty: to the end). Told twice it is written once.

    What nobody knows gets a row that nothing refers to, so that a purge deletes it, and its dry run shows it; unless
    backups lie there that are not in this database: their objects would be unknown here and needed all the same.
    """
    place = BackupPlace.objects.select_for_update().get(id=place_id)
    if place.cursor == cursor and cursor:
        return
    found = {one.key: one for one in page}
    rows = BackupObject.objects.filter(location=place.location_id, organisation=place.organisation_id, key__gt=after)
    rows = rows.filter(key__lte=upto) if upto else rows
    known = set(rows.filter(key__in=found).values_list("key", flat=True))
    gone = rows.filter(stored_at__lt=begun, doomed_at=None).exclude(key__in=known).exclude(bad=UNKNOWN)
    missing = gone.update(bad="missing", verified_at=Now())
    unknown = _unknown(found, known, begun) if not place.foreign_backups else []
    BackupObject.objects.bulk_create(
        [
            BackupObject(
                location_id=place.location_id,
                organisation_id=place.organisation_id,
                key=one.key,
                bytes=one.size,
                stored_bytes=one.size,
                stored_at=one.modified_at,
                # Whoever comes to need it stores it anew.
                bad=UNKNOWN,
                unneeded_since=Now(),
            )
            for one in unknown
        ],
        ignore_conflicts=True,
    )
    BackupPlace.objects.filter(id=place_id).update(
        cursor=cursor,
        missing_objects=F("missing_objects") + missing,
        unknown_objects=F("unknown_objects") + len(unknown),
    )


def _unknown(found: Mapping[str, Listed], known: Collection[str], begun: datetime) -> list[Listed]:
    young = begun - LONGEST_UPLOAD
    return [one for key, one in sorted(found.items()) if key not in known and one.modified_at < young]


def finished(place_id: int) -> None:
    BackupPlace.objects.filter(id=place_id).update(listed_at=Now(), cursor="")
