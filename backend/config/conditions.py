"""ETags of single things, and writes that hold only for the thing as somebody saw it. docs/decisions/0068.

The tag is of what GET answers. Before a conditional write the same GET is answered again, inside the write's
transaction and behind a lock for its address, so that of two writers who saw the same thing one is refused.
"""

import copy
import re
from collections.abc import Callable
from hashlib import blake2b
from inspect import unwrap
from typing import Any

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from ninja.operation import Operation

from backend.core.errors import DomainError, Invalid

HEADER = "If-Match"
_TAG = re.compile(r'(?:W/)?"[^"]*"')


class PreconditionFailed(DomainError):
    status = 412


_reads: dict[str, Operation] = {}
"""What GET does, by address."""


def remember(operation: Operation) -> None:
    """So that writes of the same address find how it is read."""
    if "GET" in operation.methods and is_single(operation):
        _reads[operation.path] = operation


def is_single(operation: Operation) -> bool:
    """Whether it answers a thing, for somebody who is known, rather than a list or a stream."""
    wrapped = getattr(operation.response_models.get(200), "model_fields", None)
    if wrapped is None or not operation.auth_callbacks:
        return False
    fields = getattr(wrapped["response"].annotation, "model_fields", None)
    return fields is not None and "items" not in fields


def has_tag(path: str) -> bool:
    """Whether GET of an address of the description (`/clusters/{cluster_id}`) answers an ETag."""
    return path in _reads


def tag_of(answer: HttpResponse) -> str:
    """A strong one: other bytes, another tag."""
    return f'"{blake2b(answer.content, digest_size=16).hexdigest()}"'


def answer_with_tag(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    """The answer of a GET with its ETag, or 304 when the caller has it already (``If-None-Match``)."""
    if answer.status_code != 200 or not isinstance(answer, HttpResponse):
        return answer
    tag = tag_of(answer)
    known = request.headers.get("If-None-Match", "")
    # Weak comparison (RFC 9110, 13.1.2): a proxy that packs answers makes tags weak.
    if known.strip() == "*" or tag in {one.removeprefix("W/") for one in _TAG.findall(known)}:
        answer = HttpResponse(status=304)
        del answer["Content-Type"]
    answer["ETag"] = tag
    return answer


def hold(
    request: HttpRequest,
    operation: Operation,
    *,
    organisation_id: str,
    run: Callable[[], HttpResponseBase],
    values: dict[str, Any],
) -> HttpResponseBase:
    """The answer of a write, which is done alone among those of its address and only if ``If-Match`` fits.

    `values`: what the address holds. Raises PreconditionFailed, Invalid where there is nothing to compare with.
    """
    wanted = request.headers.get(HEADER)
    read = _reads.get(operation.path) if request.method != "POST" else None
    if read is None:
        if wanted is not None:
            raise Invalid(
                "if_match_not_possible",
                f"{operation.operation_id} changes nothing that has an ETag.",
                hint=f"Leave the header {HEADER} out.",
            )
        return run()
    with transaction.atomic():
        _lock(f"{organisation_id}{request.path}")
        if wanted is not None:
            now = _look(request, read, values)
            if now.status_code >= 400:
                return now
            _compare(wanted, now)
        answer = run()
        if answer.status_code >= 400:
            transaction.set_rollback(True)
    return answer


def _look(request: HttpRequest, read: Operation, values: dict[str, Any]) -> HttpResponse:
    reading = copy.copy(request)
    reading.method = "GET"
    reading.GET = QueryDict()
    answer: HttpResponse = unwrap(read.run)(reading, **values)
    return answer


def _compare(wanted: str, now: HttpResponse) -> None:
    # Strong comparison (RFC 9110, 13.1.1): weak tags never fit.
    if wanted.strip() == "*" or tag_of(now) in _TAG.findall(wanted):
        return
    raise PreconditionFailed(
        "precondition_failed",
        f"It is not as you saw it any more: the ETag in {HEADER} does not fit. Nothing was changed.",
        hint="GET it again, look at what is different, and send the change with the new ETag.",
    )


def _lock(address: str) -> None:
    """Held until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", [address])


def describe(get: dict[str, Any], writes: list[dict[str, Any]]) -> None:
    """Adds tags to a GET of the OpenAPI document, and conditions to the writes of the same address."""
    get["parameters"] = [*get["parameters"], {"$ref": "#/components/parameters/IfNoneMatch"}]
    get["responses"]["200"].setdefault("headers", {})["ETag"] = {"$ref": "#/components/headers/ETag"}
    get["responses"]["304"] = {
        "description": "It is as you saw it: the ETag in If-None-Match fits",
        "headers": {"ETag": {"$ref": "#/components/headers/ETag"}},
    }
    for write in writes:
        write["parameters"] = [*write["parameters"], {"$ref": "#/components/parameters/IfMatch"}]
        write["responses"]["412"] = {"$ref": "#/components/responses/Error412"}


PARAMETERS = {
    "IfMatch": {
        "name": HEADER,
        "in": "header",
        "required": False,
        "description": (
            "The ETag of a GET of the same address. When the thing is not as it was then, the answer is 412 and "
            "nothing is changed. *: it must exist. Without the header the last writer wins."
        ),
        "schema": {"type": "string", "example": '"6d1f0f8f1c3f4f0d9a55f4cf3b7c9a10"'},
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "required": False,
        "description": "The ETag of an earlier answer: 304 without a body when nothing is different since.",
        "schema": {"type": "string", "example": '"6d1f0f8f1c3f4f0d9a55f4cf3b7c9a10"'},
    },
}
HEADERS = {
    "ETag": {
        "description": "Of what is answered, without regard to fields; another one as soon as anything is different",
        "schema": {"type": "string", "example": '"6d1f0f8f1c3f4f0d9a55f4cf3b7c9a10"'},
    }
}
