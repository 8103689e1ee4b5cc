"""Which code belongs to which kind of store. The only place that knows all kinds."""

from collections.abc import Callable

from provisioner.stores.base import Store, StoreSpec
from provisioner.stores.folder import FolderStore
from provisioner.stores.gcs import GcsStore
from provisioner.stores.s3 import S3Store

_KINDS: dict[str, Callable[[StoreSpec], Store]] = {"folder": FolderStore, "s3": S3Store, "gcs": GcsStore}


def store(spec: StoreSpec) -> Store:
    """Raises StoreError where credentials are missing or cannot be read."""
    return _KINDS[spec.kind](spec)
