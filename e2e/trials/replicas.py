"""Two of everything side by side, on one Postgres and one Redis: two APIs, two workers, two beats.

Clusters are ordered through either API while an event stream hangs on the other one; one of each kind is shot with
SIGKILL while orders are carried out. Nothing may be lost or done twice: every order ends, every step is recorded as
done once (by a trigger in the private database), there are as many machines as nodes, and beat's tasks come in at the
pace of one beat. Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.replicas [--orders 8]
"""

import argparse
import json
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import httpx
import redis

from e2e.simulated import Replicas, leaders, replicas, wait
from e2e.trials.order_under_fire import COUNT_DONE

_LONGEST_SECONDS = 240.0
_LISTENED_SECONDS = 10.0


@dataclass
class Events:
    """What one API's stream says, from a thread of its own."""

    ids: set[str] = field(default_factory=set)
    is_open: threading.Event = field(default_factory=threading.Event)

    def follow(self, client: httpx.Client) -> None:
        # Ended with the process, or by the shot at its API.
        with suppress(httpx.TransportError), client.stream("GET", "/events", timeout=300) as answer:
            self.is_open.set()
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    self.ids.update(str(value) for value in json.loads(line[5:]).values())


def client(url: str, token: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=30, trust_env=False)


def order(api: httpx.Client, number: int) -> str:
    """The id of the order's operation. The key makes a repeated order the same order, through whichever API."""
    wanted = {
        "name": f"replicas-{number}",
        "engine": "cassandra",
        "provider": "fake",
        "region": "fake-1",
        "zones": ["fake-1a", "fake-1b", "fake-1c"],
        "machine_type": "fake.small",
        "nodes_per_zone": 1,
    }
    key = {"Idempotency-Key": f"replicas-{number}"}
    answer = api.post("/clusters", json=wanted, headers=key).raise_for_status()
    operation: str = answer.json()["operation"]["id"]
    return operation


def health_tasks(redis_url: str, seconds: float) -> int:
    """How often beat rang for the health of clusters, as the broker saw it."""
    rung, until = 0, time.monotonic() + seconds
    with redis.from_url(redis_url, socket_timeout=1) as store, store.monitor() as monitor:
        while time.monotonic() < until:
            with suppress(redis.TimeoutError):
                command = str(monitor.next_command()["command"])
                rung += command.startswith("LPUSH") and "provisioner.reconcile_health" in command
    return rung


def run(product: Replicas, orders: int) -> dict[str, object]:
    from django.db import connection

    from backend.clusters.models import Node
    from backend.operations.models import Operation, OperationStep
    from provisioner.worker import HEALTH_EVERY

    with connection.cursor() as cursor:
        cursor.execute(COUNT_DONE)
    first, second = (client(url, product.token) for url in product.urls)
    events = Events()
    threading.Thread(target=events.follow, args=(second,), daemon=True).start()
    if not events.is_open.wait(30):
        raise TimeoutError("no event stream")

    # Both beats have had the time to ring.
    wait(lambda: leaders() == 1, 60)
    rung = health_tasks(product.redis_url, _LISTENED_SECONDS)

    operations = [order((first, second)[number % 2], number) for number in range(orders // 2)]
    repeated = [order((second, first)[number % 2], number) for number in range(orders // 2)]
    through_first = set(operations[::2])
    wait(lambda: _ended(operations[:1]), _LONGEST_SECONDS)
    wait(lambda: through_first <= events.ids, 30)

    operations += [order(second, number) for number in range(orders // 2, orders)]
    wait(lambda: OperationStep.objects.filter(operation__in=operations[orders // 2 :], state="done").exists(), 60)
    for shoot in product.shots:
        shoot()
    operations.append(order(second, orders))
    wait(lambda: _ended(operations), _LONGEST_SECONDS)
    wait(lambda: leaders() == 1, 30)

    with connection.cursor() as cursor:
        cursor.execute("SELECT step, count(*) FROM recorded GROUP BY step")
        recorded = Counter(dict(cursor.fetchall()))
    steps = set(OperationStep.objects.filter(operation__in=operations).values_list("id", flat=True))
    states = Counter(Operation.objects.filter(id__in=operations).values_list("state", flat=True))
    nodes = Node.objects.filter(deleted_at=None).count()
    machines = len(product.fleet.provider().list_machines(region="fake-1"))
    return {
        "orders": len(operations),
        "succeeded": states["succeeded"],
        "repeated_through_the_other": repeated == operations[: orders // 2],
        "events_of_the_other": through_first <= events.ids,
        "steps": len(steps),
        "steps_done_once": sum(recorded[step] == 1 for step in steps),
        "nodes": nodes,
        "machines": machines,
        "health_tasks": rung,
        "health_tasks_of_one_beat": _LISTENED_SECONDS / HEALTH_EVERY,
    }


def _ended(operations: list[str]) -> bool:
    from backend.operations.models import Operation

    return Operation.objects.filter(id__in=operations, finished_at=None).count() == 0


def is_good(found: dict[str, object]) -> bool:
    rung, of_one = found["health_tasks"], found["health_tasks_of_one_beat"]
    assert isinstance(rung, int)
    assert isinstance(of_one, float)
    return (
        found["succeeded"] == found["orders"]
        and found["repeated_through_the_other"] is True
        and found["events_of_the_other"] is True
        and found["steps_done_once"] == found["steps"]
        and found["machines"] == found["nodes"]
        and of_one - 2 <= rung <= of_one + 1
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=8)
    orders = parser.parse_args().orders
    began = time.monotonic()
    with replicas() as product:
        found = run(product, orders)
    good = is_good(found)
    print(json.dumps(found | {"good": good, "seconds": round(time.monotonic() - began, 1)}))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
