"""A write with an ``Idempotency-Key`` happens once, however often it is sent.

The answer is stored in the transaction of the write itself: after a crash either both are there or neither is, so
nothing can be stuck half-way. Answers of the server's own failures (5xx) are not kept: sending again is the cure.
"""

import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from backend.core import master_keys
from backend.core.errors import Conflict, Invalid
from backend.core.models import IdempotencyRecord
from backend.core.secrets import Sealed

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
KEPT = timedelta(hours=24)
KEY_PATTERN = r"^[!-~]{1,255}$"
PURPOSE = "idempotent-answer"


def once(
    request: HttpRequest, *, organisation_id: str, user_id: str, key: str, run: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    """The answer of ``run``, or the one it gave to the same request before.

    Raises Invalid for a malformed key or one used for another request, Conflict while the first request is running.
    """
    if not re.fullmatch(KEY_PATTERN, key):
        raise Invalid(
            "invalid_idempotency_key",
            f"The header {HEADER} must be 1 to 255 printable characters without spaces.",
            hint="Use a new UUID for each thing you want to do.",
        )
    request_hash = _hash(request)
    owner = owner_of(organisation_id, user_id, key)
    with transaction.atomic():
        if not _try_lock(owner):
            raise Conflict(
                "idempotency_key_in_flight",
                f"A request with this {HEADER} is being answered right now.",
                hint="Wait a moment and send the same request again to get its answer.",
            )
        records = IdempotencyRecord.objects.filter(organisation_id=organisation_id, user_id=user_id, key=key)
        known = records.first()
        if known is not None and known.expires_at > timezone.now():
            if bytes(known.request_hash) != request_hash:
                raise Invalid(
                    "idempotency_key_reused",
                    f"This {HEADER} was used for another request.",
                    hint="Use a new key for a new request; repeat a request with exactly the same body.",
                )
            return _replay(known, owner)
        IdempotencyRecord.objects.filter(expires_at__lte=timezone.now()).delete()
        response = _run_or_undo(run)
        if response.status_code < 500 and isinstance(response, HttpResponse):
            _remember(response, owner, organisation_id, user_id, key, request_hash)
        return response


def owner_of(organisation_id: str, user_id: str, key: str) -> str:
    """Whose an answer is, as its encryption is bound to."""
    return f"{organisation_id}/{user_id}/{key}".replace("|", "%7C")


def _run_or_undo(run: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """A refused request leaves nothing behind, but its answer must survive: so it is undone to a savepoint."""
    with transaction.atomic():
        response = run()
        if response.status_code >= 400:
            transaction.set_rollback(True)
    return response


def _hash(request: HttpRequest) -> bytes:
    condition = request.headers.get("If-Match")
    parts = (request.method or "", request.get_full_path(), *([] if condition is None else [condition]))
    return hashlib.sha256("\n".join(parts).encode() + b"\n" + request.body).digest()


def _try_lock(owner: str) -> bool:
    """Held until the transaction ends, also when the process dies."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [owner])
        (locked,) = cursor.fetchone()
    return bool(locked)


def _remember(
    response: HttpResponse, owner: str, organisation_id: str, user_id: str, key: str, request_hash: bytes
) -> None:
    # Encrypted, because an answer may hold a secret that is shown once (a token, a password, an invitation).
    answer = json.dumps({"content_type": response.get("Content-Type"), "body": response.content.decode()})
    sealed = master_keys.sealed(answer.encode(), owner=owner, purpose=PURPOSE)
    IdempotencyRecord.objects.create(
        organisation_id=organisation_id,
        user_id=user_id,
        key=key,
        request_hash=request_hash,
        status=response.status_code,
        ciphertext=sealed.ciphertext,
        wrapped_key=sealed.wrapped_key,
        master_key_id=sealed.master_key_id,
        expires_at=timezone.now() + KEPT,
    )


def _replay(record: IdempotencyRecord, owner: str) -> HttpResponse:
    sealed = Sealed(
        ciphertext=bytes(record.ciphertext), wrapped_key=bytes(record.wrapped_key), master_key_id=record.master_key_id
    )
    answer = json.loads(master_keys.opened(sealed, owner=owner, purpose=PURPOSE))
    response = HttpResponse(answer["body"], status=record.status, content_type=answer["content_type"])
    response[REPLAYED_HEADER] = "true"
    return response
