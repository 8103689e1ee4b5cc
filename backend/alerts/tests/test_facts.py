"""What Prometheus is told of clusters, read back with a parser of its format."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from backend.alerts.catalogue import RULES
from backend.alerts.facts import made_at
from backend.alerts.models import AlertOverride
from backend.backups.models import BackupLocation, BackupSchedule
from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.repairs.models import RepairTable
from backend.tuning.models import NodeTuning

PATH = "/metrics/clusters"


def facts(name: str) -> dict[tuple[str, ...], float]:
    """Samples of a metric by the values of its labels, without organisation and cluster."""
    text = Client().get(PATH).content.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return {
        tuple(value for label, value in sample.labels.items() if label not in ("organisation", "cluster")): sample.value
        for sample in families[name].samples
    }


def test_thresholds_are_the_clusters_own_and_a_rule_that_is_off_has_none(active: Cluster):
    AlertOverride.objects.create(cluster=active, rule="disk-70", threshold=0.5, for_seconds=60, changed_by="x")
    AlertOverride.objects.create(cluster=active, rule="node-down", enabled=False, changed_by="x")
    found = facts("ringmaster_alert_threshold")
    assert len(found) == len(RULES)
    assert (found[("disk-70",)], found[("disk-80",)]) == (0.5, 0.8)
    assert math.isnan(found[("node-down",)])
    assert facts("ringmaster_alert_for_seconds")[("disk-70",)] == 60


def test_a_node_that_comes_goes_or_was_stopped_is_not_expected_to_serve(active: Cluster):
    one, two, three = active.nodes.all()
    Node.objects.filter(id=one.id).update(stop_wanted=True)
    Node.objects.filter(id=two.id).update(state=NodeState.LEAVING)
    Node.objects.filter(id=three.id).update(state=NodeState.DOWN)
    found = {labels[-1]: value for labels, value in facts("ringmaster_node_expected_up").items()}
    assert found == {one.id: 0, two.id: 0, three.id: 1}


def test_drift_counts_checks_that_fail_now_and_settings_that_differ(active: Cluster):
    one, two, _ = active.nodes.all()
    Node.objects.filter(id=one.id).update(drift=[{"setting": "a", "wanted": 1, "found": 2}])
    checks = [{"name": name, "status": "fail"} for name in ("swap", "governor")]
    NodeTuning.objects.create(
        node=one, generation=one.generation, report={"checks": checks}, passed=["swap"], checked_at=datetime.now(UTC)
    )
    found = {labels[-1]: value for labels, value in facts("ringmaster_node_tuning_drift").items()}
    assert (found[one.id], found[two.id]) == (2, 0)


FACTS = {
    "replicas": 3,
    "gc_grace": 864_000.0,
    "compaction": "SizeTieredCompactionStrategy",
    "default_ttl": 0,
    "incremental": True,
    "has_views": False,
    "is_view": False,
    "bytes": 1,
    "unrepaired_bytes": 1,
}


def test_repairs_count_from_the_last_one_or_from_when_the_table_was_made(active: Cluster):
    now = datetime.now(UTC).replace(microsecond=0)
    made = "8f2a6c10-a5b8-11ef-9cd2-0242ac120002"
    for name, repaired_at, table_id in (
        ("old", now - timedelta(days=3), ""),
        ("new", None, made),
        ("odd", None, "not-an-id"),
    ):
        RepairTable.objects.create(
            cluster=active, keyspace="shop", name=name, table_id=table_id, facts=FACTS, repaired_at=repaired_at
        )
    RepairTable.objects.create(cluster=active, keyspace="shop", name="one", facts=FACTS | {"replicas": 1})
    active.refresh_from_db()
    found = facts("ringmaster_table_repair_counted_from_timestamp_seconds")
    born = made_at(made)
    assert born is not None
    assert born.year == 2024
    assert active.active_at is not None
    assert found == {
        ("shop", "old"): (now - timedelta(days=3)).timestamp(),
        ("shop", "new"): pytest.approx(born.timestamp()),
        ("shop", "odd"): pytest.approx((active.active_at or active.created_at).timestamp()),
    }
    assert facts("ringmaster_table_gc_grace_seconds")[("shop", "old")] == 864_000


def test_a_schedule_promises_the_second_turn_after_its_last_backup(active: Cluster):
    location = BackupLocation.objects.create(name="here", kind="folder", folder="/x", created_by="x")
    row = BackupSchedule.objects.create(
        cluster=active,
        location=location,
        name='ho"urly',
        interval_minutes=60,
        time_zone="UTC",
        created_by="x",
        keep_count=7,
    )
    found = facts("ringmaster_backup_promised_timestamp_seconds")
    assert found == {('ho"urly',): pytest.approx((row.created_at + timedelta(hours=2)).timestamp(), abs=3600)}


def test_strangers_learn_nothing(active: Cluster):
    answer = Client().get(PATH, REMOTE_ADDR="10.0.0.7")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "metrics_not_public")


def test_its_cost_in_statements_does_not_grow_with_clusters(
    active: Cluster, foreign: Cluster, django_assert_num_queries: Any
):
    with django_assert_num_queries(6):
        Client().get(PATH)
