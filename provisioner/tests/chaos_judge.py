"""Whether every promise was kept: what a campaign looks at when all is over.

Django is set up only when the campaign's own database is there, so what needs it is imported where it is used.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backend.operations.models import Operation
    from provisioner.tests.chaos_mix import Customers
    from provisioner.tests.chaos_world import FakeWorld


@dataclass
class Report:
    """What the campaign found. All but the first few fields must be empty or zero."""

    seed: int
    operations: int
    steps: int
    seconds: float
    faults: dict[str, int]
    kinds: dict[str, int] = field(default_factory=dict)
    endings: dict[str, int] = field(default_factory=dict)
    refused_orders: dict[str, int] = field(default_factory=dict)
    paused: int = 0
    waited: int = 0
    retried_by_people: int = 0
    # Operations that the control plane began by itself.
    by_itself: int = 0
    # By state.
    backups: dict[str, int] = field(default_factory=dict)
    backup_trouble: list[str] = field(default_factory=list)
    # What was overdue long after the faults had ended, so that a person cancelled it.
    given_up: list[str] = field(default_factory=list)
    provider_faults: int = 0
    membership_looks: int = 0
    membership_changes: int = 0
    unfinished: list[str] = field(default_factory=list)
    recorded_twice: list[str] = field(default_factory=list)
    made_twice: list[str] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    beside_each_other: list[str] = field(default_factory=list)
    membership: list[str] = field(default_factory=list)
    seen_by_others: list[str] = field(default_factory=list)
    leases_left: int = 0
    deaf_workers: int = 0


def judge(report: Report, world: FakeWorld, customers: Customers, *, deaf_workers: int) -> Report:
    from django.db import connection

    from backend.operations.models import Operation, OperationStep
    from backend.operations.states import FINISHED
    from provisioner.tests import chaos_backups

    connection.close()
    rows = list(Operation.objects.prefetch_related("steps"))
    report.steps = OperationStep.objects.count()
    report.kinds = dict(Counter(row.kind for row in rows))
    report.endings = dict(Counter(row.state for row in rows))
    report.by_itself = sum(row.id not in customers.ordered for row in rows)
    report.unfinished = [f"{row.id} {row.kind} {row.state} {row.reason}" for row in rows if row.state not in FINISHED]
    report.leases_left = sum(row.lease_token is not None for row in rows)
    report.deaf_workers = deaf_workers
    with connection.cursor() as cursor:
        cursor.execute("SELECT step, state FROM evidence GROUP BY 1, 2 HAVING count(*) > 1")
        report.recorded_twice = [f"{step} {state}" for step, state in cursor.fetchall()]
        for what in ("paused", "waited"):
            cursor.execute("SELECT count(DISTINCT operation) FROM stood WHERE what = %s", [what])
            setattr(report, what, cursor.fetchone()[0])
    report.beside_each_other = _beside_each_other(rows)
    _judge_files(report, rows)
    _judge_machines(report, world)
    report.backups, report.backup_trouble = chaos_backups.judge(world)
    report.seen_by_others = _seen_by_others(customers)
    return report


def _judge_files(report: Report, rows: list[Operation]) -> None:
    """The kind whose effects are files: what succeeded left exactly its files, nobody worked beside another."""
    from backend.operations.states import OperationState
    from provisioner.tests.chaos_kinds import CHAOS, JOURNAL, WORLD, things

    mine = [row for row in rows if row.kind == CHAOS]
    expected = {thing for row in mine if row.state == OperationState.SUCCEEDED for thing in things(row)}
    found = {path.name for path in WORLD.iterdir()}
    report.leaked += sorted(found - expected)
    report.missing += sorted(expected - found)

    spans: dict[str, dict[str, list[int]]] = defaultdict(dict)
    created: Counter[str] = Counter()
    for line in JOURNAL.read_text().splitlines():
        event = json.loads(line)
        span = spans[event["operation"]].setdefault(event["token"], [event["at"], event["at"]])
        span[1] = max(span[1], event["at"])
        if event["event"] == "create":
            created[f"{event['operation']} {event['step']}"] += 1
    report.made_twice += [name for name, times in created.items() if times > 1]
    for operation, by_token in spans.items():
        ordered = sorted(by_token.values())
        for before, after in pairwise(ordered):
            if before[1] >= after[0]:
                report.overlaps.append(f"{operation} {(before[1] - after[0]) / 1e6:.1f} ms")


def _judge_machines(report: Report, world: FakeWorld) -> None:
    """Every living data centre has its network and a machine per living node, and there is nothing else."""
    from backend.clusters.models import Cluster, Datacenter, Node
    from provisioner.operations import names
    from provisioner.tests.chaos_world import REGION, SECOND_REGION

    living = Cluster.objects.filter(deleted_at=None)
    nodes = Node.objects.filter(deleted_at=None, cluster__in=living)
    datacenters = Datacenter.objects.filter(deleted_at=None, cluster__in=living)
    expected = {f"machine {names.machine(node)}" for node in nodes}
    expected |= {f"network {names.network(datacenter)}" for datacenter in datacenters}
    found = set(world.provider.inventory())
    report.leaked += sorted(found - expected)
    report.missing += sorted(expected - found)
    there: set[str] = set()
    for effect in world.provider.history():
        if effect.effect == "made":
            if effect.name in there:
                report.made_twice.append(effect.name)
            there.add(effect.name)
        elif effect.effect == "deleted":
            there.discard(effect.name)
    owners = {cluster.id: cluster.organisation_id for cluster in Cluster.objects.all()}
    for machine in [m for region in (REGION, SECOND_REGION) for m in world.provider.list_machines(region=region)]:
        if owners.get(machine.tags["ringmaster-cluster"]) != machine.tags["ringmaster-organisation"]:
            report.seen_by_others.append(f"{machine.name} has another tenant's tag")


def _beside_each_other(rows: list[Operation]) -> list[str]:
    """Steps of two operations on one cluster that were open at the same time though the table keeps them apart.

    One that made way and is cancelled while it stands is undone at once (coordination.py), so its undo does not count.
    """
    from backend.operations.coordination import Verdict, rule

    by_cluster: dict[str, list[Operation]] = defaultdict(list)
    for row in rows:
        if row.cluster_id:
            by_cluster[row.cluster_id].append(row)
    found = []
    for operations in by_cluster.values():
        for one, other in combinations(operations, 2):
            ones, others = rule(one.kind, other.kind).verdict, rule(other.kind, one.kind).verdict
            if Verdict.TOGETHER in (ones, others):
                continue
            of_one = _worked(one, undo=ones is not Verdict.MAKE_WAY)
            of_other = _worked(other, undo=others is not Verdict.MAKE_WAY)
            found += [
                f"{one.kind} {one.id} {a} beside {other.kind} {other.id} {b}"
                for a, b in product(of_one, of_other)
                if a[0] < b[1] and b[0] < a[1]
            ]
    return found


def _worked(row: Operation, *, undo: bool) -> list[tuple[datetime, datetime]]:
    """When steps of it were open, by the database's clock. `undo`: steps that were undone too."""
    spans = []
    for step in row.steps.all():
        ended = step.undone_at or step.finished_at or row.finished_at
        if step.started_at is None or ended is None:
            continue
        if step.finished_at is not None:
            spans.append((step.started_at, step.finished_at))
        if undo and step.undone_at is not None:
            spans.append((step.undo_started_at or step.started_at, step.undone_at))
    return spans


def _seen_by_others(customers: Customers) -> list[str]:
    """Rows that a tenant is shown and that are not its own, or that are its own and not shown."""
    from backend.clusters.models import Cluster
    from backend.clusters.queries import get_cluster
    from backend.core.errors import NotFound
    from backend.operations.models import Operation
    from backend.operations.queries import get_operation

    found = []
    for tenant in customers.tenants:
        for model, get in ((Cluster, get_cluster), (Operation, get_operation)):
            for identifier, owner in model.objects.values_list("id", "organisation_id"):
                try:
                    get(tenant.who, identifier)
                    shown = True
                except NotFound:
                    shown = False
                if shown != (owner == tenant.who.organisation_id):
                    found.append(f"{identifier} to {tenant.who.organisation_id}")
    return found
