"""What a thousand clusters cost the control plane: reconcilers, statements, memory, and orders and pages beside them.

API, workers and beat as in production, on a private durable Postgres and Redis, against the fleet simulator
(provisioner/fleet/), which answers for every machine and every agent. Planted first with a tenth of the clusters, then
with all; at each size what the processes of the control plane use while nothing happens is measured for a while:
their CPU from /proc, statements from pg_stat_statements. The simulator's own CPU is not counted, nor is TLS, which it
does not speak.

`ratio` is CPU per node at full size over CPU per node at a tenth of it. Looks at quiet clusters become rarer when there
are many (docs/healing.md), which makes it small; so the notes also say how long a round of looks takes, and what the
whole control plane uses per look.

Then, at full size: the time until a machine's death is seen and until its node serves again, the API's p99 with
reconcilers only and while 200 orders are carried out, and how long these take. One JSON object is the last line.

    python -m e2e.bench.fleet [--clusters 1000] [--seconds 60] [--orders 200]
"""

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from e2e.bench.durable import Processes, Stores, durable_stores
from e2e.bench.fleet_rows import REGION, ZONES, plant_clusters
from e2e.bench.tenants import Tenant, tenant_of
from e2e.serving import Server, serving
from e2e.simulated import fleet_simulator, start_celery, wait
from provisioner.fleet.client import Fleet

WORKERS = 4
MOST_RATIO = 1.2
MOST_CPU_PER_CLUSTER_HOUR = 0.5  # seconds
MOST_STATEMENTS_PER_CLUSTER_HOUR = 30
_SETTLE_SECONDS = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each size is measured")
    parser.add_argument("--orders", type=int, default=200, help="clusters ordered at once at the end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rm-fleet-") as folder:
        socket = Path(folder) / "fleet.sock"
        with (
            fleet_simulator(socket) as fleet,
            durable_stores(["shared_preload_libraries=pg_stat_statements"]) as stores,
        ):
            return run(stores, fleet, options)


@dataclass(frozen=True)
class Usage:
    """What the control plane used in `seconds`: CPU seconds by process, statements, looks at nodes."""

    nodes: int
    clusters: int
    seconds: float
    cpu: dict[str, float]
    statements: int
    looks: int
    rss_mib: dict[str, float]
    round_seconds: float

    @property
    def cpu_seconds(self) -> float:
        return sum(self.cpu.values())

    @property
    def cpu_per_node_hour(self) -> float:
        return self.cpu_seconds / self.nodes / self.seconds * 3600

    @property
    def cpu_per_cluster_hour(self) -> float:
        return self.cpu_seconds / self.clusters / self.seconds * 3600

    @property
    def cpu_ms_per_look(self) -> float:
        return self.cpu_seconds / max(1, self.looks) * 1000

    @property
    def statements_per_cluster_hour(self) -> float:
        return self.statements / self.clusters / self.seconds * 3600


class ControlPlane:
    """The processes that are measured, by name, each with its children."""

    def __init__(self, stores: Stores, processes: Processes, api: Server) -> None:
        self._folder = stores.folder
        me = psutil.Process()
        self._roots: dict[str, list[psutil.Process]] = {"api": [psutil.Process(api.pid)]}
        for number in range(2):
            name = ("worker", "beat")[number]
            self._roots[name] = [psutil.Process(start_celery(processes, name, stores, workers=WORKERS))]
        self._roots["postgres"] = [p for p in me.children() if _runs(p, "postgres")]
        self._roots["redis"] = [p for p in me.children() if _runs(p, "redis")]

    def cpu(self) -> dict[str, float]:
        return {name: sum(_cpu(p) for p in self._tree(name)) for name in self._roots}

    def rss_mib(self) -> dict[str, float]:
        """Memory that is not shared with others, by name."""
        return {name: sum(_memory(p) for p in self._tree(name)) / 2**20 for name in self._roots}

    def _tree(self, name: str) -> list[psutil.Process]:
        found = []
        for root in self._roots[name]:
            found += [root, *root.children(recursive=True)]
        return found


def _runs(process: psutil.Process, what: str) -> bool:
    with process.oneshot():
        return any(what in word for word in process.cmdline()[:8])


