"""What the API bears: 200 clients at once, reads and writes mixed, over 10,000 clusters of one organisation.

Ours against the least Django on the same rows (`plain_mixed.py`), each a uvicorn process on one private Postgres, in
turn. Of 20 requests 8 read a page of 20 clusters, 8 one cluster, and 4 change one (its termination protection). Ours
signs in each request, looks at permissions, limits and schema, writes the audit log and answers with a version; every
client has a token of its own. Requests per second per core are requests by the CPU time of the server's process (user
and system, from /proc): the two share the machine with Postgres and with the clients. Prints one JSON object as its
last line; fatal are an answer that is not 200, and a ratio below 0.4.

    python -m e2e.bench.api_under_load [--clients 200] [--clusters 10000] [--rounds 5] [--seconds 10]
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time
from dataclasses import dataclass, field

from e2e.bench.api_list import prepare
from e2e.bench.tenants import Tenant, private_database
from e2e.serving import Server, serving
from infra.local.services import start_redis

PAGE = 20
LEAST_RATIO = 0.4
_MIX = ("list",) * 8 + ("one",) * 8 + ("change",) * 4


@dataclass
class Side:
    """One of the two servers. `query` goes to every address; `tokens` are the clients', in turn."""

    server: Server
    prefix: str
    query: str
    tokens: list[str]
    per_core: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


def main() -> int:
    arguments = _arguments()
    with private_database() as folder:
        redis = start_redis(folder / "redis")
        os.environ["REDIS_URL"] = redis.url
        # They are counted as ever, and high enough for the whole load.
        for whose in ("CALLER", "ORGANISATION"):
            os.environ[f"RINGMASTER_RATE_LIMIT_{whose}"] = "100000:100000"
        try:
            return run(arguments)
        finally:
            redis.stop()


def run(arguments: argparse.Namespace) -> int:
    tenant, _ = prepare(arguments.clusters)
    ids, tokens = _ids(tenant), _tokens(tenant, arguments.clients)
    with serving("backend.config.asgi:application") as ours, serving("e2e.bench.plain_mixed:application") as plain:
        sides = [Side(ours, "/api/v1", "", tokens), Side(plain, "", f"organisation={tenant.organisation_id}", [""])]
        for side in sides:
            asyncio.run(_load(side, ids, arguments.clients, 3.0))  # warm: imports, pool, plans
        for number in range(arguments.rounds):
            for side in sides if number % 2 == 0 else reversed(sides):
                _measure(side, ids, arguments)
            print(f"round {number + 1}: ours {_told(sides[0])}; plain {_told(sides[1])}", flush=True)
    mine, other = sides
    ratio = statistics.median(mine.per_core) / statistics.median(other.per_core)
    print(
        json.dumps(
            {
                "name": "api_under_load",
                "ours": round(statistics.median(mine.per_core), 1),
                "other": round(statistics.median(other.per_core), 1),
                "unit": "requests per second per core of the server",
                "ratio": round(ratio, 3),
                "runs": arguments.rounds,
                "notes": (
                    f"{arguments.clients} clients, {arguments.clusters} clusters, errors 0; p99 ours "
                    f"{_p99(mine):.0f} ms at {statistics.median(mine.per_second):.0f}/s, plain {_p99(other):.0f} ms at "
                    f"{statistics.median(other.per_second):.0f}/s, on one process each"
                ),
            }
        )
    )
    return 0 if ratio >= LEAST_RATIO else 1


def _ids(tenant: Tenant) -> list[str]:
    from backend.clusters.models import Cluster

    return list(Cluster.objects.filter(organisation_id=tenant.organisation_id).values_list("id", flat=True))


def _tokens(tenant: Tenant, count: int) -> list[str]:
    from backend.accounts.models import ApiToken
    from backend.accounts.queries import TOKEN_PREFIX, hash_secret

    first = ApiToken.objects.get(organisation_id=tenant.organisation_id)
    secrets = [f"{TOKEN_PREFIX}bench-{number}" for number in range(count)]
    ApiToken.objects.bulk_create(
        ApiToken(
            organisation_id=tenant.organisation_id,
            user_id=first.user_id,
            name=f"client {number}",
            secret_hash=hash_secret(secret),
            hint=secret[-4:],
            scopes=first.scopes,
        )
        for number, secret in enumerate(secrets)
    )
    return secrets


def _measure(side: Side, ids: list[str], arguments: argparse.Namespace) -> None:
    before, began = side.server.cpu_seconds(), time.perf_counter()
    taken = asyncio.run(_load(side, ids, arguments.clients, arguments.seconds))
    elapsed, cpu = time.perf_counter() - began, side.server.cpu_seconds() - before
    side.per_core.append(len(taken) / cpu)
    side.per_second.append(len(taken) / elapsed)
    side.milliseconds.extend(taken)


async def _load(side: Side, ids: list[str], clients: int, seconds: float) -> list[float]:
    """Milliseconds of every request of all clients, each of which sends the next when it has the last's answer."""
    until = time.perf_counter() + seconds
    callers = [_client(side, ids, side.tokens[number % len(side.tokens)], number, until) for number in range(clients)]
    return [each for taken in await asyncio.gather(*callers) for each in taken]


async def _client(side: Side, ids: list[str], token: str, number: int, until: float) -> list[float]:
    chance = random.Random(number)
    reader, writer = await asyncio.open_connection("127.0.0.1", side.server.port)
    taken = []
    while time.perf_counter() < until:
        request = _request(side, token, chance, ids)
        began = time.perf_counter()
        writer.write(request)
        status, body = await _answer(reader)
        taken.append((time.perf_counter() - began) * 1000)
        if status != 200:
            sys.exit(f"api_under_load: {request.partition(b' HTTP')[0]!r} answers {status}: {body[:400]!r}")
    writer.close()
    return taken


def _request(side: Side, token: str, chance: random.Random, ids: list[str]) -> bytes:
    kind, cluster = chance.choice(_MIX), chance.choice(ids)
    body = b""
    match kind:
        case "list":
            method, path = "GET", f"{side.prefix}/clusters?limit={PAGE}&cursor={cluster}&{side.query}"
        case "one":
            method, path = "GET", f"{side.prefix}/clusters/{cluster}?{side.query}"
        case _:
            method, path = "PATCH", f"{side.prefix}/clusters/{cluster}?{side.query}"
            body = json.dumps({"termination_protection": chance.random() < 0.5}).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head += f"Authorization: Bearer {token}\r\n" if token else ""
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return head.encode() + b"\r\n" + body


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    return int(lines[0].split()[1]), await reader.readexactly(int(headers["content-length"]))


def _told(side: Side) -> str:
    return f"{side.per_core[-1]:.0f} per core, {side.per_second[-1]:.0f}/s"


def _p99(side: Side) -> float:
    return statistics.quantiles(side.milliseconds, n=100)[98]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--clusters", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
