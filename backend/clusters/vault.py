"""Secrets as rows: kept encrypted, read by who needs them, destroyed with what they belong to."""

from backend.clusters.models import Secret
from backend.clusters.states import SecretPurpose
from backend.core import master_keys
from backend.core.secrets import Sealed


class SecretMissing(LookupError):
    """There is no such secret: it was never made, or it was destroyed with its owner."""


def keep(owner: str, purpose: SecretPurpose, value: bytes, *, certificate: str = "") -> None:
    """Stores a secret in the place of the one that was there. `certificate`: PEM that goes with a key; public."""
    sealed = master_keys.sealed(value, owner=owner, purpose=purpose)
    Secret.objects.update_or_create(
        owner=owner,
        purpose=purpose,
        defaults={
            "ciphertext": sealed.ciphertext,
            "wrapped_key": sealed.wrapped_key,
            "master_key_id": sealed.master_key_id,
            "certificate": certificate,
        },
    )


def find(owner: str, purpose: SecretPurpose) -> Secret | None:
    return Secret.objects.filter(owner=owner, purpose=purpose).first()


def opened(secret: Secret) -> bytes:
    """Raises backend.core.secrets.SecretUnreadable and master_keys.KeyServiceUnavailable."""
    sealed = Sealed(
        ciphertext=bytes(secret.ciphertext), wrapped_key=bytes(secret.wrapped_key), master_key_id=secret.master_key_id
    )
    return master_keys.opened(sealed, owner=secret.owner, purpose=secret.purpose)


def read(owner: str, purpose: SecretPurpose) -> bytes:
    """Raises SecretMissing, and what `opened` raises."""
    secret = find(owner, purpose)
    if secret is None:
        raise SecretMissing(f"{owner} has no {purpose}")
    return opened(secret)


def destroy(owner: str, *purposes: SecretPurpose) -> None:
    """Destroys the named secrets of an owner, or all of them when none is named."""
    rows = Secret.objects.filter(owner=owner)
    (rows.filter(purpose__in=purposes) if purposes else rows).delete()
