"""What tables did in an hour, asked of a real Prometheus."""

from datetime import UTC, datetime, timedelta

from backend.metrics import usage
from backend.metrics.tests import samples
from backend.metrics.tests.test_metrics_api import asked, prometheus

__all__ = ["asked", "prometheus"]


def test_an_hour_is_asked_for_in_the_same_questions_whatever_there_is(asked: list[str]) -> None:
    # Nodes have served for half an hour; the samples go on for two.
    hour = datetime.now(UTC) - timedelta(minutes=30)
    found = usage.hours_of([samples.CLUSTER, samples.FOREIGN, "clu_unknown"], hour)
    assert set(found) == {samples.CLUSTER, samples.FOREIGN}
    assert len(asked) == 11
    orders = found[samples.CLUSTER].tables["shop", "orders"]
    # Of three nodes, 100 a second each; the window holds one scrape less than the hour.
    assert 3 * 100 * 3600 * 0.98 < orders.reads < 3 * 100 * 3600 * 1.02
    assert orders.live_bytes == 3 * 101_000
    assert found[samples.CLUSTER].tables["shop", "quiet"].reads == 0
    assert not any(keyspace == "system_auth" for keyspace, _ in found[samples.CLUSTER].tables)
    usage.hours_of([samples.CLUSTER], hour)
    assert len(asked) == 22


def test_an_older_hour_is_read_from_what_was_rolled_up(asked: list[str]) -> None:
    end = datetime.now(UTC) - timedelta(seconds=samples.KEPT_AGO)
    found = usage.hours_of([samples.CLUSTER], end - timedelta(hours=1))
    reads = found[samples.CLUSTER].tables["shop", "orders"].reads
    rate = samples.FIRST_READS + samples.READS["shop", "orders"]
    assert 11 * 300 * rate <= reads <= 12 * 300 * rate
    assert all("ringmaster_table" not in query or ":ringmaster_table" in query for query in asked)
