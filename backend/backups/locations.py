"""The operator's own location: what the environment says, as a row."""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings

from backend.backups import vault_keys
from backend.backups.models import BackupLocation

NAME = "This installation"


class BadStore(ValueError):
    """RINGMASTER_BACKUP_STORE is not understood."""


def read(url: str) -> dict[str, str]:
    """The columns of a location. `file:///folder`, `s3://bucket/prefix?region=…&endpoint=…`, `gs://bucket/prefix`."""
    found = _place(url)
    lock = dict(parse_qsl(urlsplit(url).query)).get("object_lock", "")
    if lock not in ("", "governance", "compliance") or (lock and found["kind"] == "folder"):
        raise BadStore("object_lock in RINGMASTER_BACKUP_STORE is governance or compliance, for buckets only")
    return found | ({"object_lock": lock} if lock else {})


def _place(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    match parts.scheme:
        case "file" if parts.path.startswith("/"):
            return {"kind": "folder", "folder": parts.path}
        case "s3" if parts.netloc:
            place = {"kind": "s3", "bucket": parts.netloc, "prefix": parts.path.strip("/")}
            return place | {name: given[name] for name in ("region", "endpoint") if name in given}
        case "gs" if parts.netloc:
            return {"kind": "gcs", "bucket": parts.netloc, "prefix": parts.path.strip("/")}
        case _:
            raise BadStore("RINGMASTER_BACKUP_STORE must be file:///folder, s3://bucket/prefix or gs://bucket/prefix")


def ensure_operators() -> BackupLocation | None:
    """Makes or corrects the row. A folder is made. None: the environment names no store.

    Where backups are already, kind, folder, bucket and prefix stay: their objects would not be found any more.
    """
    url = settings.ENV.ringmaster_backup_store
    if not url:
        return None
    place = {"folder": "", "bucket": "", "prefix": "", "region": "", "endpoint": "", "object_lock": ""} | read(url)
    row = BackupLocation.objects.filter(organisation=None, deleted_at=None).first()
    if row is None:
        row = BackupLocation.objects.create(organisation=None, name=NAME, created_by="the installation", **place)
    elif moved := _moved(row, place):
        raise BadStore(
            f"RINGMASTER_BACKUP_STORE changes the {moved} of a location that has backups in it. "
            "Bring the old value back; or delete the backups first."
        )
    else:
        BackupLocation.objects.filter(id=row.id).update(**place)
    if row.kind == "folder":
        Path(place["folder"]).mkdir(parents=True, exist_ok=True)
    if credentials := settings.ENV.backup_store_credentials():
        vault_keys.keep_credentials(row.id, credentials)
    else:
        vault_keys.forget_credentials(row.id)
    return row


def _moved(row: BackupLocation, place: dict[str, str]) -> str:
    if not row.stored_objects.exists():
        return ""
    return next((name for name in ("kind", "folder", "bucket", "prefix") if getattr(row, name) != place[name]), "")
