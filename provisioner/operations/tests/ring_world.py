"""A world whose ring holds data: who is a member and who holds which rows are part of what must be right."""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.changes.plans import Planned, membership
from backend.clusters import tokens
from backend.clusters.models import Cluster, Datacenter, Node
from backend.operations import actions as operations
from backend.operations.models import Operation
from provisioner import runner
from provisioner.agent.fake_ring import Table
from provisioner.operations import names, registry
from provisioner.operations.node_steps import live_nodes
from provisioner.operations.tests.cluster_world import ClusterWorld, without_waiting

SECOND = "fake-2"
MOST_CALLS = 400
ENDLESS = 1_000_000


@dataclass
class RingWorld(ClusterWorld):
    """`filled` makes the cluster; the orders below change it. `looks` of jobs are set on `agents`."""

    replicas: int = 0

    def filled(self, *, zones: Sequence[str] = ("fake-1a",), nodes_per_zone: int = 2, replicas: int = 0) -> None:
        """An active cluster with the keyspace `shop`, which has data on every replica; made once."""
        if self.cluster_id:
            return
        self.zones, self.nodes_per_zone = tuple(zones), nodes_per_zone
        self.created()
        self.replicas = replicas or min(3, len(self.nodes()))
        datacenter = self.cluster.datacenters.get()
        system = {name: {datacenter.name: len(self.nodes())} for name in ("system_auth", "ringmaster")}
        self.agents.set_keyspaces(self.cluster.ring_name, system | {"shop": {datacenter.name: self.replicas}})
        with self.agents.ring_of(self.cluster.ring_name) as ring:
            ring.fill("shop", {"orders": Table(64 * 2**20, 20_000), "visits": Table(30 * 1024, 9)})
        self.note()

    @property
    def cluster(self) -> Cluster:
        return Cluster.objects.get(id=self.cluster_id)

    def nodes(self) -> list[Node]:
        return live_nodes(self.cluster)

    def node(self, name: str) -> Node:
        return next(node for node in self._nodes() if node.name == name)

    def begin(self, planned: Planned) -> Operation:
        return operations.start(
            organisation_id=self.who.organisation_id,
            kind=planned.kind,
            cluster_id=self.cluster_id,
            cluster_name="demo",
            actor=self.who.actor,
            parameters=planned.parameters,
            groups=planned.groups,
            expected_seconds=planned.expected_seconds,
            cancellable_until=planned.cancellable_until,
            pausable=planned.pausable,
        )

    # Orders

    def more(self, per_zone: int = 1) -> Operation:
        living, datacenter = self.nodes(), self.cluster.datacenters.get(position=0)
        taken = {token for node in living for token in node.tokens}
        new: list[Node] = []
        for zone in datacenter.zones:
            rack = {node.name: node.tokens for node in living if node.zone == zone}
            wanted = [f"demo-{zone}-{len(rack) + number + 1}" for number in range(per_zone)]
            for name, theirs in tokens.allocate_more(rack, wanted, taken=taken).items():
                new.append(self._new_node(datacenter, zone, name, theirs))
                taken |= set(theirs)
        return self.begin(membership.scale_out(living=living, new=new))

    def fewer(self, per_zone: int = 1) -> Operation:
        living = self.nodes()
        leaving = [node for zone in self.zones for node in [n for n in living if n.zone == zone][-per_zone:]]
        return self.begin(membership.scale_in(living=living, leaving=leaving))

    def replace_living(self, number: int = 0) -> Operation:
        living = self.nodes()
        old = living[number]
        new = self._twin(old)
        return self.begin(membership.replace_living(living=living, old=old, new=new))

    def replace_dead(self, number: int = 0) -> Operation:
        living = self.nodes()
        dead = living[number]
        new = self._new_node(dead.datacenter, dead.zone, f"{dead.name}-new", dead.tokens, replaces=dead)
        return self.begin(membership.replace_dead(living=living, dead=dead, new=new))

    def another_machine_type(self) -> Operation:
        living = self.nodes()
        pairs = [(old, self._twin(old, machine_type="fake.large")) for old in living]
        return self.begin(membership.change_machine_type(living=living, pairs=pairs))

    def second_datacenter(
        self, zones: Sequence[str] = ("fake-2a",), keyspaces: Sequence[str] | None = None
    ) -> Operation:
        living = self.nodes()
        datacenter = Datacenter.objects.create(
            cluster=self.cluster,
            name=f"fake-{SECOND}",
            region=SECOND,
            zones=list(zones),
            machine_type="fake.small",
            nodes_per_zone=1,
            position=self.cluster.datacenters.count(),
        )
        taken = [token for node in living for token in node.tokens]
        allocated = tokens.allocate_beside(taken, racks=len(zones), nodes_per_rack=1)
        new = [
            self._new_node(datacenter, zone, f"demo-{zone}-1", theirs[0])
            for zone, theirs in zip(zones, allocated, strict=True)
        ]
        return self.begin(
            membership.add_datacenter(living=living, new_datacenter=datacenter, new=new, keyspaces=keyspaces)
        )

    def no_second_datacenter(self) -> Operation:
        datacenter = self.cluster.datacenters.get(position=1)
        living = self.nodes()
        leaving = [node for node in living if node.datacenter_id == datacenter.id]
        return self.begin(membership.remove_datacenter(living=living, datacenter=datacenter, leaving=leaving))

    def _twin(self, old: Node, *, machine_type: str = "") -> Node:
        taken = [token for node in self.nodes() for token in node.tokens]
        twin = tokens.twin(old.tokens, taken)
        return self._new_node(
            old.datacenter, old.zone, f"{old.name}-new", twin, replaces=old, machine_type=machine_type
        )

    def _new_node(
        self,
        datacenter: Datacenter,
        zone: str,
        name: str,
        theirs: Sequence[int],
        *,
        replaces: Node | None = None,
        machine_type: str = "",
    ) -> Node:
        return Node.objects.create(
            cluster=self.cluster,
            datacenter=datacenter,
            name=name,
            machine_type=machine_type or datacenter.machine_type,
            zone=zone,
            position=max(node.position for node in self._nodes()) + 1,
            tokens=list(theirs),
            replaces_id=replaces.id if replaces else "",
        )

    # What happens meanwhile

    def run(self, operation: Operation, *, until: str = "", under_way: str = "", calls: int = MOST_CALLS) -> Operation:
        """Until it ends or is blocked, or until this step has begun, or its job has (`under_way`). Waiting is skipped.

        How many looks at a job fit into a call depends on the machine: a test that wants to stop in the middle of a
        job makes it `endless` first.
        """
        for _ in range(calls):
            runner.run(operation.id, find_code=registry.find, limits=runner.Limits(nap=0, threads=1, budget=0.01))
            operation.refresh_from_db()
            begun = until and operation.steps.filter(name=until).exclude(state="pending").exists()
            begun = begun or (under_way and operation.steps.filter(name=under_way, progress__gt=0).exists())
            if operation.state not in ("pending", "running", "cancelling") or begun:
                break
            without_waiting(operation)
        operation.refresh_from_db()
        return operation

    def endless(self, *kinds: str) -> None:
        """Jobs of these kinds never end; those of all others do. Without a kind: all end again."""
        self.agents.set_looks(dict.fromkeys(kinds, ENDLESS))

    def cancel(self, operation: Operation) -> Operation:
        Operation.objects.filter(id=operation.id).update(
            cancel_requested_at=operation.created_at, due_at=operation.created_at
        )
        return self.run(operation)

    def kill(self, node: Node) -> None:
        """Its machine loses power."""
        node = Node.objects.get(id=node.id)
        self.provider.kill_machine(region=node.datacenter.region, name=names.machine(node))

    def lose(self, node: Node) -> None:
        """Its machine and its disks are gone, as if somebody had deleted it by hand."""
        node = Node.objects.get(id=node.id)
        assert self.provider.delete_machine(region=node.datacenter.region, name=names.machine(node))

    # What must be right

    def missing(self) -> list[str]:
        """Copies of rows that are not where they should be."""
        with self.agents.ring_of(self.cluster.ring_name) as ring:
            return ring.ring.missing()

    def members(self) -> list[tuple[str, str]]:
        """Name and state of every member of the ring."""
        name_of = {node.id: node.name for node in self._nodes()}
        with self.agents.ring_of(self.cluster.ring_name) as ring:
            return sorted((name_of[member.node_id], member.state) for member in ring.seen().values())

    def held(self) -> list[tuple[str, int]]:
        """How many positions of all keyspaces each node holds."""
        name_of = {node.id: node.name for node in self._nodes()}
        with self.agents.ring_of(self.cluster.ring_name) as ring:
            members = ring.seen().values()
            return sorted((name_of[m.node_id], sum(len(positions) for positions in m.holds.values())) for m in members)

    def snapshot(self) -> object:
        shown = super().snapshot()
        assert isinstance(shown, dict)
        return shown | {
            "members": self.members(),
            "held": self.held(),
            "missing": self.missing(),
            "limits": sorted(self.agents.stream_limits().values()),
            "seeds": [(node.name, node.is_seed) for node in self._nodes()],
            "deleted": [(node.name, node.deleted_at is not None) for node in self._nodes()],
            "datacenters": [
                (d.name, d.nodes_per_zone, d.machine_type, d.deleted_at is None)
                for d in self.cluster.datacenters.order_by("position")
            ],
            "machines elsewhere": sorted(str(machine.state) for machine in self.provider.list_machines(region=SECOND)),
            "networks elsewhere": len(self.provider.list_networks(region=SECOND)),
            "replication": self.replication(),
        }

    def replication(self) -> dict[str, dict[str, int]]:
        with self.agents.ring_of(self.cluster.ring_name) as ring:
            return ring.replication

    def _things(self) -> list[str]:
        if not Cluster.objects.filter(id=self.cluster_id).exists():
            return super()._things()
        limits = [f"a stream limit of {limit}" for limit in self.agents.stream_limits().values()]
        datacenters = [f"data centre {d.name}" for d in self.cluster.datacenters.filter(deleted_at=None)]
        members = [f"member {name} {state}" for name, state in self.members()]
        replication = [f"{name} replicated {copies}" for name, copies in sorted(self.replication().items())]
        # What is written while a node is down it gets when it is back.
        down = tuple(node.id for node in self._nodes() if not self.provider.has_power(node.agent_address))
        copies = [f"not held: {what}" for what in self.missing() if not what.endswith(down)]
        return super()._things() + limits + datacenters + members + replication + copies