def _cpu(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().uss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def run(stores: Stores, fleet: Fleet, options: argparse.Namespace) -> int:
    from django.db import connection

    from backend.catalog import actions as catalog
    from backend.clusters import authorities

    catalog.load(with_tests=True)
    authorities.ensure_control_plane_pki()
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    tenant = tenant_of("fleet")
    processes = Processes(stores.folder)
    try:
        with serving("backend.config.asgi:application") as api:
            plane = ControlPlane(stores, processes, api)
            tenth = options.clusters // 10
            small_nodes = _plant(fleet, tenant, first=0, count=tenth)
            small = measure(plane, fleet, clusters=tenth, nodes=small_nodes, seconds=options.seconds)
            more = _plant(fleet, tenant, first=tenth, count=options.clusters - tenth)
            large = measure(plane, fleet, clusters=options.clusters, nodes=small_nodes + more, seconds=options.seconds)
            death = see_a_death(fleet)
            quiet = api_p99(api, tenant, lambda: False, seconds=15)
            orders = order_many(api, tenant, options.orders)
            return report(small, large, death, quiet, orders)
    except BaseException:
        for name in ("worker", "beat"):
            log = stores.folder / f"{name}.log"
            if log.exists():
                print(f"--- {name}\n{log.read_text()[-3000:]}", file=sys.stderr)
        raise
    finally:
        processes.end_all()


def _plant(fleet: Fleet, tenant: Tenant, *, first: int, count: int) -> int:
    from django.db import connection

    began = time.monotonic()
    nodes = plant_clusters(fleet, tenant, first=first, count=count)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(f"planted {count} clusters with {nodes} nodes in {time.monotonic() - began:.0f} s", flush=True)
    return nodes


def measure(plane: ControlPlane, fleet: Fleet, *, clusters: int, nodes: int, seconds: float) -> Usage:
    """What is used while nothing happens, once every node has been looked at and a round of all has its pace."""
    from backend.clusters.models import Node
    from provisioner.reconcile import lasting

    wait(lambda: not Node.objects.filter(deleted_at=None, observed_at=None).exists(), 900)
    turn = lasting.recall("health").get("turn", 0)
    wait(lambda: lasting.recall("health").get("turn", 0) >= turn + 2, 900)
    time.sleep(_SETTLE_SECONDS)
    cpu, statements, looks = plane.cpu(), _statements(), fleet.world("looks")
    began = time.monotonic()
    time.sleep(seconds)
    taken = time.monotonic() - began
    # Its own statement is not one of theirs.
    statements = _statements() - statements - 1
    looks = fleet.world("looks") - looks
    usage = Usage(
        nodes=nodes,
        clusters=clusters,
        seconds=taken,
        cpu={name: used - cpu[name] for name, used in plane.cpu().items()},
        statements=statements,
        looks=looks,
        rss_mib=plane.rss_mib(),
        round_seconds=lasting.recall("health")["round_seconds"],
    )
    print_usage(usage)
    return usage


def print_usage(usage: Usage) -> None:
    print(f"\n{usage.clusters} clusters, {usage.nodes} nodes, {usage.seconds:.0f} s")
    for name, used in usage.cpu.items():
        print(f"  {name:10} {used / usage.seconds * 100:6.2f} % of a core  {usage.rss_mib[name]:7.0f} MiB")
    print(f"  a round of all quiet clusters takes {usage.round_seconds:.1f} s; {usage.looks} looks at nodes")
    print(f"  CPU per look            {usage.cpu_ms_per_look:8.2f} ms")
    print(f"  CPU per node and hour   {usage.cpu_per_node_hour:8.3f} s")
    print(f"  CPU per idle cluster and hour         {usage.cpu_per_cluster_hour:8.3f} s")
    print(f"  statements per idle cluster and hour  {usage.statements_per_cluster_hour:8.1f}", flush=True)


def _statements() -> int:
    """Statements this database has carried out, whoever asked."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COALESCE(sum(calls), 0) FROM pg_stat_statements"
            " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        return int(cursor.fetchone()[0])


def see_a_death(fleet: Fleet) -> tuple[float, float]:
    """Seconds from the power loss of one machine until its node is shown to be down, and until it is up again."""
    from backend.clusters.models import Node
    from provisioner.operations import names

    victim = Node.objects.filter(deleted_at=None, state="up").order_by("?")[0]
    fleet.provider().kill_machine(region=REGION, name=names.machine(victim))
    began = time.monotonic()

    def state() -> str:
        return Node.objects.values_list("state", flat=True).get(id=victim.id)

    wait(lambda: state() == "down", 300)
    seen = time.monotonic() - began
    wait(lambda: state() == "up", 300)
    healed = time.monotonic() - began
    print(
        f"\na machine's death was seen after {seen:.1f} s; it was started, and served after {healed:.1f} s", flush=True
    )
    return seen, healed


class Caller:
    """One program that speaks to the API over a kept connection."""

    def __init__(self, api: Server, tenant: Tenant) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=120)
        self._headers = {"Authorization": f"Bearer {tenant.token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", body=content, headers=self._headers)
        answer = self._connection.getresponse()
        read = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: HTTP {answer.status}: {read[:300]!r}")
        found: dict[str, Any] = json.loads(read)
        return found


def api_p99(api: Server, tenant: Tenant, over: Callable[[], bool], *, seconds: float) -> tuple[float, float]:
    """Median and p99, in milliseconds, of reading a page of the list and one cluster, about ten times a second."""
    caller, times = Caller(api, tenant), []
    some = caller.call("GET", "/clusters?limit=100")["items"]
    give_up_at, number = time.monotonic() + seconds, 0
    while time.monotonic() < give_up_at and not over():
        path = "/clusters?limit=100" if number % 2 else f"/clusters/{some[number % len(some)]['id']}"
        began = time.perf_counter()
        caller.call("GET", path)
        times.append((time.perf_counter() - began) * 1000)
        number += 1
        time.sleep(0.1)
    found = statistics.quantiles(times, n=100) if len(times) > 1 else times * 99
    return statistics.median(times), found[98]


@dataclass(frozen=True)
class Orders:
    number: int
    seconds: float
    succeeded: int
    accepted_seconds: float
    p50_ms: float
    p99_ms: float


def order_many(api: Server, tenant: Tenant, number: int) -> Orders:
    """Order so many clusters at once and wait for them, while pages are read."""
    from backend.operations.models import Operation

    if not number:
        return Orders(0, 0.0, 0, 0.0, 0.0, 0.0)
    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        done = threading.Event()
        reading = pool.submit(api_p99, api, tenant, done.is_set, seconds=900)
        try:
            ordered = list(pool.map(lambda one: _order(api, tenant, one), range(number)))
            accepted = time.monotonic() - began
            open_ones = Operation.objects.filter(id__in=ordered).exclude(state__in=["succeeded", "failed", "cancelled"])
            wait(lambda: not open_ones.exists(), 900)
            seconds = time.monotonic() - began
        finally:
            done.set()
        median, p99 = reading.result()
    succeeded = Operation.objects.filter(id__in=ordered, state="succeeded").count()
    print(
        f"\n{number} orders: accepted within {accepted:.1f} s, {succeeded} carried out within {seconds:.1f} s; "
        f"meanwhile the API answered in {median:.0f} ms (median), {p99:.0f} ms (p99)",
        flush=True,
    )
    return Orders(number, seconds, succeeded, accepted, median, p99)


def _order(api: Server, tenant: Tenant, number: int) -> str:
    wanted = {
        "name": f"ordered-{number:04}",
        "engine": "cassandra",
        "provider": "fake",
        "region": REGION,
        "zones": list(ZONES),
        "machine_type": "fake.small",
        "nodes_per_zone": 1,
    }
    operation: str = Caller(api, tenant).call("POST", "/clusters", wanted)["operation"]["id"]
    return operation


def report(small: Usage, large: Usage, death: tuple[float, float], quiet: tuple[float, float], orders: Orders) -> int:
    ratio = large.cpu_per_node_hour / small.cpu_per_node_hour
    per_look = large.cpu_ms_per_look / small.cpu_ms_per_look
    good = (
        ratio <= MOST_RATIO
        and large.cpu_per_cluster_hour <= MOST_CPU_PER_CLUSTER_HOUR
        and large.statements_per_cluster_hour <= MOST_STATEMENTS_PER_CLUSTER_HOUR
        and orders.succeeded == orders.number
    )
    print(
        json.dumps(
            {
                "name": "fleet",
                "ours": round(large.cpu_per_node_hour, 4),
                "other": round(small.cpu_per_node_hour, 4),
                "unit": "CPU seconds of the control plane per node and hour",
                "ratio": round(ratio, 3),
                "runs": 1,
                "notes": (
                    f"{large.clusters} clusters of {large.nodes} nodes against {small.clusters} of {small.nodes}; "
                    f"per look {large.cpu_ms_per_look:.2f} ms against {small.cpu_ms_per_look:.2f} ms, ratio "
                    f"{per_look:.2f}; an idle cluster costs {large.cpu_per_cluster_hour:.3f} CPU seconds and "
                    f"{large.statements_per_cluster_hour:.1f} statements an hour (extrapolated from "
                    f"{large.seconds:.0f} s); round {large.round_seconds:.1f} s; memory "
                    f"{sum(large.rss_mib.values()):.0f} MiB; death seen after {death[0]:.1f} s, healed after "
                    f"{death[1]:.1f} s; API p99 {quiet[1]:.0f} ms, {orders.p99_ms:.0f} ms during {orders.number} "
                    f"orders, done in {orders.seconds:.0f} s"
                ),
            }
        )
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
