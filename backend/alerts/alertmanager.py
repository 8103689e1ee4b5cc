"""Asks Alertmanager (API v2): what fires now, and silences. Only alerts of an organisation are ever asked for.

It is the only place that knows both: no copy of them is kept here that could say something else.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import httpx
from django.conf import settings

from backend.core.errors import DomainError, NotFound

SECONDS = 5.0


class AlertmanagerAway(DomainError):
    status = 503


@lru_cache(maxsize=4)
def _client(process: int, url: str) -> httpx.Client:
    """Of this process only: connections do not survive a fork."""
    return httpx.Client(base_url=url, timeout=SECONDS, trust_env=False, follow_redirects=False)


def _call(method: str, path: str, **more: Any) -> httpx.Response:
    url = settings.ENV.ringmaster_alertmanager_url
    if not url:
        raise AlertmanagerAway(
            "alerts_not_configured",
            "This installation has no Alertmanager.",
            hint="Set RINGMASTER_ALERTMANAGER_URL: docs/alerts.md.",
            retry_after=60,
        )
    try:
        answer = _client(os.getpid(), url).request(method, f"/api/v2/{path}", **more)
    except httpx.HTTPError as error:
        raise _away(str(error)) from error
    if answer.status_code >= 400 and answer.status_code != 404:
        raise _away(f"it answered {answer.status_code}: {answer.text[:200]}")
    return answer


def _away(why: str) -> AlertmanagerAway:
    return AlertmanagerAway(
        "alerts_unavailable",
        f"Alertmanager cannot be asked: {why}.",
        hint="Clusters are not affected. If it lasts, look whether Alertmanager runs (make status) and at "
        "RINGMASTER_ALERTMANAGER_URL.",
        retry_after=10,
    )


def matcher(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value, "isRegex": False, "isEqual": True}


def _filter(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    # Values are ids: nothing in them needs to be escaped.
    return [("filter", f'{name}="{value}"') for name, value in labels.items()]


def alerts(labels: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """All that fire and have these labels, silenced and inhibited ones too. Raises AlertmanagerAway."""
    found: list[dict[str, Any]] = _call("GET", "alerts", params=_filter(labels or {})).json()
    return found


def uptime_began() -> str:
    """When Alertmanager started, RFC 3339. Raises AlertmanagerAway."""
    return str(_call("GET", "status").json()["uptime"])


def silences(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Those that have these very matchers among theirs; ended ones for five days. Raises AlertmanagerAway."""
    wanted = [matcher(name, value) for name, value in labels.items()]
    found = _call("GET", "silences", params=_filter(labels)).json()
    return [each for each in found if all(one in each["matchers"] for one in wanted)]


def silence(silence_id: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """Raises NotFound also for one of others, AlertmanagerAway."""
    answer = _call("GET", f"silence/{quote(silence_id, safe='')}")
    if answer.status_code != 404:
        found: dict[str, Any] = answer.json()
        if all(matcher(name, value) in found["matchers"] for name, value in labels.items()):
            return found
    raise NotFound(
        "silence_not_found", "There is no such silence.", hint="list_alert_silences has those that there are."
    )


def post_silence(body: Mapping[str, Any]) -> str:
    """Its id. Raises AlertmanagerAway."""
    return str(_call("POST", "silences", json=dict(body)).json()["silenceID"])


def expire_silence(silence_id: str) -> None:
    """Raises AlertmanagerAway."""
    _call("DELETE", f"silence/{quote(silence_id, safe='')}")
