"""Agents are asked about their machines' tuning now and then, and what got worse is told."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from backend.clusters.models import Node
from backend.findings.models import Finding
from backend.tuning.models import NodeTuning
from provisioner import runner
from provisioner.agent.fake import AgentFault
from provisioner.operations import registry
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world, without_waiting
from provisioner.reconcile.tuning import refresh_reports

pytestmark = pytest.mark.django_db(transaction=True)


def make_old() -> None:
    NodeTuning.objects.update(checked_at=timezone.now() - timedelta(hours=2))


def open_findings() -> list[tuple[str, str]]:
    rows = Finding.objects.filter(code="tuning-drift", state="open").order_by("subject_name")
    return list(rows.values_list("subject_name", "sentence"))


def test_what_an_operation_wrote_down_is_renewed_when_it_is_old() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        assert NodeTuning.objects.filter(node__cluster_id=world.cluster_id).count() == 3
        assert refresh_reports() == 0
        make_old()
        assert refresh_reports() == 3
        assert refresh_reports() == 0


def test_an_unchanged_fleet_costs_one_write_for_all() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.nodes_per_zone = 4
        world.created()
        make_old()
        with CaptureQueriesContext(connection) as asked:
            assert refresh_reports() == 12
        assert [query["sql"].split()[0] for query in asked.captured_queries] == ["SELECT", "SELECT", "UPDATE", "SELECT"]


def test_what_passed_and_fails_later_is_a_finding_until_it_passes() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        node = Node.objects.filter(cluster_id=world.cluster_id)[0]
        world.agents.change(node.id, untuned={"scheduler": "nvme0n1 mq-deadline"})
        make_old()
        refresh_reports()
        [(name, sentence)] = open_findings()
        assert name == node.name
        assert "I/O scheduler: nvme0n1 mq-deadline instead of nvme0n1 none" in sentence
        world.agents.change(node.id, untuned={})
        make_old()
        refresh_reports()
        assert open_findings() == []


def test_what_never_passed_is_in_the_report_and_no_finding() -> None:
    with cluster_world(ClusterWorld.create) as world:
        operation = world.create()
        for node in Node.objects.filter(cluster_id=world.cluster_id):
            world.agents.preset(node.id, untuned={"swap": "/swapfile"})
        world.finish(operation)
        make_old()
        assert refresh_reports() == 3
        assert open_findings() == []


def test_a_silent_agent_keeps_its_last_report() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        make_old()
        world.agents.inject(AgentFault(name="unreachable", call="tuning", times=1))
        assert refresh_reports() == 2
        world.agents.end_faults()
        assert refresh_reports() == 1


def test_the_step_shows_where_a_first_boot_is_and_why_it_failed() -> None:
    with cluster_world(ClusterWorld.create) as world:
        operation = world.create()
        nodes = list(Node.objects.filter(cluster_id=world.cluster_id))
        for node in nodes:
            world.agents.preset(node.id, boot_step="array")
        while not (steps := list(operation.steps.filter(name="reach_agent").exclude(message=""))):
            runner.run(operation.id, find_code=registry.find)
            without_waiting(operation)
        told = f"{nodes[0].name}, first boot: Make or mount the array (array, 3 of 7)"
        assert steps[0].message == told
        lost = {"code": "local-data-lost", "message": "The disks are blank."}
        world.agents.change(nodes[0].id, boot_step="disk-decision", boot_error=lost)
        without_waiting(operation)
        runner.run(operation.id, find_code=registry.find)
        operation.refresh_from_db()
        assert (operation.state, operation.reason_code) == ("blocked", "local-data-lost")
        assert nodes[0].name in operation.reason
        assert "Cancel the operation" in operation.reason_hint
        assert NodeTuning.objects.get(node=nodes[0]).report["first_boot"]["state"] == "failed"
