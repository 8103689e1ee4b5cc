"""A whole installation with nothing in it but a tenant and the catalogue: fake provider, fake agents, real rows."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from unittest.mock import patch

from backend.accounts.models import Membership, Organisation, User
from backend.accounts.queries import Identity
from backend.accounts.states import PERMISSIONS, Role
from backend.catalog import actions as catalog
from backend.catalog.models import Provider
from backend.clusters import actions, authorities
from backend.clusters.models import Cluster, Node, NodeEnrolment, Secret
from backend.clusters.schemas import ClusterOrder
from backend.connections.models import NetworkConnection
from backend.operations.models import Operation
from provisioner import runner
from provisioner.agent.fake import FakeAgents
from provisioner.engines import registry as engines
from provisioner.operations import passwords, registry
from provisioner.operations.surroundings import Surroundings, use
from provisioner.providers.base import Network
from provisioner.providers.fake import FakeProvider, FakeSettings

ZONES = ("fake-1a", "fake-1b", "fake-1c")
_number = itertools.count(1)


@dataclass
class ClusterWorld:
    """A `World` of the test kit. `order` writes the order under test and answers its operation."""

    who: Identity
    provider: FakeProvider
    agents: FakeAgents
    order: Callable[["ClusterWorld"], Operation]
    cluster_id: str = ""
    zones: tuple[str, ...] = ZONES
    nodes_per_zone: int = 1
    engine: str = "cassandra"
    before: list[str] = field(default_factory=list)

    def start(self) -> Operation:
        return self.order(self)

    def snapshot(self) -> object:
        cluster = Cluster.objects.get(id=self.cluster_id)
        nodes = [
            (node.zone, node.position, node.state, bool(node.address), bool(node.host_id)) for node in self._nodes()
        ]
        return {
            "cluster": (cluster.state, cluster.deleted_at is None, cluster.active_at is None),
            "revealed": cluster.admin_revealed_at is not None,
            "nodes": nodes,
            "machines": sorted(
                (machine.zone, str(machine.state)) for machine in self.provider.list_machines(region="fake-1")
            ),
            "networks": len(self._networks()),
            "let in": [self.provider.client_sources(network.name) for network in self._networks()],
            "connections": sorted(
                NetworkConnection.objects.filter(cluster=cluster).values_list("name", "state", "message")
            ),
            "roles": sorted(self.agents.roles(cluster.ring_name)),
            "engines": self._engines(),
            "access": self._access(),
            "keyspaces": self.agents.keyspaces(cluster.ring_name),
            "workload": [node.id in self.agents.workloads() for node in self._nodes()],
            "cluster engine": (cluster.engine_version, cluster.settings),
            "nodes wanted": [(node.stop_wanted, node.engine_version, node.drift) for node in self._nodes()],
            "in force": [node.config_revision == node.running_revision for node in self._nodes()],
            "secrets": sorted(Secret.objects.filter(owner=cluster.id).values_list("purpose", flat=True)),
            "enrolments": NodeEnrolment.objects.filter(node__cluster=cluster).count(),
        }

    def _networks(self) -> list[Network]:
        return self.provider.list_networks(region="fake-1")

    def leftovers(self) -> list[str]:
        return [thing for thing in self._things() if thing not in self.before]

    def _things(self) -> list[str]:
        secrets = [f"secret {secret.purpose}" for secret in Secret.objects.filter(owner=self.cluster_id)]
        alive = [f"node {node.name}" for node in self._nodes() if node.deleted_at is None]
        cluster = [] if Cluster.objects.get(id=self.cluster_id).deleted_at else ["the cluster itself"]
        engines = [
            f"{node.name} is {engine}"
            for node, engine in zip(self._nodes(), self._engines(), strict=True)
            if node.deleted_at is None
        ]
        # What a ring keeps of roles ends with its last node.
        access = self._access() if alive else []
        return self.provider.inventory() + secrets + alive + cluster + engines + access

    def _access(self) -> list[str]:
        """Roles, what they may do, and from where, in words."""
        told = self.agents.access(Cluster.objects.get(id=self.cluster_id).ring_name)
        return [
            *(f"role {name} {told.can_login.get(name, True)}" for name in sorted(told.passwords)),
            *(f"{role} is a member of {other}" for role, others in told.member_of.items() for other in others),
            *(" ".join(permission) for permission in sorted(told.permissions)),
            f"from {', '.join(told.cidrs) or 'everywhere'}",
        ]

    def _engines(self) -> list[str]:
        """How each node's engine stands, in words."""
        told = self.agents.engines()
        return [told.get(node.id, "absent") for node in self._nodes()]

    def _nodes(self) -> list[Node]:
        return list(Node.objects.filter(cluster_id=self.cluster_id).order_by("position"))

    def create(self, **more: Any) -> Operation:
        order = ClusterOrder(
            name="demo",
            engine=self.engine,
            provider="fake",
            region="fake-1",
            zones=list(self.zones),
            machine_type="fake.small",
            nodes_per_zone=self.nodes_per_zone,
            **more,
        )
        started = actions.create(self.who, order)
        self.cluster_id = started["cluster"]["id"]
        return Operation.objects.get(id=started["operation"]["id"])

    def created(self) -> None:
        """An active cluster, as a quiet run of its creation leaves it; made once."""
        if not self.cluster_id:
            self.finish(self.create())
            self.note()

    def note(self) -> None:
        """What is there now is no leftover."""
        self.before = self._things()

    def finish(self, operation: Operation) -> None:
        while (
            runner.run(operation.id, find_code=registry.find, limits=runner.Limits(nap=0.0, threads=1)).again_in
            is not None
        ):
            pass
        operation.refresh_from_db()
        assert operation.state == "succeeded", operation.reason


