"""Keeping what must be readable for minutes and by nobody else. What is too old is not there, whether swept or not."""

import json
from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from backend.console.models import SealedText
from backend.console.states import SecretPurpose
from backend.core import master_keys
from backend.core.secrets import Sealed


def bound_purpose(purpose: str) -> str:
    """As the encryption is bound to."""
    return f"cql-{purpose}"


def keep(owner: str, purpose: SecretPurpose, content: Any, *, until: datetime) -> None:
    """`content` is JSON. It takes the place of what was kept before."""
    sealed = master_keys.sealed(json.dumps(content).encode(), owner=owner, purpose=bound_purpose(purpose))
    SealedText.objects.update_or_create(
        owner=owner,
        purpose=purpose,
        defaults={
            "ciphertext": sealed.ciphertext,
            "wrapped_key": sealed.wrapped_key,
            "master_key_id": sealed.master_key_id,
            "expires_at": until,
        },
    )


def find(owner: str, purpose: SecretPurpose) -> Any | None:
    row = SealedText.objects.filter(owner=owner, purpose=purpose, expires_at__gt=Now()).first()
    if row is None:
        return None
    sealed = Sealed(
        ciphertext=bytes(row.ciphertext), wrapped_key=bytes(row.wrapped_key), master_key_id=row.master_key_id
    )
    return json.loads(master_keys.opened(sealed, owner=owner, purpose=bound_purpose(purpose)))


def put_off(owner: str, purpose: SecretPurpose, *, until: datetime) -> None:
    SealedText.objects.filter(owner=owner, purpose=purpose).update(expires_at=until)


def forget(owner: str, *purposes: SecretPurpose) -> None:
    SealedText.objects.filter(owner=owner, purpose__in=purposes or list(SecretPurpose)).delete()
