"""What engines have otherwise than they should is written down, and nothing is changed."""

import pytest

from backend.clusters.models import Cluster, Node
from provisioner.engines.base import Entry
from provisioner.operations.machine_steps import put_config
from provisioner.operations.node_steps import live_nodes
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.reconcile.drift import compare_settings

pytestmark = pytest.mark.django_db(transaction=True)


def test_differences_are_written_down_and_go_again() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        assert compare_settings() == 3
        assert all(node.drift == [] for node in Node.objects.filter(cluster_id=world.cluster_id))
        # Somebody writes another configuration to the first node, and the engine takes it over.
        nodes = live_nodes(Cluster.objects.get(id=world.cluster_id))
        put_config(nodes[0], nodes, Entry.MEMBER, settings={"read_timeout_ms": 900})
        agent = world.agents.client(node_id=nodes[0].id, address=nodes[0].agent_address)
        agent.ensure_job("by-hand", "apply-settings", {})
        Cluster.objects.filter(id=world.cluster_id).update(settings={"read_timeout_ms": 5000})
        before = world.agents.engines()
        assert compare_settings() == 3
        drift = {node.name: node.drift for node in Node.objects.filter(cluster_id=world.cluster_id)}
        assert drift["demo-fake-1a-1"] == [{"setting": "read_timeout_ms", "wanted": "5000ms", "found": "900ms"}]
        assert world.agents.engines() == before
        Cluster.objects.filter(id=world.cluster_id).update(settings={"read_timeout_ms": 900})
        compare_settings()
        assert Node.objects.get(id=nodes[0].id).drift == []


def test_a_cluster_that_is_worked_on_is_left_alone() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.create()
        assert compare_settings() == 0
