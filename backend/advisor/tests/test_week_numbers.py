"""What the rules are told of a node's week, asked of a real Prometheus that has what was rolled up."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.advisor import numbers
from backend.advisor.rules.facts import DAY, Node
from backend.advisor.rules.machines import KNOWN_SHARE, WEEK
from backend.metrics.promql import Resolution
from infra.metrics import serving

CLUSTER, NODE, YOUNG = "clu_01week00000000000000000000", "nod_01week", "nod_02week"
STEP = 300
END = int(time.time()) // STEP * STEP


def openmetrics() -> Iterator[str]:
    """Two CPUs, each busy for a tenth of the time and in one of twelve stretches for half of it; reads of 2 to 4 ms."""
    for node, seconds in ((NODE, 8 * DAY), (YOUNG, 2 * DAY)):
        of = f'organisation="org_a",cluster="{CLUSTER}",datacenter="dc",zone="a",node="{node}"'
        for at in range(END - seconds, END + 1, STEP):
            peak = at // STEP % 12 == 0
            busy = 0.5 if peak else 0.1
            rates = {
                'cpu_seconds_total:rate5m{%s,cpu="0",mode="idle",irq="0"}': 1 - busy,
                'cpu_seconds_total:rate5m{%s,cpu="0",mode="user",irq="0"}': busy,
                'cpu_seconds_total:rate5m{%s,cpu="1",mode="idle",irq="0"}': 1 - busy,
                'cpu_seconds_total:rate5m{%s,cpu="1",mode="user",irq="0"}': busy,
                'client_request_latency_seconds_count:rate5m{%s,kind="read"}': 900 if peak else 100,
                'client_request_latency_seconds_count:rate5m{%s,kind="range"}': 7,
                'client_request_latency_seconds_count:rate5m{%s,kind="write"}': 50,
                'client_request_latency_seconds_bucket:rate5m{%s,kind="read",le="0.002"}': 0,
                'client_request_latency_seconds_bucket:rate5m{%s,kind="read",le="0.004"}': 100,
                'client_request_latency_seconds_bucket:rate5m{%s,kind="read",le="+Inf"}': 100,
                'network_receive_bytes_total:rate5m{%s,device="eth0"}': 3000,
                'network_receive_bytes_total:rate5m{%s,device="lo"}': 10**9,
                'network_transmit_bytes_total:rate5m{%s,device="eth0"}': 5000,
            }
            for name, value in rates.items():
                yield f"node:ringmaster_node_{name % of} {value} {at}\n"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    serving.load(folder, openmetrics(), block="54h")
    with serving.serving(folder) as url:
        yield url


@pytest.fixture
def nodes(prometheus: str, settings: Any) -> dict[str, Node]:
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": prometheus})
    at = datetime.fromtimestamp(END, UTC)
    _, found = numbers.read(CLUSTER, window=timedelta(days=1), resolution=Resolution.ROLLED_UP, at=at)
    return {each: Node(id=each, name=each, **values) for each, values in found.items()}


def test_a_week_is_told_by_its_busy_stretches(nodes: dict[str, Node]):
    node = nodes[NODE]
    # One stretch in twelve is more than one in twenty.
    assert node.cpu == pytest.approx(0.5)
    assert (node.client_reads, node.client_writes) == (pytest.approx(907), pytest.approx(50))
    assert (node.received, node.sent) == (pytest.approx(3000), pytest.approx(5000))
    # 99 of 100 within 2 to 4 ms.
    assert node.read_p99 == pytest.approx(0.00398)
    assert node.write_p99 is None


def test_it_is_known_how_much_of_a_week_was_seen(nodes: dict[str, Node]):
    assert nodes[NODE].known_seconds == pytest.approx(WEEK, rel=0.01)
    young = nodes[YOUNG].known_seconds
    assert young == pytest.approx(2 * DAY, rel=0.01)
    assert young < KNOWN_SHARE * WEEK
