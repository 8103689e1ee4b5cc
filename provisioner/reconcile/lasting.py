"""What a reconciler wants to remember until its next run, in whichever process that is: a few words in Redis.

Nothing here matters when it is lost; the run after that begins anew. So there is no row for it, and a database that is
busy with orders does not hear of it.
"""

import json
from functools import cache as once
from typing import Any

from django.conf import settings
from django.db import connection
from redis import Redis
from redis.exceptions import RedisError

_KEPT_SECONDS = 600


def recall(name: str) -> dict[str, Any]:
    """What was remembered under this name; empty when that was long ago or Redis is away."""
    try:
        stored = _redis().get(_key(name))
        found: dict[str, Any] = json.loads(stored) if isinstance(stored, bytes) else {}
    except (RedisError, OSError, ValueError):
        return {}
    return found


def remember(name: str, words: dict[str, Any]) -> None:
    try:
        _redis().set(_key(name), json.dumps(words), ex=_KEPT_SECONDS)
    except (RedisError, OSError):
        return


def _key(name: str) -> str:
    # Installations may share a Redis; they never share a database.
    return f"ringmaster:{connection.settings_dict['NAME']}:{name}"


@once
def _redis() -> "Redis":
    # Its connections are made anew after a fork.
    return Redis.from_url(settings.ENV.redis_url, socket_timeout=1, socket_connect_timeout=1)
