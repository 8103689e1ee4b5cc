"""Giving a node a configuration that differs in version or settings, and taking it back: upgrades and settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backend.clusters.models import Node
from provisioner.engines.base import Entry
from provisioner.operations.base import Wait
from provisioner.operations.machine_steps import put_config
from provisioner.operations.node_steps import live_nodes, ring_of
from provisioner.operations.surroundings import surroundings


@dataclass(frozen=True)
class Wanted:
    """What a configuration says beside names and addresses. Left out: what the cluster has."""

    version: str = ""
    settings: Mapping[str, Any] | None = None


def configure(node: Node, wanted: Wanted) -> Wait | None:
    return put_config(node, live_nodes(node.cluster), Entry.MEMBER, version=wanted.version, settings=wanted.settings)


def revision_of(node: Node, wanted: Wanted) -> str:
    """Of the configuration that `configure` would give the node."""
    cluster = node.cluster
    ring = ring_of(cluster, live_nodes(cluster), version=wanted.version, settings=wanted.settings)
    member = next(member for member in ring.members if member.node_id == node.id)
    return surroundings().engine(cluster.engine).node_config(ring, member, Entry.MEMBER).revision
