"""What the files of master keys hold: 32 bytes in base64, or the same wrapped by a cloud's key service, as JSON.

A wrapped key is no secret. Pure, and free of Django: the settings are checked with it.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from enum import StrEnum

from backend.core.secrets import KEY_BYTES, MasterKey


class Service(StrEnum):
    AWS = "aws-kms"
    GCP = "gcp-kms"


@dataclass(frozen=True)
class WrappedKey:
    """What a file says of a key that a key service keeps closed."""

    id: str
    service: Service
    key: str
    wrapped: bytes

    def as_text(self) -> str:
        told = {"id": self.id, "service": self.service, "key": self.key, "wrapped": _text(self.wrapped)}
        return json.dumps(told, indent=2) + "\n"


def as_text(master: MasterKey) -> str:
    return _text(master.key) + "\n"


def parsed(text: str) -> MasterKey | WrappedKey:
    """What a key file holds. Raises ValueError, which says what it should hold."""
    if not text.lstrip().startswith("{"):
        try:
            key = base64.b64decode(text.strip(), validate=True)
        except binascii.Error:
            key = b""
        if len(key) != KEY_BYTES:
            raise ValueError(
                f"must hold {KEY_BYTES} bytes in base64 (make them with: openssl rand -base64 {KEY_BYTES})"
            )
        return MasterKey(key)
    try:
        told = json.loads(text)
        found = WrappedKey(
            str(told["id"]),
            Service(told["service"]),
            str(told["key"]),
            base64.b64decode(told["wrapped"], validate=True),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"must hold a wrapped key, as manage.py new_master_key writes it ({error})") from error
    check_name(found.service, found.key)
    return found


def check_name(service: Service, key: str) -> None:
    """Raises ValueError for what cannot be the name of a key of this service."""
    parts = key.split(":")
    if service is Service.AWS and not (key.startswith("arn:") and len(parts) >= 6 and parts[2] == "kms" and parts[3]):
        raise ValueError(f"{key!r} is no ARN of a key: arn:aws:kms:REGION:ACCOUNT:key/ID")
    if service is Service.GCP and (key.split("/")[::2] != ["projects", "locations", "keyRings", "cryptoKeys"]):
        raise ValueError(f"{key!r} is no name of a key: projects/P/locations/L/keyRings/R/cryptoKeys/K")


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
