"""Objects of backups as docs/backup-format.md describes them: one SSTable each, named by its content, encrypted.

The real ones are written by the agents; this is the same format once more, for the pretended agents, and for whoever
wants to open an object without one.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC = b"RMBUNDL1"
CHUNK_BYTES = 1 << 20
_KEY_ID_BYTES = 8
_TAG_BYTES = 16
_LONGEST_HEADER_BYTES = 1 << 20


class DamagedObjectError(Exception):
    """The bytes are not those of a whole object."""


class WrongKeyError(Exception):
    """The object was encrypted with another key."""


@dataclass(frozen=True)
class BundleKeys:
    """What is derived from a backup key, 32 bytes in base64. ValueError when it is something else."""

    content: bytes
    objects: bytes
    key_id: bytes

    @classmethod
    def derive(cls, key: str) -> "BundleKeys":
        secret = base64.b64decode(key, validate=True)
        if len(secret) != 32:
            raise ValueError("a backup key is 32 bytes in base64")
        return cls(
            content=_hmac(secret, b"ringmaster/backup/content/1"),
            objects=_hmac(secret, b"ringmaster/backup/object/1"),
            key_id=_hmac(secret, b"ringmaster/backup/key-id/1")[:_KEY_ID_BYTES],
        )

    def __repr__(self) -> str:
        return f"BundleKeys({self.key_id.hex()})"


def bundle_key(keys: BundleKeys, sstable_format: str, components: Mapping[str, bytes]) -> str:
    """64 hexadecimal digits: the same for the same content under the same key. `sstable_format`: such as "nb-big"."""
    lines = [sstable_format]
    lines += [f"{name} {len(content)} {_sha256(content)}" for name, content in sorted(components.items())]
    return _hmac(keys.content, "".join(f"{line}\n" for line in lines).encode()).hex()


def object_name(key: str) -> str:
    """Below the store's prefix."""
    return f"objects/{key[:2]}/{key}"


def stored_bytes(sstable_format: str, components: Mapping[str, bytes]) -> int:
    """How long the object is."""
    plain = len(_plain(sstable_format, components))
    return len(MAGIC) + _KEY_ID_BYTES + plain + _TAG_BYTES * -(-plain // CHUNK_BYTES)


def sealed(keys: BundleKeys, sstable_format: str, components: Mapping[str, bytes]) -> bytes:
    plain = _plain(sstable_format, components)
    start = MAGIC + keys.key_id
    cipher = AESGCM(_hmac(keys.objects, bundle_key(keys, sstable_format, components).encode()))
    out = [start]
    pieces = [plain[at : at + CHUNK_BYTES] for at in range(0, len(plain), CHUNK_BYTES)]
    for number, piece in enumerate(pieces):
        out.append(cipher.encrypt(_nonce(number, last=number == len(pieces) - 1), piece, start))
    return b"".join(out)


def around(size: int, begin: int, length: int) -> tuple[int, int]:
    """Begin and length of the whole chunks of an object of `size` bytes that a part of it touches."""
    start, sealed_chunk = len(MAGIC) + _KEY_ID_BYTES, CHUNK_BYTES + _TAG_BYTES
    first = max(0, begin - start) // sealed_chunk
    last = max(0, begin + length - 1 - start) // sealed_chunk
    chunks_begin = 0 if begin < start else start + first * sealed_chunk
    return chunks_begin, min(size, start + (last + 1) * sealed_chunk) - chunks_begin


def check_chunks(keys: BundleKeys, key: str, size: int, begin: int, content: bytes) -> None:
    """That chunks of an object are what was written, at their place: `begin` is as `around` tells it.

    DamagedObjectError, WrongKeyError.
    """
    start, sealed_chunk = MAGIC + keys.key_id, CHUNK_BYTES + _TAG_BYTES
    if begin == 0:
        if content[: len(MAGIC)] != MAGIC:
            raise DamagedObjectError("it does not begin as an object does")
        if content[: len(start)] != start:
            raise WrongKeyError("it was encrypted with another key")
        begin, content = len(start), content[len(start) :]
    cipher = AESGCM(_hmac(keys.objects, key.encode()))
    number = (begin - len(start)) // sealed_chunk
    for at in range(0, len(content), sealed_chunk):
        piece = content[at : at + sealed_chunk]
        try:
            cipher.decrypt(_nonce(number, last=begin + at + len(piece) == size), piece, start)
        except (InvalidTag, ValueError) as error:
            raise DamagedObjectError("its bytes were changed") from error
        number += 1


def opened(keys: BundleKeys, key: str, content: bytes) -> tuple[str, dict[str, bytes]]:
    """The SSTable's format and its components. DamagedObjectError, WrongKeyError."""
    start, rest = content[: len(MAGIC) + _KEY_ID_BYTES], content[len(MAGIC) + _KEY_ID_BYTES :]
    if start[: len(MAGIC)] != MAGIC:
        raise DamagedObjectError("it does not begin as an object does")
    if start[len(MAGIC) :] != keys.key_id:
        raise WrongKeyError("it was encrypted with another key")
    cipher = AESGCM(_hmac(keys.objects, key.encode()))
    plain = bytearray()
    sealed_chunk = CHUNK_BYTES + _TAG_BYTES
    pieces = [rest[at : at + sealed_chunk] for at in range(0, len(rest), sealed_chunk)]
    try:
        for number, piece in enumerate(pieces):
            plain += cipher.decrypt(_nonce(number, last=number == len(pieces) - 1), piece, start)
    except (InvalidTag, ValueError) as error:
        raise DamagedObjectError("its bytes were changed") from error
    return _components(keys, key, bytes(plain))


def _components(keys: BundleKeys, key: str, plain: bytes) -> tuple[str, dict[str, bytes]]:
    length = int.from_bytes(plain[:4])
    if length > _LONGEST_HEADER_BYTES or 4 + length > len(plain):
        raise DamagedObjectError("its header is cut")
    header = json.loads(plain[4 : 4 + length])
    at, components = 4 + length, {}
    for component in header["components"]:
        components[component["name"]] = plain[at : at + component["size"]]
        at += component["size"]
    if at != len(plain) or bundle_key(keys, header["format"], components) != key:
        raise DamagedObjectError("its content is not what its name says")
    return header["format"], components


def _plain(sstable_format: str, components: Mapping[str, bytes]) -> bytes:
    listed = [
        {"name": name, "size": len(content), "sha256": _sha256(content)} for name, content in sorted(components.items())
    ]
    header = json.dumps({"format": sstable_format, "components": listed}, separators=(",", ":")).encode()
    return len(header).to_bytes(4) + header + b"".join(content for _, content in sorted(components.items()))


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11) + bytes([last])


def _hmac(secret: bytes, text: bytes) -> bytes:
    return hmac.digest(secret, text, "sha256")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
