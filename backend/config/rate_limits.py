"""How fast one caller, and one organisation, may ask: two buckets in Redis, looked at in one round trip.

A bucket is kept as the time at which it will be full again (the generic cell rate algorithm), so it is one number and
needs no sweeping. While Redis is away everybody is let through: limits keep order, and are not worth an outage.
docs/decisions/0067.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any

import structlog
from django.conf import settings
from django.db import connection
from django.http.response import HttpResponseBase
from prometheus_client import Counter
from redis import Redis
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.exceptions import RedisError
from redis.retry import Retry

from backend.accounts.queries import Identity
from backend.config.environment import RateLimit
from backend.core.errors import TooManyRequests

POLICY_HEADER = "RateLimit-Policy"
HEADER = "RateLimit"
CODE = "rate_limited"
# Seconds. So long Redis is not asked again after it did not answer: each request would wait for it.
PAUSE = 1.0
_TIMEOUT = 0.25

log = structlog.get_logger(__name__)

_REFUSED = Counter("ringmaster_rate_limited_requests", "Requests refused because of their number", ["whose"])
_NOT_COUNTED = Counter("ringmaster_rate_limit_failures", "Requests let through because Redis did not answer")

# Keys: buckets. Arguments: of each the microseconds that a request costs, and how many requests it holds.
# Answers the microseconds until all buckets have room (0: the request was taken from them), then of each the requests
# that are left and the microseconds until it is full. By the clock of Redis, which all API processes share.
_TAKE = """
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local wait, full = 0, {}
for i, key in ipairs(KEYS) do
  local cost, burst = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  full[i] = math.max(tonumber(redis.call('GET', key) or 0), now)
  wait = math.max(wait, full[i] + cost - now - cost * burst)
end
local answer = {wait}
for i, key in ipairs(KEYS) do
  local cost, burst = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  if wait == 0 then
    full[i] = full[i] + cost
    redis.call('SET', key, string.format('%.0f', full[i]), 'PX', math.ceil((full[i] - now) / 1000) + 1)
  end
  answer[#answer + 1] = math.max(0, math.floor((cost * burst - (full[i] - now)) / cost))
  answer[#answer + 1] = full[i] - now
end
return answer
"""


@dataclass(frozen=True)
class Bucket:
    """Whose it is (`caller`, `organisation`), its limit, and how it stands: requests left, seconds until it is full."""

    whose: str
    limit: RateLimit
    left: int
    full_in: int


@dataclass(frozen=True)
class Taken:
    """What became of a request: `wait` is None when it may pass, else the whole seconds after which to come again."""

    buckets: tuple[Bucket, ...] = ()
    wait: int | None = None

    def describe(self, answer: HttpResponseBase) -> None:
        """Sets the headers (draft-ietf-httpapi-ratelimit-headers-10); none where nobody counted."""
        if self.buckets:
            answer[POLICY_HEADER] = ", ".join(
                f'"{bucket.whose}";q={bucket.limit.burst};w={bucket.limit.window}' for bucket in self.buckets
            )
            answer[HEADER] = ", ".join(
                f'"{bucket.whose}";r={bucket.left};t={bucket.full_in}' for bucket in self.buckets
            )

    def refusal(self) -> TooManyRequests:
        """Only where `wait` is given."""
        whose = "This token or session" if self.short.whose == "caller" else "Your organisation"
        return TooManyRequests(
            CODE,
            f"{whose} has sent more than {self.short.limit.per_second:g} requests per second; nothing was done.",
            hint=f"Wait {self.wait} s, as Retry-After says, and send it again; the header {HEADER} tells what is left.",
            retry_after=self.wait,
        )

    @property
    def short(self) -> Bucket:
        """The bucket that has no room."""
        return min(self.buckets, key=lambda bucket: bucket.left)


class _Pause:
    """Until when Redis is not asked; by this process' clock."""

    until = 0.0


def take(who: Identity) -> Taken:
    """Takes one request from the buckets of the caller and of the organisation, or from neither."""
    limits = list(_limits(who))
    if not limits or time.monotonic() < _Pause.until:
        if limits:
            _NOT_COUNTED.inc()
        return Taken()
    keys = [f"ringmaster:{connection.settings_dict['NAME']}:rate:{owner}" for _, owner, _ in limits]
    arguments = [number for *_, limit in limits for number in (limit.microseconds, limit.burst)]
    try:
        wait, *stand = _script()(keys=keys, args=arguments)
    except (RedisError, OSError) as error:
        _Pause.until = time.monotonic() + PAUSE
        _NOT_COUNTED.inc()
        log.warning("nobody counts requests", error=str(error))
        return Taken()
    buckets = tuple(
        Bucket(whose, limit, left=stand[2 * number], full_in=ceil(stand[2 * number + 1] / 1e6))
        for number, (whose, _, limit) in enumerate(limits)
    )
    taken = Taken(buckets, None if wait == 0 else ceil(wait / 1e6))
    if taken.wait is not None:
        _REFUSED.labels(taken.short.whose).inc()
    return taken


def _limits(who: Identity) -> Iterator[tuple[str, str, RateLimit]]:
    """Whose bucket, its name in Redis, its limit."""
    if (limit := settings.ENV.ringmaster_rate_limit_caller) is not None:
        yield "caller", who.token_id or who.user_id, limit
    if (limit := settings.ENV.ringmaster_rate_limit_organisation) is not None:
        yield "organisation", who.organisation_id, limit


@lru_cache(maxsize=1)
def _script() -> Script:
    """Made at the first request of an API process, and never in one that forks."""
    # A connection that was closed meanwhile is opened anew once.
    redis: Any = Redis.from_url(
        settings.ENV.redis_url,
        socket_timeout=_TIMEOUT,
        socket_connect_timeout=_TIMEOUT,
        retry=Retry(NoBackoff(), 1),
    )
    return redis.register_script(_TAKE)  # type: ignore[no-any-return]


PARAMETERS = {
    POLICY_HEADER: {
        "description": (
            "How many requests may be sent: q at once, which come back within w seconds, by this token or session "
            "(caller) and by all of the organisation. draft-ietf-httpapi-ratelimit-headers"
        ),
        "schema": {"type": "string", "example": '"caller";q=200;w=4, "organisation";q=1000;w=5'},
    },
    HEADER: {
        "description": "What is left of that: r requests, and all of them again in t seconds",
        "schema": {"type": "string", "example": '"caller";r=199;t=1, "organisation";r=994;t=1'},
    },
}
"""The headers as the API's description has them."""
