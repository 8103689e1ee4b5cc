"""Envelope encryption of what is kept in Postgres but must not be readable there.

Every value gets a data key of its own (AES-256-GCM), and the data key is wrapped by the installation's master key,
which lives outside the database (master_keys.py). Owner and purpose are authenticated with both, so that a row copied
over another row does not open. The functions are pure.
"""

import hashlib
import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12


class SecretUnreadable(Exception):
    """The row was made with another master key, moved from another row, or changed."""


@dataclass(frozen=True)
class MasterKey:
    """32 bytes, and a short name derived from them by which rows say which key wraps them."""

    key: bytes

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES:
            raise ValueError(f"a master key has {KEY_BYTES} bytes, not {len(self.key)}")

    @property
    def id(self) -> str:
        return hashlib.sha256(b"ringmaster master key id|" + self.key).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"MasterKey({self.id})"


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """What goes into the database."""

    ciphertext: bytes
    wrapped_key: bytes
    master_key_id: str


def seal(master: MasterKey, plaintext: bytes, *, owner: str, purpose: str) -> Sealed:
    """Encrypts `plaintext` for one owner and purpose."""
    bound_to = _associated_data(owner, purpose)
    data_key = AESGCM.generate_key(bit_length=KEY_BYTES * 8)
    return Sealed(
        ciphertext=_encrypt(data_key, plaintext, bound_to),
        wrapped_key=_encrypt(master.key, data_key, bound_to),
        master_key_id=master.id,
    )


def unseal(master: MasterKey, sealed: Sealed, *, owner: str, purpose: str) -> bytes:
    """The plaintext again. Raises SecretUnreadable."""
    if sealed.master_key_id != master.id:
        raise SecretUnreadable(
            f"{purpose} of {owner} was encrypted with master key {sealed.master_key_id}, but this is {master.id}"
        )
    bound_to = _associated_data(owner, purpose)
    try:
        data_key = _decrypt(master.key, bytes(sealed.wrapped_key), bound_to)
        return _decrypt(data_key, bytes(sealed.ciphertext), bound_to)
    except InvalidTag as error:
        raise SecretUnreadable(f"{purpose} of {owner} was changed or belongs to another row") from error


def rewrapped(former: MasterKey, master: MasterKey, sealed: Sealed, *, owner: str, purpose: str) -> Sealed:
    """The same ciphertext, its data key wrapped by another master key. Raises SecretUnreadable."""
    bound_to = _associated_data(owner, purpose)
    try:
        data_key = _decrypt(former.key, bytes(sealed.wrapped_key), bound_to)
    except InvalidTag as error:
        raise SecretUnreadable(f"{purpose} of {owner} was changed or belongs to another row") from error
    return Sealed(
        ciphertext=sealed.ciphertext,
        wrapped_key=_encrypt(master.key, data_key, bound_to),
        master_key_id=master.id,
    )


def _associated_data(owner: str, purpose: str) -> bytes:
    if "|" in owner:
        raise ValueError("an owner's id has no '|'")
    return f"{owner}|{purpose}".encode()


def _encrypt(key: bytes, plaintext: bytes, bound_to: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, bound_to)


def _decrypt(key: bytes, data: bytes, bound_to: bytes) -> bytes:
    return AESGCM(key).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], bound_to)
