"""A plan by what a cluster of one's own did, as a real Prometheus has it."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from backend.clusters.models import Cluster, Node
from backend.clusters.tests.conftest import _catalog, active, api, creating
from backend.conftest import ApiClient, Tenant
from backend.prices import actions as prices
from infra.metrics import serving

__all__ = ["_catalog", "active", "api", "creating"]

DAY, STEP = 86_400, 300
END = int(time.time()) // STEP * STEP
OWN, IDLE, YOUNG = "clu_01own", "clu_01idle", "clu_01young"

ORDER: dict[str, Any] = {
    "engine": "cassandra",
    "provider": "aws",
    "reads_per_second": 10_000,
    "writes_per_second": 10_000,
    "data_bytes": 2**40,
    "p99_ms": 10,
    "spare_percent": 0,
}


def openmetrics() -> Iterator[str]:
    """Three nodes of 16 vCPUs, a quarter of them busy; on each 3,000 reads, 100 of ranges and 1,900 writes a second."""
    for cluster, seconds, busy in ((OWN, 8 * DAY, 4), (IDLE, 8 * DAY, 1), (YOUNG, 5 * DAY, 4)):
        for number in range(3):
            of = f'organisation="org_a",cluster="{cluster}",datacenter="dc",zone="a",node="nod_{number}"'
            shop, own = f'{of},keyspace="shop",table="orders"', f'{of},keyspace="system",table="local"'
            rates = {
                f'node:ringmaster_node_cpu_seconds_total:rate5m{{{of},cpu="0",mode="idle",irq="0"}}': 15 - busy,
                f'node:ringmaster_node_cpu_seconds_total:rate5m{{{of},cpu="0",mode="iowait",irq="0"}}': 1,
                f'node:ringmaster_node_cpu_seconds_total:rate5m{{{of},cpu="0",mode="user",irq="0"}}': busy,
                f"table:ringmaster_table_read_latency_seconds_count:rate5m{{{shop}}}": 3000,
                f"table:ringmaster_table_range_read_latency_seconds_count:rate5m{{{shop}}}": 100,
                f"table:ringmaster_table_write_latency_seconds_count:rate5m{{{shop}}}": 1900,
                f"table:ringmaster_table_write_latency_seconds_count:rate5m{{{own}}}": 5000,
            }
            for kind, low, high in (("read", "0.004", "0.008"), ("write", "0.001", "0.002")):
                name = f'node:ringmaster_node_client_request_latency_seconds_bucket:rate5m{{{of},kind="{kind}"'
                rates |= {f'{name},le="{low}"}}': 0, f'{name},le="{high}"}}': 100, f'{name},le="+Inf"}}': 100}
            for at in range(END - seconds, END + 1, STEP):
                for name, value in rates.items():
                    yield f"{name} {value} {at}\n"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    serving.load(folder, openmetrics(), block="54h")
    with serving.serving(folder) as url:
        yield url


@pytest.fixture
def own(prometheus: str, settings: Any, active: Cluster) -> Cluster:
    """The cluster `orders`, on machines of AWS, and with a week behind it."""
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": prometheus})
    prices.load()
    Node.objects.update(machine_type="i3.4xlarge")
    return renamed(active, OWN)


def renamed(cluster: Cluster, cluster_id: str) -> Cluster:
    """As the series name it."""
    columns = {field.attname: getattr(cluster, field.attname) for field in Cluster._meta.concrete_fields}
    found = Cluster.objects.create(
        **columns | {"id": cluster_id, "name": cluster_id[-5:].strip("_"), "provider": "aws"}
    )
    Node.objects.filter(cluster=cluster).update(cluster=found)
    return found


def test_a_busy_week_is_told_and_planned_by(api: ApiClient, own: Cluster) -> None:
    (measured,) = api.get("/sizing").json()["measured"]
    # 5,000 operations on replicas ÷ 4 s that vCPUs were busy = 1,250; half of it is planned with.
    assert measured == {
        "cluster": {"id": OWN, "name": own.name},
        "engine": "cassandra",
        "machine_type": "i3.4xlarge",
        "vcpus": 16,
        "nodes": 3,
        "operations_per_second": 15_000,
        "busy_percent": 25.0,
        "p99_ms": 8,
        "work_per_vcpu": 625,
    }
    answer = api.post("/sizing", ORDER | {"like_cluster_id": OWN})
    found = answer.json()
    assert (answer.status_code, found["calibrated_by"], found["measured_by"], found["is_as_seen"]) == (
        200,
        None,
        measured,
        True,
    )
    assert "25 % busy in the mean" in found["assumptions"][0]
    (shape,) = [shape for shape in found["shapes"] if shape["family"] == "i3"]
    throughput = shape["limits"][0]
    assert throughput["needs"] == 10_000 * 2 + 10_000 * 3
    counted = min(shape["vcpus"], 16)
    assert throughput["holds"] == shape["nodes"] * counted * 625


def test_a_lower_p99_than_it_had_is_in_proportion(api: ApiClient, own: Cluster) -> None:
    found = api.post("/sizing", ORDER | {"like_cluster_id": OWN, "p99_ms": 4}).json()
    assert found["is_as_seen"] is False
    assert any(sentence.startswith(f"{own.name} had no p99 of 4 ms") for sentence in found["assumptions"])
    (shape,) = [shape for shape in found["shapes"] if shape["family"] == "i3"]
    assert shape["limits"][0]["holds"] == int(shape["nodes"] * min(shape["vcpus"], 16) * 312.5)


@pytest.mark.parametrize("cluster_id", [IDLE, YOUNG])
def test_what_idled_or_is_young_tells_nothing(api: ApiClient, own: Cluster, cluster_id: str) -> None:
    renamed(own, cluster_id)
    assert api.get("/sizing").json()["measured"] == []
    answer = api.post("/sizing", ORDER | {"like_cluster_id": cluster_id})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "like_cluster_id")


def test_nobody_plans_by_a_cluster_of_others_or_of_another_engine(
    api: ApiClient, own: Cluster, stranger: Tenant
) -> None:
    theirs = stranger.api()
    assert theirs.get("/sizing").json()["measured"] == []
    assert theirs.post("/sizing", ORDER | {"like_cluster_id": OWN}).status_code == 422
    assert api.post("/sizing", ORDER | {"like_cluster_id": OWN, "engine": "scylla"}).status_code == 422


def test_machines_that_differ_and_those_of_one_machine_tell_nothing(api: ApiClient, own: Cluster) -> None:
    Cluster.objects.filter(id=OWN).update(provider="local")
    assert api.get("/sizing").json()["measured"] == []
    Cluster.objects.filter(id=OWN).update(provider="aws")
    Node.objects.filter(id=Node.objects.values_list("id").first()[0]).update(machine_type="i3.8xlarge")  # type: ignore[index]
    assert api.get("/sizing").json()["measured"] == []


def test_without_metrics_plans_go_by_what_was_published(api: ApiClient, own: Cluster, settings: Any) -> None:
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_prometheus_url": "http://127.0.0.1:9"})
    assert api.get("/sizing").json()["measured"] == []
    assert api.post("/sizing", ORDER).json()["calibrated_by"]["version"] == "3.11"
