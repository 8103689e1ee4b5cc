"""The client that programs use: an operation of the API is a method of the same name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import BaseModel

from ringmaster import models
from ringmaster.errors import RingmasterError
from ringmaster.following import follow
from ringmaster.model import Model
from ringmaster.operations import Operations
from ringmaster.transport import Event, Transport, answer_of


class Ringmaster(Operations):
    """`Ringmaster("https://ringmaster.example", "rmt_...")`; without arguments from the environment.

    Writes carry an Idempotency-Key and are sent again with it when no answer came, or 429 or 503, which happens up to
    six times; pass `idempotency_key` to go on after your own program was restarted. Safe for use by several threads.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        organisation: str | None = None,
        timeout: float = 60.0,
        verify: bool | str = True,
        http: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Without url and token: RINGMASTER_URL, RINGMASTER_TOKEN, RINGMASTER_ORGANISATION. `timeout` in seconds.

        `verify`: a file with certificates to trust, or False for none. `http` and `sleep` are for tests.
        """
        url = url or os.environ.get("RINGMASTER_URL", "")
        token = token or os.environ.get("RINGMASTER_TOKEN", "")
        if not url or not token:
            raise RingmasterError("Give url and token, or set RINGMASTER_URL and RINGMASTER_TOKEN.")
        organisation = organisation or os.environ.get("RINGMASTER_ORGANISATION")
        self._sleep = sleep
        self._transport = Transport(
            url, token, organisation=organisation, timeout=timeout, verify=verify, http=http, sleep=sleep
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self._transport.close()

    def follow(
        self, operation: str | models.Operation | BaseModel, *, timeout: float | None = None
    ) -> Iterator[models.OperationDetail]:
        """How an operation stands, again and again, until it has succeeded. `timeout` in seconds.

        Takes an id, an operation, or the answer that named one. Raises OperationFailed, OperationCancelled,
        OperationStands (blocked or paused) and WaitTimeout.
        """
        path = f"/api/v1/operations/{_operation_id(operation)}"
        answers = follow(
            lambda: answer_of(self._transport.send("GET", path)),
            timeout=timeout,
            sleep=self._sleep,
        )
        for now in answers:
            yield models.OperationDetail.model_validate(now)

    def wait(
        self,
        operation: str | models.Operation | BaseModel,
        *,
        timeout: float | None = None,
        progress: Callable[[models.OperationDetail], None] = lambda now: None,
    ) -> models.OperationDetail:
        """The operation when it has succeeded; `progress` is called with each look at it. Raises as `follow`."""
        for now in self.follow(operation, timeout=timeout):
            progress(now)
        return now

    def _ask(
        self,
        expected: Any,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        repeatable: bool = True,
        dry_run: bool = False,
        if_match: str | None = None,
    ) -> Any:
        query = {**(query or {}), **({"dry_run": True} if dry_run else {})}
        sent = body.model_dump(mode="json", by_alias=True, exclude_unset=True) if isinstance(body, BaseModel) else body
        got = self._transport.send(
            method, path, query=query, body=sent, key=key, repeatable=repeatable, if_match=if_match
        )
        answer = answer_of(got)
        if dry_run or expected is None:
            return None
        if isinstance(answer, dict) and isinstance(expected, type) and issubclass(expected, BaseModel):
            seen = expected.model_validate(answer)
            if isinstance(seen, Model):
                seen._etag = got.headers.get("ETag")
            return seen
        return answer

    def _every(self, ask: Callable[..., Any], path: tuple[str, ...], query: dict[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = ask(*path, **query, cursor=cursor)
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def _events(self, path: str, query: Mapping[str, Any]) -> Iterator[Event]:
        return self._transport.events(path, query)


def _operation_id(operation: str | BaseModel) -> str:
    if isinstance(operation, str):
        return operation
    named = getattr(operation, "operation", operation)
    if not isinstance(named, models.Operation | models.OperationDetail):
        raise RingmasterError(f"{type(operation).__name__} names no operation to wait for.")
    return named.id
