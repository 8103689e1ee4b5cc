"""What a second factor is made of: secrets, the codes they make, and whether a session proved one.

Codes are those of RFC 6238 (SHA-1, six digits, 30 seconds), as every authenticator app makes them. allauth has the
steps of the sign-in, its rows of factors and its recovery codes; secrets are kept sealed here, and codes are checked
here, because a code is to be good once and allauth's check only holds for one step. docs/decisions/0066.
"""

import base64
import hmac
import secrets
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import qrcode  # type: ignore[import-untyped]
from allauth.account.internal.flows.login import get_authentication_records, record_authentication
from allauth.account.internal.stagekit import get_pending_stage
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.db import transaction
from django.http import HttpRequest

from backend.accounts.models import FactorSecret, User
from backend.core import master_keys
from backend.core.secrets import Sealed, SecretUnreadable

PROVED = "second_factor"
"""In Django's session: whether a second factor was proved in it."""
PURPOSE = "second-factor"
ISSUER = "Ringmaster"
KINDS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""What counts as one; recovery codes are in its place only while there is one."""
STEP_SECONDS = 30
_DIGITS = 6
_STEPS_OFF = 1
"""Clocks differ, and typing takes time: so many steps before and after this one are good, too."""
_SECRET_BYTES = 20
_BY_PROVIDER = "identity_provider"


# Whether there is one


def has_second_factor(user_id: str) -> bool:
    return bool(Authenticator.objects.filter(user_id=user_id, type__in=KINDS).exists())


def note_provider(request: HttpRequest, user: User, *, second_factor: bool) -> None:
    """For a sign-in through an identity provider, before it is completed: that it is one, and whether it counts as one
    with two factors (oidc.has_second_factor)."""
    record_authentication(request, user, _BY_PROVIDER, second_factor=second_factor)


def proved_by(request: HttpRequest, user: User) -> str:
    """With what a second factor was proved in this session: totp, recovery_codes, provider ...; empty: it was not.

    allauth keeps its records by person: those of somebody else who began to sign in here do not count.
    """
    for record in reversed(get_authentication_records(request, user)):
        if record["method"] == "mfa":
            return str(record["type"])
        if record["method"] == _BY_PROVIDER and record["second_factor"]:
            return "provider"
    return ""


# Secrets


def keep_secret(user_id: str, text: str) -> str:
    """Seals it for the person; by what it is found again."""
    sealed = master_keys.sealed(text.encode(), owner=user_id, purpose=PURPOSE)
    kept = FactorSecret.objects.create(
        user_id=user_id,
        ciphertext=sealed.ciphertext,
        wrapped_key=sealed.wrapped_key,
        master_key_id=sealed.master_key_id,
    )
    return str(kept.id)


def open_secret(user_id: str, reference: str) -> str:
    """Raises SecretUnreadable, also for what is somebody else's."""
    row = FactorSecret.objects.filter(id=reference, user_id=user_id).first()
    if row is None:
        raise SecretUnreadable(f"{user_id} has no secret {reference} of a second factor")
    sealed = Sealed(
        ciphertext=bytes(row.ciphertext), wrapped_key=bytes(row.wrapped_key), master_key_id=row.master_key_id
    )
    return master_keys.opened(sealed, owner=user_id, purpose=PURPOSE).decode()


def forget_unused_secrets(user_id: str) -> None:
    """What no factor of the person has: it was taken away, or never confirmed."""
    used = {
        each[name]
        for each in Authenticator.objects.filter(user_id=user_id).values_list("data", flat=True)
        for name in ("secret", "seed")
        if name in each
    }
    FactorSecret.objects.filter(user_id=user_id).exclude(id__in=used).delete()


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """What allauth asks us about second factors: it keeps where a secret is, not the secret."""

    def encrypt(self, text: str) -> str:
        return keep_secret(_person(), text)

    def decrypt(self, encrypted_text: str) -> str:
        return open_secret(_person(), encrypted_text)


def _person() -> str:
    """Who is signed in, or is signing in. A secret opens for them only."""
    request: Any = context.request
    if request.user.is_authenticated:
        return str(request.user.pk)
    return str(get_pending_stage(request).login.user.pk)


# Codes


def new_totp_secret() -> str:
    """20 random bytes (RFC 4226 asks for at least 16) as base32, which is how people type it."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def totp_url(email: str, secret: str) -> str:
    """As authenticator apps read it from the QR code."""
    about = urlencode({"secret": secret, "issuer": ISSUER}, quote_via=quote)
    return f"otpauth://totp/{quote(f'{ISSUER}:{email}')}?{about}"


def qr_path(text: str) -> tuple[int, str]:
    """Modules on a side, with the border of four, and the dark ones as the path of an SVG, a module being 1 by 1."""
    code = qrcode.QRCode(border=4)
    code.add_data(text)
    rows = code.get_matrix()
    path = "".join(f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, dark in enumerate(row) if dark)
    return len(rows), path


def totp_code(secret: str, step: int) -> str:
    """RFC 4226, section 5.3."""
    digest = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), "sha1")
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**_DIGITS:0{_DIGITS}}"


def matching_step(secret: str, code: str) -> int | None:
    """Which of the steps around now the code is of."""
    for step in _steps():
        if hmac.compare_digest(totp_code(secret, step).encode(), code.encode()):
            return step
    return None


def _steps() -> Iterator[int]:
    now = int(time.time()) // STEP_SECONDS
    yield from range(now - _STEPS_OFF, now + _STEPS_OFF + 1)


def plain_code(text: str) -> str:
    """Without what people and apps put between the digits."""
    return "".join(each for each in text if not each.isspace() and each != "-")


@transaction.atomic
def use_code(user_id: str, text: str) -> Authenticator | None:
    """The factor that the code is of; None: it is of none, or was used before.

    The row is locked, so that of two who send the same code one gets in. A TOTP code is good when it is of a later
    step than the last one that was used (RFC 6238, section 5.2), a recovery code once.
    """
    code = plain_code(text)
    if not code.isascii() or not code.isdigit():
        return None
    rows = Authenticator.objects.select_for_update().filter(user_id=user_id).exclude(type=Authenticator.Type.WEBAUTHN)
    for row in rows.order_by("id"):
        if row.type == Authenticator.Type.TOTP:
            step = matching_step(open_secret(user_id, row.data["secret"]), code)
            if step is not None and step > row.data["last_step"]:
                row.data["last_step"] = step
                row.save(update_fields=["data"])
                return row
        elif (codes := row.wrap()).validate_code(code):
            return codes.instance
    return None
