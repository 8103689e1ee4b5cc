"""A backup's place, and its manifests: what the control plane itself reads and writes there.

manifests/<cluster>/<backup>/nodes/<node>   encrypted: the bundles of a node
manifests/<cluster>/<backup>/schema         encrypted: what describe-schema told
manifests/<cluster>/<backup>/manifest.json  signed, written last: what the backup is made of
"""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from backend.backups import vault_keys
from backend.backups.models import Backup, BackupLocation, BackupNode
from backend.backups.vault_keys import DocumentChanged
from backend.clusters.vault import SecretMissing
from provisioner.operations.base import Blocked
from provisioner.operations.surroundings import surroundings
from provisioner.stores.base import ObjectMissing, Store, StoreError, StoreSpec

FORMAT = 1
_WORDS = frozenset(field.name for field in fields(StoreSpec))


class DamagedManifest(Exception):
    """A manifest is missing or changed; `name` is its."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"The manifest {name} {why}.")
        self.name = name


def open_store(location: BackupLocation, organisation_id: str) -> Store:
    place = vault_keys.store_of(location, organisation_id)
    words = {name: value for name, value in place.items() if name in _WORDS}
    return surroundings().store(StoreSpec(**words, object_lock=location.object_lock))


@contextmanager
def in_words() -> Iterator[None]:
    """What a store says for good is for a person to decide; the rest is tried again."""
    try:
        yield
    except StoreError as error:
        if error.retryable:
            raise
        raise Blocked(error.code, error.message, error.hint or "Correct the backup location, then retry.") from error


def key_for(backup: Backup) -> bytes:
    """The key that the backup is encrypted with. Blocked when the organisation has another one, or none."""
    try:
        key = vault_keys.key_of(backup.organisation_id)
    except SecretMissing:
        key = b""
    if vault_keys.key_id(key) != backup.key_id:
        raise Blocked(
            "wrong-key",
            f"The backup is encrypted with the key {backup.key_id}, and the organisation has another one.",
            "Bring the control plane's database and master key back that it was made with.",
        )
    return key


def folder_of(backup: Backup) -> str:
    return f"manifests/{backup.cluster_id}/{backup.id}"


def node_manifest_name(node: BackupNode) -> str:
    return f"{folder_of(node.backup)}/nodes/{node.node_id}"


def schema_name(backup: Backup) -> str:
    return f"{folder_of(backup)}/schema"


def manifest_name(backup: Backup) -> str:
    return f"{folder_of(backup)}/manifest.json"


def manifests_of(backup: Backup) -> list[str]:
    """Names of all that were written; that of the backup last."""
    folder = folder_of(backup)
    written = backup.nodes.exclude(manifest_sha256="").order_by("id").values_list("node_id", flat=True)
    return [f"{folder}/schema", *(f"{folder}/nodes/{node}" for node in written), manifest_name(backup)]


def put_sealed(store: Store, key: bytes, name: str, document: Mapping[str, Any]) -> str:
    """SHA-256 of what was written."""
    packed = gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 5, mtime=0)
    sealed = vault_keys.seal_document(key, name, packed)
    store.put(name, sealed)
    return hashlib.sha256(sealed).hexdigest()


def get_sealed(store: Store, key: bytes, name: str, *, sha256: str) -> dict[str, Any]:
    """Raises DamagedManifest."""
    sealed = _get(store, name)
    if hashlib.sha256(sealed).hexdigest() != sha256:
        raise DamagedManifest(name, "was changed after it was written")
    try:
        found: dict[str, Any] = json.loads(gzip.decompress(vault_keys.open_document(key, name, sealed)))
    except DocumentChanged as error:
        raise DamagedManifest(name, "does not open with the organisation's key") from error
    return found


def put_signed(store: Store, key: bytes, name: str, document: Mapping[str, Any]) -> str:
    """SHA-256 of what was written."""
    body = _canonical(document)
    signed = json.dumps({"document": document, "signature": vault_keys.signature(key, body)}, indent=1).encode()
    store.put(name, signed)
    return hashlib.sha256(signed).hexdigest()


def get_signed(store: Store, key: bytes, name: str) -> dict[str, Any]:
    """Raises DamagedManifest."""
    try:
        signed = json.loads(_get(store, name))
        document: dict[str, Any] = signed["document"]
        signature = signed["signature"]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedManifest(name, "cannot be read") from error
    if signature != vault_keys.signature(key, _canonical(document)):
        raise DamagedManifest(name, "is not signed with the organisation's key, or was changed")
    return document


def check_manifests(store: Store, key: bytes, backup: Backup) -> dict[str, Any]:
    """The backup's document, when it, the schema and all nodes' manifests are what was written. DamagedManifest."""
    document = get_signed(store, key, manifest_name(backup))
    if document["backup"] != backup.id:
        raise DamagedManifest(manifest_name(backup), f"is that of {document['backup']}")
    get_sealed(store, key, document["schema"]["name"], sha256=document["schema"]["sha256"])
    for node in document["nodes"]:
        if node["manifest"]:
            get_sealed(store, key, node["manifest"], sha256=node["sha256"])
    return document


def _canonical(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _get(store: Store, name: str) -> bytes:
    try:
        return store.get(name)
    except ObjectMissing as error:
        raise DamagedManifest(name, "is missing") from error
