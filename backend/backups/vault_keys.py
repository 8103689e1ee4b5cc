"""What backups keep in the vault: the key of each organisation, and how to sign in at each location."""

import base64
import hmac
import json
import secrets
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.db import transaction

from backend.accounts.models import Organisation
from backend.backups.models import BackupLocation
from backend.clusters import vault
from backend.clusters.states import SecretPurpose

KEY_BYTES = 32


class DocumentChanged(Exception):
    """A manifest does not open."""


@transaction.atomic
def ensure_key(organisation_id: str) -> bytes:
    """The organisation's key; made at its first backup, and never changed: what it encrypted must be readable."""
    # Two first backups at once must not make two keys.
    Organisation.objects.select_for_update().get(id=organisation_id)
    found = vault.find(organisation_id, SecretPurpose.BACKUP_KEY)
    if found is not None:
        return vault.opened(found)
    key = secrets.token_bytes(KEY_BYTES)
    vault.keep(organisation_id, SecretPurpose.BACKUP_KEY, key)
    return key


def key_of(organisation_id: str) -> bytes:
    """Raises vault.SecretMissing."""
    return vault.read(organisation_id, SecretPurpose.BACKUP_KEY)


def key_id(key: bytes) -> str:
    """A short name for a key that does not tell anything about it: docs/backup-format.md."""
    return hmac.digest(key, b"ringmaster/backup/key-id/1", "sha256")[:8].hex()


def signature(key: bytes, document: bytes) -> str:
    """Of a manifest, in hex: whoever cannot read the vault cannot make one."""
    signing = hmac.digest(key, b"ringmaster/backup/manifest/1", "sha256")
    return hmac.digest(signing, document, "sha256").hex()


def seal_document(key: bytes, name: str, content: bytes) -> bytes:
    """A manifest as it lies in a store: a nonce of 12 bytes, then AES-256-GCM, with its name as additional data."""
    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(_document_key(key)).encrypt(nonce, content, name.encode())


def open_document(key: bytes, name: str, sealed: bytes) -> bytes:
    """Raises DocumentChanged: it was changed, or belongs to another key or name."""
    try:
        return AESGCM(_document_key(key)).decrypt(sealed[:12], sealed[12:], name.encode())
    except (InvalidTag, ValueError) as error:
        raise DocumentChanged(f"{name} was changed, or is not of this organisation") from error


def _document_key(key: bytes) -> bytes:
    return hmac.digest(key, b"ringmaster/backup/document/1", "sha256")


def encryption(key: bytes) -> dict[str, str]:
    """As the agent's jobs take it."""
    return {"key": base64.b64encode(key).decode()}


def keep_credentials(location_id: str, credentials: dict[str, str]) -> None:
    vault.keep(location_id, SecretPurpose.STORE_CREDENTIALS, json.dumps(credentials).encode())


def forget_credentials(location_id: str) -> None:
    vault.destroy(location_id, SecretPurpose.STORE_CREDENTIALS)


def store_of(location: BackupLocation, organisation_id: str) -> dict[str, Any]:
    """The place of an organisation in a location, with what is needed to sign in: as agents and stores take it.

    In the operator's location everything of an organisation begins with its id.
    """
    if location.organisation_id not in (None, organisation_id):
        raise LookupError(f"the backup location {location.id} does not belong to {organisation_id}")
    parts = [location.prefix, organisation_id if location.organisation_id is None else ""]
    place: dict[str, Any] = {
        "kind": location.kind,
        "folder": location.folder,
        "bucket": location.bucket,
        "prefix": "/".join(part for part in parts if part),
        "region": location.region,
        "endpoint": location.endpoint,
        # Servers that only speak like S3 seldom answer to names of hosts.
        "path_style": location.kind == "s3" and bool(location.endpoint),
    }
    found = vault.find(location.id, SecretPurpose.STORE_CREDENTIALS)
    if found is not None:
        place |= json.loads(vault.opened(found))
    return {name: value for name, value in place.items() if value}
