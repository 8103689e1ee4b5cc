"""A user's own copy of a backup: addresses to fetch its objects and manifests from, and the key that opens them.

Addresses are signed here, without asking the store: each is for one object, for reading, and ends by itself.
"""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config
from django.db import transaction
from google.cloud.storage import Client
from google.oauth2 import service_account

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.backups import vault_keys
from backend.backups.models import Backup, BackupLocation, BackupObject
from backend.backups.objects import of_backup
from backend.backups.queries import backup_not_found
from backend.backups.schemas import DownloadOrder
from backend.backups.states import KEPT, CopyState
from backend.clusters.vault import SecretMissing
from backend.core.errors import Conflict

PAGE = 500
"""Objects for which one answer has addresses."""


@transaction.atomic
def addresses(who: Identity, backup_id: str, order: DownloadOrder) -> dict[str, Any]:
    """Of some objects of a backup; with the first come its manifests. Raises Forbidden, NotFound, Conflict."""
    require(who, Permission.BACKUPS_EXPORT)
    rows = Backup.objects.filter(organisation_id=who.organisation_id, id=backup_id)
    backup = rows.select_related("location").first()
    if backup is None:
        raise backup_not_found()
    if backup.state not in KEPT:
        raise Conflict("nothing_to_download", f"The backup is {backup.state}.", hint="Choose one that is complete.")
    location = _location(backup, order.location_id)
    sign = _signer(location, backup.organisation_id, seconds=order.hours * 3600)
    keys = BackupObject.objects.filter(location=location, organisation_id=backup.organisation_id)
    found = list(
        keys.filter(key__in=of_backup(backup).values("key"), key__gt=order.after or "").order_by("key")[: PAGE + 1]
    )
    wanted = [(f"objects/{one.key[:2]}/{one.key}", one.stored_bytes) for one in found[:PAGE]]
    if not order.after:
        audit.record(
            who,
            action="backup.download",
            target_type="cluster",
            target_id=backup.cluster_id,
            target_name=backup.cluster_name,
            after={"backup": backup.id, "location": location.id, "hours": order.hours},
        )
        wanted = [(name, None) for name in _manifests(backup)] + wanted
    return {
        "items": [{"name": name, "bytes": size, "url": sign(name)} for name, size in wanted],
        "expires_at": datetime.now(UTC) + timedelta(hours=order.hours),
        "next_after": found[PAGE - 1].key if len(found) > PAGE else None,
    }


def _location(backup: Backup, location_id: str | None) -> BackupLocation:
    if location_id is None or location_id == backup.location_id:
        return backup.location
    copy = backup.copies.filter(location_id=location_id, state=CopyState.COMPLETE).select_related("location").first()
    if copy is None:
        raise Conflict(
            "not_copied_there",
            "The backup has no complete copy in that location.",
            hint="get_backup lists its copies.",
            field="location_id",
        )
    return copy.location


def _manifests(backup: Backup) -> list[str]:
    folder = f"manifests/{backup.cluster_id}/{backup.id}"
    written = backup.nodes.exclude(manifest_sha256="").order_by("id").values_list("node_id", flat=True)
    return [f"{folder}/manifest.json", f"{folder}/schema", *(f"{folder}/nodes/{node}" for node in written)]


def _signer(location: BackupLocation, organisation_id: str, *, seconds: int) -> Any:
    """Takes the name of an object, and gives its address."""
    place = vault_keys.store_of(location, organisation_id)
    root = f"{place['prefix']}/" if place.get("prefix") else ""
    if location.kind == "s3" and place.get("secret_access_key"):
        client: Any = boto3.client(
            "s3",
            region_name=location.region or None,
            endpoint_url=location.endpoint or None,
            aws_access_key_id=place["access_key_id"],
            aws_secret_access_key=place["secret_access_key"],
            config=Config(signature_version="s3v4", s3={"addressing_style": "path"} if location.endpoint else {}),
        )
        return lambda name: client.generate_presigned_url(
            "get_object", Params={"Bucket": location.bucket, "Key": root + name}, ExpiresIn=seconds
        )
    if location.kind == "gcs" and place.get("service_account"):
        credentials = service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]
            json.loads(place["service_account"])
        )
        bucket = Client(project="", credentials=credentials).bucket(location.bucket)
        return lambda name: bucket.blob(root + name).generate_signed_url(
            version="v4", expiration=timedelta(seconds=seconds), method="GET"
        )
    if location.kind == "folder":
        raise Conflict(
            "no_addresses",
            "The backup is in a folder, and a folder has no addresses.",
            hint="Copy its files from there, or have it copied to a bucket as a second location.",
        )
    raise Conflict(
        "no_addresses",
        f"The location {location.name} is reached with the role of machines, and has no key to sign addresses with.",
        hint="Give the location a key of its own.",
    )


@transaction.atomic
def reveal_key(who: Identity) -> dict[str, str]:
    """The organisation's backup key: whoever has it can read every backup. Raises Forbidden, Conflict."""
    require(who, Permission.BACKUPS_EXPORT)
    try:
        key = vault_keys.key_of(who.organisation_id)
    except SecretMissing as error:
        raise Conflict("no_backup_key", "There is no key yet.", hint="It is made with the first backup.") from error
    key_id = vault_keys.key_id(key)
    audit.record(
        who,
        action="backup_key.reveal",
        target_type="organisation",
        target_id=who.organisation_id,
        after={"key_id": key_id},
    )
    return {"key_id": key_id, "key": base64.b64encode(key).decode()}
