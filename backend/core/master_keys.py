"""The installation's master keys: one that seals, and former ones that only open until all is rewrapped.

A key is a file (key_files.py), which holds it or holds it wrapped by a cloud's key service. A wrapped key is asked for
when it is first needed and forgotten after `RINGMASTER_MASTER_KEY_MINUTES`; it is asked for again at half that time, so
that a key service which is away for less than the other half is not noticed.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import structlog

from backend.core.errors import DomainError
from backend.core.key_files import Service, WrappedKey, parsed
from backend.core.key_services import KeyServiceError, unwrap, wrap
from backend.core.secrets import MasterKey, Sealed, SecretUnreadable, rewrapped, seal, unseal

_AGAIN_SECONDS = 30.0
"""How long a key service that failed is left alone while its key is still held."""

_REFUSED_SECONDS = 5.0
"""How long it is left alone otherwise: whoever needs the key is refused at once, instead of waiting in a row."""

log = structlog.get_logger(__name__)


class KeyServiceUnavailable(DomainError):
    """The key that wraps all secrets is not to be had now. Whatever needed it changed nothing and can be repeated."""

    status = 503

    def __init__(self, why: str) -> None:
        super().__init__(
            "key_service_unavailable",
            "The key service that guards this installation's secrets does not answer. Nothing was changed.",
            hint="Try again in a minute. Running clusters are not affected.",
            retry_after=60,
        )
        self.why = why

    def __str__(self) -> str:
        return f"{self.message} ({self.why})"


def wrapped_by(service: Service, key: str, master: MasterKey, *, endpoint: str = "") -> WrappedKey:
    """Raises KeyServiceError, also when what was wrapped does not open again."""
    made = WrappedKey(master.id, service, key, wrap(service, key, master.key, bound_to=master.id, endpoint=endpoint))
    opened_by_service(made, endpoint=endpoint)
    return made


def opened_by_service(wrapped: WrappedKey, *, endpoint: str = "") -> MasterKey:
    """Asks the key service. Raises KeyServiceError."""
    opened = unwrap(wrapped.service, wrapped.key, wrapped.wrapped, bound_to=wrapped.id, endpoint=endpoint)
    try:
        master = MasterKey(opened)
    except ValueError as error:
        raise KeyServiceError(f"{wrapped.key}: {error}") from error
    if master.id != wrapped.id:
        raise KeyServiceError(f"{wrapped.key} opened master key {master.id}, not {wrapped.id}")
    return master


@dataclass(frozen=True)
class _Held:
    """`key` is None after a failure. Both are of the keyring's clock, in seconds."""

    key: MasterKey | None
    until: float
    ask_again: float
    why: str = ""


class Keyring:
    """The keys of `files`, the first of which seals. Made once per process; safe for threads."""

    def __init__(
        self,
        files: Sequence[MasterKey | WrappedKey],
        *,
        held_seconds: float,
        opened: Callable[[WrappedKey], MasterKey],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = {each.id: each for each in reversed(files)}
        self.sealing_id = files[0].id
        self._held_seconds = held_seconds
        self._opened = opened
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._asking = threading.Lock()

    @property
    def ids(self) -> frozenset[str]:
        """Of all keys that open."""
        return frozenset(self._files)

    def sealing(self) -> MasterKey:
        """Raises KeyServiceUnavailable."""
        return self._key(self._files[self.sealing_id])

    def opening(self, key_id: str) -> MasterKey:
        """Raises KeyServiceUnavailable, and SecretUnreadable for a key that this installation was not given."""
        if key_id not in self._files:
            raise SecretUnreadable(
                f"it needs master key {key_id}, and here are {', '.join(sorted(self._files))}: name the file of that "
                "key in RINGMASTER_FORMER_MASTER_KEY_FILES"
            )
        return self._key(self._files[key_id])

    def _key(self, file: MasterKey | WrappedKey) -> MasterKey:
        if isinstance(file, MasterKey):
            return file
        held, now = self._held.get(file.id), self._clock()
        if held is None or now >= held.ask_again:
            with self._asking:
                held = self._held.get(file.id)
                # Another thread may have asked meanwhile.
                if held is None or now >= held.ask_again:
                    held = self._held[file.id] = self._asked(file, held, now)
        if held.key is None:
            raise KeyServiceUnavailable(held.why)
        return held.key

    def _asked(self, file: WrappedKey, held: _Held | None, now: float) -> _Held:
        try:
            key = self._opened(file)
        except KeyServiceError as error:
            if held is None or held.key is None or now >= held.until:
                return _Held(None, now, now + _REFUSED_SECONDS, why=str(error))
            left = round(held.until - now)
            log.warning("key service failed, its key is still held", key=file.key, why=str(error), seconds_left=left)
            return replace(held, ask_again=min(now + _AGAIN_SECONDS, held.until))
        return _Held(key, now + self._held_seconds, now + self._held_seconds / 2)


@lru_cache(maxsize=1)
def keyring() -> Keyring:
    """The installation's keys, from the files that its settings name. Nothing is asked of a key service yet."""
    from django.conf import settings  # here, so that the rest of the module needs no settings

    env = settings.ENV
    endpoints = {Service.AWS: env.ringmaster_aws_endpoint, Service.GCP: env.ringmaster_gcp_endpoint}
    return Keyring(
        [parsed(file.read_text()) for file in env.master_key_files()],
        held_seconds=env.ringmaster_master_key_minutes * 60,
        opened=lambda wrapped: opened_by_service(wrapped, endpoint=endpoints[wrapped.service]),
    )


def sealed(plaintext: bytes, *, owner: str, purpose: str) -> Sealed:
    """Encrypted with the key of today. Raises KeyServiceUnavailable."""
    return seal(keyring().sealing(), plaintext, owner=owner, purpose=purpose)


def opened(sealed: Sealed, *, owner: str, purpose: str) -> bytes:
    """With whichever key it was encrypted. Raises SecretUnreadable and KeyServiceUnavailable."""
    return unseal(keyring().opening(sealed.master_key_id), sealed, owner=owner, purpose=purpose)


def rewrapped_for_today(sealed: Sealed, *, owner: str, purpose: str) -> Sealed:
    """The same secret under the key of today. Raises SecretUnreadable and KeyServiceUnavailable."""
    ring = keyring()
    return rewrapped(ring.opening(sealed.master_key_id), ring.sealing(), sealed, owner=owner, purpose=purpose)
