"""A cluster is ordered on emulated AWS and Google Cloud, through their own SDKs, down to rows in a real ring; and the
order is one trace, down to the jobs of the real agents."""

import pytest

from e2e.collector import Collector, collecting
from e2e.trials.order_on_emulated_cloud import CLOUDS, try_on

pytestmark = pytest.mark.change


@pytest.mark.parametrize("cloud", CLOUDS)
def test_an_order_ends_in_rows_and_a_deletion_leaves_nothing(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        result = try_on(cloud)
    assert result.good, result.line()
    assert_the_order_is_one_trace(collector)


def assert_the_order_is_one_trace(collector: Collector) -> None:
    (order,) = collector.named("operation create_cluster")
    ours = [span for span in collector.spans if span.trace == order.trace]
    assert {span.service for span in ours} == {"ringmaster-api", "ringmaster-worker", "ringmaster-agent"}
    known = collector.by_id()
    assert [span.name for span in ours if span.parent and span.parent not in known] == []
    starts = [span for span in ours if span.name == "job start"]
    assert len({span.attributes["ringmaster.node.id"] for span in starts}) == 3
    for start in starts:
        assert collector.above(start) == [
            "PUT /v1/jobs/{name}",
            "PUT /v1/jobs/{name}",
            "attempt start_engine",
            "step start_engine",
            "operation create_cluster",
            "order create_cluster",
            "POST /api/v1/clusters",
        ]
