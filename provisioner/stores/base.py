"""Where backups are kept, as the control plane uses it: small objects (manifests), sizes, lists and deletions.

Nodes send and fetch what is big themselves; the agent has its own way to the same stores (docs/agent-api.md). Names
are relative to the place that a `StoreSpec` describes: parts of `[A-Za-z0-9._-]` joined by slashes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
PROBE = "probe"
"""Begins the names of what `probe` writes and takes away again."""


class StoreError(Exception):
    """A store did not do what was asked. `hint` says what to do. `retryable`: it may be different in a while."""

    code = "store-error"
    retryable = True

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class StoreUnreachable(StoreError):
    """No answer, or one that the store takes back later (500, slow down)."""

    code = "store-unreachable"


class StoreRefused(StoreError):
    """The credentials do not allow it, or they are wrong."""

    code = "store-refused"
    retryable = False


class StoreMissing(StoreError):
    """The bucket or the folder is not there."""

    code = "store-missing"
    retryable = False


class StoreFull(StoreError):
    code = "store-full"


class ObjectMissing(StoreError):
    """There is no object of this name."""

    code = "object-missing"
    retryable = False


@dataclass(frozen=True, kw_only=True)
class StoreSpec:
    """A place: a folder, or what begins with `prefix` in a bucket.

    Without a key the surroundings are asked for credentials (an instance's role, the environment).
    """

    kind: str
    """folder, s3 or gcs."""
    folder: str = ""
    bucket: str = ""
    prefix: str = ""
    """Without slashes around it; empty: the whole bucket or folder."""
    region: str = ""
    endpoint: str = ""
    """Of an S3-compatible server, or an emulator; empty: the cloud's own."""
    access_key_id: str = ""
    secret_access_key: str = field(default="", repr=False)
    service_account: str = field(default="", repr=False)
    """gcs: the key of a service account, as Google hands it out."""
    object_lock: str = ""
    """governance or compliance: how `lock` locks, and deletions take all versions; empty: no locks."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """An object. `size` in bytes."""

    name: str
    size: int
    modified_at: datetime


@dataclass(frozen=True, kw_only=True)
class Part:
    """Of an upload. `number` counts from 0; `begin`, `length` and `size`, that of the whole object, are in bytes."""

    number: int
    begin: int
    length: int
    size: int


class Store(Protocol):
    """Every call raises StoreError, is answered within some three seconds, and may be repeated."""

    def put(self, name: str, content: bytes) -> None:
        """Store a small object whole, in the place of one that is there: nobody ever sees half of it."""
        ...

    def get(self, name: str) -> bytes:
        """Raises ObjectMissing."""
        ...

    def chunks(self, name: str) -> Iterator[bytes]:
        """The object piece by piece, for what is big. Raises ObjectMissing at the first piece."""
        ...

    def size(self, name: str) -> int | None:
        """In bytes; None: there is no such object."""
        ...

    def delete(self, names: Sequence[str]) -> None:
        """What is not there any more counts as deleted. At most 1,000 at once."""
        ...

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stored]:
        """All whose names begin with `prefix` and come after the name `after`, in the order of their names."""
        ...

    def read(self, name: str, begin: int, length: int) -> bytes:
        """Bytes of an object from `begin` on, fewer at its end. Raises ObjectMissing."""
        ...

    def begin_upload(self, name: str, size: int) -> str:
        """Names an upload of an object of `size` bytes in parts; nobody sees it before it is finished."""
        ...

    def put_part(self, name: str, upload: str, part: "Part", content: bytes) -> str:
        """A receipt, to be given back at the end. Parts come in their order; storing one twice is storing it once.

        All parts but the last have one size, whole MiB and at least five.
        """
        ...

    def copy_part(self, source: "Store", name: str, upload: str, part: "Part") -> str | None:
        """As put_part, from an object of the same name in `source`, by the service itself. None: it cannot."""
        ...

    def finish_upload(self, name: str, upload: str, receipts: Sequence[str]) -> None:
        """Puts the object in its place. Raises ObjectMissing when there is no such upload (any more)."""
        ...

    def abort_upload(self, name: str, upload: str) -> None:
        """What is not there any more counts as given up."""
        ...

    def lock(self, name: str, until: datetime) -> None:
        """Nobody deletes or changes the object before; never made shorter. Raises ObjectMissing, StoreRefused."""
        ...

    def check_lock(self) -> None:
        """StoreRefused says why objects cannot be locked here."""
        ...

    def probe(self) -> None:
        """Write a small object, read it back and take it away. StoreError says why that does not work."""
        ...


def checked(name: str) -> str:
    """The name, when it is one. ValueError."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an object")
    return name
