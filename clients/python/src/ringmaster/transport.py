"""Requests and answers as JSON: who asks, what is sent again and when, and what an error becomes."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from ringmaster.errors import ApiError, RingmasterError, Unreachable, api_error
from ringmaster.version import __version__

ATTEMPTS = 6
"""How often a request is sent at most."""
PATIENCE = 60.0
"""Seconds: a Retry-After that is longer is an error at once."""
_LATER = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Event:
    """A notice from the event stream: `name` says of what, `data` has ids."""

    name: str
    data: dict[str, Any] = field(default_factory=dict)


class Transport:
    """One installation, spoken to as the owner of a token. Safe for use by several threads."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        organisation: str | None = None,
        timeout: float = 60.0,
        agent: str = "",
        http: httpx.BaseTransport | None = None,
        verify: bool | str = True,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`timeout` is in seconds. `verify` may name a file with certificates. Speaks to nobody yet."""
        if not url.startswith(("http://", "https://")):
            raise RingmasterError(f"{url!r} is no address; it begins with https:// (or http://)")
        headers = {"Authorization": f"Bearer {token}", "User-Agent": agent or f"ringmaster-python/{__version__}"}
        if organisation:
            headers["Ringmaster-Organisation"] = organisation
        # Files of certificates as the system's: an installation may have an authority of its own.
        self._http = httpx.Client(
            base_url=url.rstrip("/"), headers=headers, timeout=timeout, transport=http, verify=_context(verify)
        )
        self.sleep = sleep

    def close(self) -> None:
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        repeatable: bool = True,
        if_match: str | None = None,
    ) -> httpx.Response:
        """A success. A write is sent again with the same `key`, so that it happens once.

        `repeatable`: whether it does no harm to send it again when no answer came. `if_match`: the ETag of what is
        changed. Raises ApiError, Unreachable.
        """
        headers = {} if method == "GET" or not repeatable else {"Idempotency-Key": key or f"py-{uuid.uuid4()}"}
        if if_match is not None:
            headers["If-Match"] = if_match
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers["Content-Type"] = "application/json"
        request = self._http.build_request(method, path, params=_query(query or {}), content=content, headers=headers)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = self._http.send(request)
            except httpx.TransportError as problem:
                never_sent = isinstance(problem, httpx.ConnectError | httpx.ConnectTimeout)
                if attempt == ATTEMPTS or not (repeatable or never_sent):
                    raise Unreachable(
                        f"{self._http.base_url} did not answer: {problem or type(problem).__name__}."
                    ) from problem
                self.sleep(_pause(attempt))
                continue
            if answer.status_code < 400:
                return answer
            error = _error(answer)
            if attempt == ATTEMPTS or not _better_later(error, repeatable):
                raise error
            self.sleep(max(_pause(attempt), error.retry_after or 0.0))
        raise AssertionError("unreachable")

    def events(self, path: str, query: Mapping[str, Any]) -> Iterator[Event]:
        """Server-sent events until the server, or the caller, ends the stream. Raises ApiError, Unreachable."""
        try:
            with self._http.stream("GET", path, params=_query(query), timeout=httpx.Timeout(60.0)) as answer:
                if answer.status_code >= 400:
                    answer.read()
                    raise _error(answer)
                name, data = "message", ""
                for line in answer.iter_lines():
                    if line.startswith("event:"):
                        name = line[6:].strip()
                    elif line.startswith("data:"):
                        data += line[5:].strip()
                    elif not line and data:
                        yield Event(name, json.loads(data))
                        name, data = "message", ""
        except httpx.TransportError as problem:
            raise Unreachable(f"The stream of {self._http.base_url} broke: {problem}.") from problem


def path_of(template: str, **parameters: str) -> str:
    """The address with each parameter as one segment, whatever it holds."""
    return template.format(**{name: quote(value, safe="") for name, value in parameters.items()})


def answer_of(response: httpx.Response) -> Any:
    """What was answered: JSON as values, text as text, other things as bytes; None: nothing."""
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
    if not response.content:
        return None
    if kind == "application/json":
        try:
            return response.json()
        except ValueError as problem:
            raise RingmasterError(f"The answer of {response.url} cannot be read; is it Ringmaster's?") from problem
    if kind == "text/html":
        raise RingmasterError(f"{response.url} answered with a page; is it the address of Ringmaster?")
    return response.text if kind.startswith("text/") or kind == "application/x-pem-file" else response.content


def _context(verify: bool | str) -> Any:
    if isinstance(verify, str):
        import ssl

        return ssl.create_default_context(cafile=verify)
    return verify


def _query(values: Mapping[str, Any]) -> httpx.QueryParams:
    """Without what is None; lists repeat the parameter."""
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is not None:
                pairs.append((name, _word(one)))
    return httpx.QueryParams(tuple(pairs))


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _error(answer: httpx.Response) -> ApiError:
    try:
        body = answer.json()
    except ValueError:
        body = None
    after = answer.headers.get("Retry-After", "")
    return api_error(answer.status_code, body, float(after) if after.isdigit() else None)


def _better_later(error: ApiError, repeatable: bool) -> bool:
    if (error.retry_after or 0) > PATIENCE:
        return False
    if error.code == "idempotency_key_in_flight":
        return True
    # 429 and 503 come before anything was done; what stands behind a proxy's 502 and 504 is not known.
    return error.status in (_LATER if repeatable else {429, 503})


def _pause(attempt: int) -> float:
    """Seconds: 0.5, 1, 2 … 8."""
    return min(0.5 * 2.0 ** (attempt - 1), 8.0)