def without_waiting(operation: Operation) -> None:
    """It and its steps are due now, however long they wanted to wait."""
    Operation.objects.filter(id=operation.id).update(due_at=operation.created_at, lease_until=None)
    operation.steps.exclude(due_at=None).update(due_at=operation.created_at)


AnyWorld = TypeVar("AnyWorld", bound=ClusterWorld)


@contextmanager
def cluster_world(order: Callable[[ClusterWorld], Operation]) -> Iterator[ClusterWorld]:
    """One world of its own: rows of other worlds stay in the database but belong to other tenants."""
    with world_of(ClusterWorld, order) as world:
        yield world


@contextmanager
def world_of(kind: type[AnyWorld], order: Callable[[AnyWorld], Operation]) -> Iterator[AnyWorld]:
    """`cluster_world` for a world that has more to tell."""
    registry.register_all()
    if not Provider.objects.filter(id="fake").exists():
        # Once per test: a kit makes hundreds of worlds, and loading is some two hundred statements.
        catalog.load(with_tests=True)
    authorities.ensure_control_plane_pki()
    number = next(_number)
    provider = FakeProvider(FakeSettings(path=None))
    agents = FakeAgents(None, powered=provider.has_power)
    # A world of a kind is ordered in by a function that takes that kind.
    world = kind(who=_owner(number), provider=provider, agents=agents, order=cast(Any, order))
    surroundings = Surroundings(
        provider=lambda name, account=None: provider,
        engine=engines.engine,
        agent=lambda node: agents.client(node_id=node.id, address=node.agent_address),
        served_certificate=lambda node: agents.client(node_id=node.id, address=node.agent_address).served_certificate(),
    )
    # A hash of full strength is 50 ms, and worlds are made by the thousand.
    with use(surroundings), patch.object(passwords, "PEOPLES_BCRYPT_ROUNDS", passwords.CONTROL_BCRYPT_ROUNDS):
        yield world


def _owner(number: int) -> Identity:
    organisation = Organisation.objects.create(name=f"World {number}", slug=f"world-{number}")
    user = User.objects.create(email=f"owner@world-{number}.example")
    Membership.objects.create(organisation=organisation, user=user, role=Role.OWNER)
    return Identity(
        organisation_id=organisation.id,
        user_id=user.id,
        user_email=user.email,
        role=Role.OWNER,
        permissions=PERMISSIONS[Role.OWNER],
        token_id=None,
        source_address=None,
        request_id="test",
    )
