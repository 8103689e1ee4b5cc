"""The launcher as a client of the public API: it orders and follows like anybody else."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

import httpx

_PATIENCE_SECONDS = 60.0


class ApiError(RuntimeError):
    """The API said no, or nothing for a minute. The text is for people; `code` is empty when there was no answer."""

    def __init__(self, text: str, *, code: str = "", status: int = 0) -> None:
        super().__init__(text)
        self.code = code
        self.status = status


class Api:
    """A conversation with one installation's API under a token."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        # The API is on this machine: a proxy from the environment has no business here.
        self._client = httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=20, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str, **query: str | int) -> Any:
        """The answer's JSON. While the API is being restarted, asks again for up to a minute. Raises ApiError."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                answer = self._client.get(path, params=query)
                if answer.status_code not in {502, 503, 504} or time.monotonic() > deadline:
                    return _content(answer)
            except httpx.TransportError as error:
                if time.monotonic() > deadline:
                    raise ApiError(f"The API does not answer: {error}") from error
            time.sleep(0.5)

    def post(self, path: str, body: dict[str, Any] | None = None, *, idempotency_key: str | None = None) -> Any:
        """The answer's JSON. Raises ApiError."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        try:
            return _content(self._client.post(path, json=body, headers=headers))
        except httpx.TransportError as error:
            raise ApiError(f"The API does not answer: {error}") from error


def is_ready(url: str) -> bool:
    """Whether the API can do its work: it answers, and reaches its database."""
    try:
        return httpx.get(f"{url}/readyz", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _content(answer: httpx.Response) -> Any:
    if answer.is_success:
        return answer.json() if answer.content else None
    try:
        error = answer.json()["error"]
        text = " ".join(part for part in (error["message"], error.get("hint")) if part)
        code = str(error["code"])
    except (ValueError, KeyError, TypeError):
        raise ApiError(f"The API answered {answer.status_code}", status=answer.status_code) from None
    raise ApiError(text, code=code, status=answer.status_code)
