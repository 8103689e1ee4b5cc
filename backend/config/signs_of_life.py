"""Who was heard lately: workers and beat note it in Redis, and `/metrics` tells it to who watches the control plane.

In Redis, where it goes when that does: within seconds everybody who lives has noted it again. Not in Postgres, where it
would be a write every few seconds for each worker, for ever.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog
from django.conf import settings
from django.db import connection
from redis import Redis
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

# Seconds. After that a worker that is gone is no news any more.
KEPT = 3600
QUEUES = ("ringmaster", "ringmaster.beat", "ringmaster.console")


@dataclass(frozen=True)
class Heard:
    """Times in seconds since 1970; `beat` None: never, or longer ago than Redis was started."""

    broker_up: bool
    workers: dict[str, float] = field(default_factory=dict)
    beat: float | None = None
    queued: dict[str, int] = field(default_factory=dict)


def worker_heard(name: str) -> None:
    """A worker took a message of its own. Does nothing while Redis is away."""
    _try(lambda redis: _note(redis, "workers", name))


def worker_left(name: str) -> None:
    """It goes down in order, and is not to be missed."""
    _try(lambda redis: redis.hdel(_key("workers"), name))


def beat_rang() -> None:
    """Beat sent something."""
    _try(lambda redis: _note(redis, "beat", "beat"))


def read() -> Heard:
    """What `/metrics` shows."""
    found: list[Heard] = []
    _try(lambda redis: found.append(_read(redis)))
    return found[0] if found else Heard(broker_up=False)


def _note(redis: Redis, kind: str, name: str) -> None:
    with redis.pipeline() as pipeline:
        pipeline.hset(_key(kind), name, str(time.time()))
        pipeline.expire(_key(kind), KEPT)
        pipeline.execute()


def _read(redis: Redis) -> Heard:
    with redis.pipeline(transaction=False) as pipeline:
        pipeline.hgetall(_key("workers"))
        pipeline.hget(_key("beat"), "beat")
        for queue in QUEUES:
            pipeline.llen(queue)
        workers, beat, *lengths = pipeline.execute()
    since = time.time() - KEPT
    heard = {name.decode(): float(when) for name, when in workers.items()}
    return Heard(
        broker_up=True,
        workers={name: when for name, when in heard.items() if when > since},
        beat=None if beat is None else float(beat),
        queued=dict(zip(QUEUES, lengths, strict=True)),
    )


def _key(kind: str) -> str:
    # Installations may share a Redis; they never share a database.
    return f"ringmaster:{connection.settings_dict['NAME']}:heard:{kind}"


def _try(work: Callable[[Redis], object]) -> None:
    # A connection of its own: a pool's locks, held while a worker's main process forks, would hang the child.
    try:
        with Redis.from_url(settings.ENV.redis_url, socket_timeout=1, socket_connect_timeout=1) as redis:
            work(redis)
    except (RedisError, OSError) as error:
        log.warning("nobody notes who was heard", error=str(error))
