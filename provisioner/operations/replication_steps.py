"""Where keyspaces have replicas: altered when a data centre comes or goes, or has fewer nodes than replicas."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from backend.access import queries as access
from backend.clusters.models import Datacenter, Node
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, Outcome, StepContext, Wait
from provisioner.operations.inspect_steps import run_fresh
from provisioner.operations.membership import disagreement, hindrance, leavers, members, newcomers
from provisioner.operations.node_steps import datacenter_of, run_job

SYSTEM_KEYSPACES = ("ringmaster", "system_auth", "system_distributed", "system_traces")
"""Those of the engine and of ours that have replicas on several nodes: every data centre needs them."""

_AUTH = "system_auth"
_SIMPLE = "SimpleStrategy"

Replication = dict[str, int]


def check_keyspaces(context: StepContext) -> Outcome:
    """Every keyspace says by data centre how often it is replicated. The system's own are altered so, where needed.

    With SimpleStrategy rows would belong to nodes of the new data centre from the moment they join, without data.
    Blocked when a user's keyspace has it.
    """
    keyspaces = _keyspaces(context)
    if isinstance(keyspaces, Wait):
        return keyspaces
    simple = [keyspace for keyspace in keyspaces if keyspace["class"] == _SIMPLE]
    if users := sorted(keyspace["name"] for keyspace in simple if not keyspace["system"]):
        raise Blocked(
            "simple-strategy",
            f"{', '.join(users)} has the replication strategy SimpleStrategy, which knows no data centres.",
            "Alter it to NetworkTopologyStrategy, run a repair if the number of replicas grows, and retry; or cancel.",
        )
    nodes_in: dict[str, int] = {}
    for node in members(context):
        nodes_in[node.datacenter.name] = nodes_in.get(node.datacenter.name, 0) + 1
    wanted = {
        keyspace["name"]: {
            datacenter: min(max(keyspace["replication"].values(), default=1), count)
            for datacenter, count in nodes_in.items()
        }
        for keyspace in simple
        if keyspace["name"] in SYSTEM_KEYSPACES
    }
    return _replicated(context, keyspaces, wanted) or Done(f"{len(keyspaces)} keyspaces are replicated by data centre")


def replicate(context: StepContext) -> Outcome:
    """The system's keyspaces and the chosen ones (None: all) get one replica in each zone of the data centre."""
    keyspaces = _keyspaces(context)
    if isinstance(keyspaces, Wait):
        return keyspaces
    datacenter = datacenter_of(context)
    chosen = context.operation.parameters.get("keyspaces")
    known = {keyspace["name"] for keyspace in keyspaces}
    if unknown := sorted(set(chosen or ()) - known):
        raise Blocked(
            "unknown-keyspace",
            f"There is no keyspace {', '.join(unknown)} any more.",
            "Make it and retry, or cancel and order the data centre without it.",
        )
    wanted = {
        keyspace["name"]: keyspace["replication"] | {datacenter.name: len(datacenter.zones)}
        for keyspace in keyspaces
        if keyspace["replication"] and _is_meant(keyspace, chosen) and datacenter.name not in keyspace["replication"]
    }
    meant = sorted(keyspace["name"] for keyspace in keyspaces if _is_meant(keyspace, chosen))
    return _replicated(context, keyspaces, wanted) or Done(", ".join(meant))


def unreplicate(context: StepContext) -> Outcome:
    """No keyspace has replicas in the data centre. Also the undo of `replicate`."""
    keyspaces = _keyspaces(context)
    if isinstance(keyspaces, Wait):
        return keyspaces
    gone = datacenter_of(context).name
    wanted = {
        keyspace["name"]: {name: copies for name, copies in keyspace["replication"].items() if name != gone}
        for keyspace in keyspaces
        if gone in keyspace["replication"]
    }
    if only_there := sorted(name for name, replication in wanted.items() if not replication):
        raise _only_there(only_there, gone)
    return _replicated(context, keyspaces, wanted) or Done()


def check_datacenter_removal(context: StepContext) -> Outcome:
    """All are up and agree, and every keyspace has replicas in another data centre."""
    everybody = members(context)
    if waiting := hindrance(everybody) or disagreement(context, everybody):
        return waiting
    keyspaces = _keyspaces(context)
    if isinstance(keyspaces, Wait):
        return keyspaces
    gone = datacenter_of(context).name
    if only_there := sorted(k["name"] for k in keyspaces if set(k["replication"]) == {gone}):
        raise _only_there(only_there, gone)
    return Done(f"{len(keyspaces)} keyspaces have replicas elsewhere")


def fit_replication(context: StepContext) -> Outcome:
    """The system's keyspaces want no more replicas than nodes will be left; with more the engine lets none leave."""
    keyspaces = _keyspaces(context)
    if isinstance(keyspaces, Wait):
        return keyspaces
    datacenter = datacenter_of(context)
    left = len(_left_in(datacenter, members(context), leavers(context)))
    wanted = {
        keyspace["name"]: keyspace["replication"] | {datacenter.name: left}
        for keyspace in keyspaces
        if keyspace["system"] and keyspace["replication"].get(datacenter.name, 0) > left
    }
    return _replicated(context, keyspaces, wanted) or Done()


