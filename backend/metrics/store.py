"""Asks a store that speaks Prometheus' API: Prometheus itself, Thanos, Mimir, VictoriaMetrics and others.

Two of them by the environment: one with what nodes serve, fresh, and one with what was rolled up (docs/metrics.md).
Only this app uses it. No query of a caller ever comes here, only such as promql.py makes.
"""

import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import httpx
import structlog
from django.conf import settings
from pydantic_core import from_json

from backend.core.errors import DomainError

CONNECT_SECONDS = 2.0
AT_ONCE = 8
"""Queries of one process that are on the way at the same time."""

log = structlog.get_logger(__name__)


class MetricsUnavailable(DomainError):
    status = 503


@dataclass(frozen=True, kw_only=True)
class Instant:
    """`at`: seconds since 1970."""

    query: str
    at: float


@dataclass(frozen=True, kw_only=True)
class Range:
    """A value at `start`, and every `step` seconds up to `end`."""

    query: str
    start: float
    end: float
    step: float


@dataclass(frozen=True)
class Series:
    """`points`: seconds since 1970 and value; one of an instant. Values that are no number are left out."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]


class Store(Protocol):
    def ask(self, questions: Sequence[Instant | Range]) -> list[list[Series]]:
        """The answers in the order of the questions, all or nothing. Raises MetricsUnavailable."""


class PrometheusStore:
    """Any store with Prometheus' HTTP API. Safe between threads."""

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float,
        bearer_token: str = "",
        username: str = "",
        password: str = "",
        tenant: str = "",
    ) -> None:
        """`tenant`: for stores of several tenants, the header X-Scope-OrgID."""
        headers = {"X-Scope-OrgID": tenant} if tenant else {}
        if bearer_token:
            headers["Authorization"] = f"Bearer {bearer_token}"
        self._seconds = timeout_seconds
        self._client = httpx.Client(
            base_url=url,
            headers=headers,
            auth=(username, password) if username else None,
            timeout=httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE, keepalive_expiry=30),
        )

    def ask(self, questions: Sequence[Instant | Range]) -> list[list[Series]]:
        if len(questions) == 1:
            return [self._ask(questions[0])]
        return list(_pool(os.getpid()).map(self._ask, questions))

    def _ask(self, question: Instant | Range) -> list[Series]:
        match question:
            case Instant():
                path, form = "/api/v1/query", {"time": question.at}
            case Range():
                path = "/api/v1/query_range"
                form = {"start": question.start, "end": question.end, "step": question.step}
        try:
            answer = self._client.post(path, data={"query": question.query, "timeout": str(self._seconds), **form})
        except httpx.TimeoutException as error:
            raise _too_slow() from error
        except httpx.HTTPError as error:
            raise _away(str(error)) from error
        if answer.status_code != 200:
            raise self._refused(answer, question)
        document = from_json(answer.content)
        return [_series(row) for row in document["data"]["result"]]

    def _refused(self, answer: httpx.Response, question: Instant | Range) -> DomainError:
        log.warning("metrics store refused", status=answer.status_code, answer=answer.text[:500], query=question.query)
        if answer.status_code in {401, 403}:
            return _away("it does not accept the control plane's credentials")
        if answer.status_code == 503 and "timeout" in answer.text:
            return _too_slow()
        return _away(f"it answered {answer.status_code}")


def _series(row: dict[str, Any]) -> Series:
    points = row["values"] if "values" in row else [row["value"]]
    numbers = ((float(at), float(value)) for at, value in points)
    return Series(row["metric"], [(at, value) for at, value in numbers if math.isfinite(value)])


def _away(why: str) -> MetricsUnavailable:
    return MetricsUnavailable(
        "metrics_unavailable",
        f"The store of metrics cannot be asked: {why}.",
        hint="Clusters are not affected. If it lasts, look whether Prometheus runs (make status) and at "
        "RINGMASTER_PROMETHEUS_URL.",
        retry_after=15,
    )


def _too_slow() -> MetricsUnavailable:
    return MetricsUnavailable(
        "metrics_too_slow",
        "The store of metrics did not answer in time.",
        hint="Choose a shorter range or fewer charts, or try again.",
        retry_after=5,
    )


class NoStore:
    """What stands in where no store is configured."""

    def ask(self, questions: Sequence[Instant | Range]) -> list[list[Series]]:
        raise MetricsUnavailable(
            "metrics_not_configured",
            "This installation has no store of metrics.",
            hint="Set RINGMASTER_PROMETHEUS_URL to a Prometheus that finds its targets at /metrics/targets.",
            retry_after=60,
        )


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Of this process only: threads do not survive a fork."""
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="metrics")


_lock = threading.Lock()
_stores: dict[tuple[int, str], Store] = {}


def raw_store() -> Store:
    """What nodes serve, and what the rules make of it, of the last three days."""
    return _store(settings.ENV.ringmaster_prometheus_url)


def history_store() -> Store:
    """What was rolled up, of the last thirty days."""
    return _store(settings.ENV.ringmaster_prometheus_history_url or settings.ENV.ringmaster_prometheus_url)


def _store(url: str) -> Store:
    if not url:
        return NoStore()
    key = (os.getpid(), url)
    with _lock:
        if key not in _stores:
            env = settings.ENV
            file = env.ringmaster_prometheus_credentials_file
            credentials = {} if file is None else json.loads(file.read_text())
            _stores[key] = PrometheusStore(
                url, timeout_seconds=env.ringmaster_prometheus_timeout_seconds, **credentials
            )
        return _stores[key]
