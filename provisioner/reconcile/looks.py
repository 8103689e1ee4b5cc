"""Looking at nodes: what each one's agent says and, where it says nothing, what the provider says of its machine."""

import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

import structlog

from backend.cloud_accounts.models import CloudAccount
from backend.clusters.models import Node
from provisioner.agent.base import AgentClient, AgentRefused, AgentUnreachable, Status
from provisioner.operations import names
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import Machine, MachineState, ProviderError

log = structlog.get_logger(__name__)

# With more silent nodes than this in a region the provider is asked once for all of its machines.
ASK_ONE_BY_ONE = 4


class MachineFact(StrEnum):
    """What the provider says of a machine. UNKNOWN: it was not asked, or did not answer."""

    UNKNOWN = "unknown"
    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"
    GONE = "gone"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What asking about one node gave: a status, or why there is none and what the provider says instead.

    `clock_offset_ms`: the node's clock minus ours; known to `clock_error_ms`, half of the round trip.
    """

    node: Node
    status: Status | None
    fault: str = ""
    clock_offset_ms: int | None = None
    clock_error_ms: int = 0
    machine: MachineFact = MachineFact.UNKNOWN


class _Place(NamedTuple):
    """Where a provider is asked once for several machines. `account` None: the installation's own."""

    provider: str
    account: CloudAccount | None
    region: str


def look_at(nodes: Sequence[Node], threads: ThreadPoolExecutor) -> list[Look]:
    """One look at each node, in their order. `node.cluster` and `node.datacenter` are to be loaded."""
    # The clients are made here: only this thread may use the database.
    agents = [surroundings().agent(node) for node in nodes]
    looks = list(threads.map(_ask, nodes, agents))
    silent = [look.node for look in looks if look.status is None]
    if not silent:
        return looks
    facts = _machines_of(silent, threads)
    return [replace(look, machine=facts[look.node.id]) if look.status is None else look for look in looks]


def _ask(node: Node, agent: AgentClient) -> Look:
    began = time.time()
    try:
        status = agent.status()
    except AgentUnreachable as error:
        return Look(node=node, status=None, fault=str(error))
    except AgentRefused as error:
        return Look(node=node, status=None, fault=error.message)
    ended = time.time()
    if status.time is None:
        return Look(node=node, status=status)
    halfway = datetime.fromtimestamp((began + ended) / 2, UTC)
    return Look(
        node=node,
        status=status,
        clock_offset_ms=round((status.time - halfway).total_seconds() * 1000),
        clock_error_ms=round((ended - began) * 500) + 1,
    )


def _machines_of(nodes: Sequence[Node], threads: ThreadPoolExecutor) -> dict[str, MachineFact]:
    """By node id. The provider knows for certain whether a machine has power, which no neighbour does."""
    by_region: dict[_Place, list[Node]] = defaultdict(list)
    accounts = {
        account.id: account
        for account in CloudAccount.objects.filter(
            id__in={node.cluster.cloud_account_id for node in nodes if node.cluster.cloud_account_id is not None}
        )
    }
    for node in nodes:
        account = accounts.get(node.cluster.cloud_account_id or "")
        by_region[_Place(node.cluster.provider, account, node.datacenter.region)].append(node)
    facts: dict[str, MachineFact] = {}
    for answers in threads.map(_machines_in, by_region.keys(), by_region.values()):
        facts |= answers
    return facts


def _machines_in(place: _Place, nodes: Sequence[Node]) -> dict[str, MachineFact]:
    provider_name, account, region = place
    try:
        provider = surroundings().provider(provider_name, account)
        if len(nodes) > ASK_ONE_BY_ONE:
            listed = {machine.name: machine for machine in provider.list_machines(region=region)}
            found = {node.id: listed.get(names.machine(node)) for node in nodes}
        else:
            found = {node.id: provider.find_machine(region=region, name=names.machine(node)) for node in nodes}
    except ProviderError as error:
        log.warning("machines unknown", provider=provider_name, region=region, code=error.code, reason=error.message)
        return {node.id: MachineFact.UNKNOWN for node in nodes}
    return {node_id: _fact(machine) for node_id, machine in found.items()}


def _fact(machine: Machine | None) -> MachineFact:
    if machine is None:
        return MachineFact.GONE
    match machine.state:
        case MachineState.STARTING:
            return MachineFact.STARTING
        case MachineState.RUNNING:
            return MachineFact.RUNNING
        case MachineState.STOPPED:
            return MachineFact.STOPPED