def unfit_replication(context: StepContext) -> Outcome:
    """Undo: the system's keyspaces have the replicas that `check_removal` found."""
    keyspaces = _keyspaces(context)
    if isinstance(keyspaces, Wait):
        return keyspaces
    before = context.output("check_removal", context.step.target).get("system_replication", {})
    known = {keyspace["name"] for keyspace in keyspaces}
    wanted = {name: replication for name, replication in before.items() if name in known}
    return _replicated(context, keyspaces, wanted) or Done()


def auth_for_newcomer(context: StepContext, node: Node, ring: Sequence[Node]) -> Wait | None:
    """Where an allowlist is in force, a node that joins is to get all of `system_auth` with the rest of its data.

    The engine goes by its own copy of the list: without one it would refuse everybody from its first second on.
    """
    if not access.has_allowlist(node.cluster_id):
        return None
    keyspaces = _keyspaces(context, ring)
    if isinstance(keyspaces, Wait):
        return keyspaces
    here, datacenter = len([other for other in ring if other.datacenter_id == node.datacenter_id]), node.datacenter.name
    wanted = {
        keyspace["name"]: keyspace["replication"] | {datacenter: here + 1}
        for keyspace in keyspaces
        if keyspace["name"] == _AUTH and here >= keyspace["replication"].get(datacenter, here + 1)
    }
    return _replicated(context, keyspaces, wanted, ring=ring, joining={datacenter: 1}) if wanted else None


def auth_without(context: StepContext, node: Node, rest: Sequence[Node]) -> Wait | None:
    """`system_auth` wants no more replicas than nodes are left when this one goes; with more it could not."""
    here, datacenter = len([other for other in rest if other.datacenter_id == node.datacenter_id]), node.datacenter.name
    keyspaces = _keyspaces(context, rest)
    if isinstance(keyspaces, Wait):
        return keyspaces
    wanted = {
        keyspace["name"]: keyspace["replication"] | {datacenter: here}
        for keyspace in keyspaces
        if keyspace["name"] == _AUTH and keyspace["replication"].get(datacenter, 0) > here > 0
    }
    return _replicated(context, keyspaces, wanted, ring=rest) if wanted else None


def _left_in(datacenter: Datacenter, nodes: Sequence[Node], going: set[str]) -> list[Node]:
    return [node for node in nodes if node.datacenter_id == datacenter.id and node.id not in going]


def _keyspaces(context: StepContext, ring: Sequence[Node] = ()) -> list[dict[str, Any]] | Wait:
    """Those that have replicas on several nodes, as a node of this ring tells them; without one, the ring as it was."""
    ring = ring or _old_members(context)
    if waiting := hindrance(ring):
        return waiting
    told = run_fresh(context, ring[0], "keyspaces")
    if isinstance(told, Wait):
        return told
    classes = (_SIMPLE, "NetworkTopologyStrategy")
    return [dict(keyspace) for keyspace in told["keyspaces"] if keyspace["class"] in classes]


def _old_members(context: StepContext) -> list[Node]:
    strangers = newcomers(context) | leavers(context)
    return [node for node in members(context) if node.id not in strangers]


def _is_meant(keyspace: Mapping[str, Any], chosen: Sequence[str] | None) -> bool:
    if keyspace["system"]:
        return keyspace["name"] in SYSTEM_KEYSPACES
    return chosen is None or keyspace["name"] in chosen


def _replicated(
    context: StepContext,
    keyspaces: Sequence[Mapping[str, Any]],
    wanted: Mapping[str, Replication],
    *,
    ring: Sequence[Node] = (),
    joining: Mapping[str, int] | None = None,
) -> Wait | None:
    """None when it is so, and all nodes know the new schema. `joining`: nodes per data centre that are about to."""
    is_so = {keyspace["name"]: keyspace["replication"] for keyspace in keyspaces}
    changes = {name: replication for name, replication in sorted(wanted.items()) if is_so[name] != replication}
    node = (ring or _old_members(context))[0]
    if changes:
        # Another set of changes is another job, and one that was taken back since is asked for anew.
        digest = hashlib.sha256(json.dumps(changes).encode()).hexdigest()[:8]
        name = f"{names.job(context.operation, 'replicate')}-{context.step.position}-{digest}"
        asked = [{"name": keyspace, "replication": replication} for keyspace, replication in changes.items()]
        job = run_job(node, name, "replicate", {"keyspaces": asked} | ({"joining": dict(joining)} if joining else {}))
        return job if isinstance(job, Wait) else Wait(0, "all nodes to know how keyspaces are replicated")
    return disagreement(context, members(context))


def _only_there(keyspaces: Sequence[str], datacenter: str) -> Blocked:
    return Blocked(
        "keyspace-only-there",
        f"{', '.join(keyspaces)} has replicas in {datacenter} only; its data would be lost.",
        "Replicate it to another data centre, or drop it. Then retry, or cancel.",
    )
