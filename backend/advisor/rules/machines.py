"""Whether other machines would carry the measured load for less: smaller ones, or a newer family.

The planner (backend/sizing) is asked for the smallest cluster of each machine type, calibrated by the cluster itself:
what a vCPU did in the week, taken to half of its use. Formulas are told in docs/costs.md, "Savings".
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from backend.advisor.rules import savings
from backend.advisor.rules.facts import DAY, Advice, AdviceSeverity, AdviceUnit, ClusterFacts, Evidence, Node
from backend.advisor.rules.spending import Place, Spending, usd
from backend.sizing.figures import Calibration, Throughput, work
from backend.sizing.shapes import Machine, Shape, Workload, shape_of

WEEK = 7 * DAY
KNOWN_SHARE = 0.95
"""Of the week, of every node: a few scrapes may be missing."""
IDLE_CPU = 0.2
IDLE_DISK = 0.3
FIT_CPU = Fraction(1, 2)
"""Of a vCPU, at the p95 of the week: so much is planned with."""
CALM_P99 = 0.012
"""Seconds; the planner's usual goal. What is slower than that is not to be told to have less."""
WORTH_PERCENT = 5
"""Of what the machines cost: less is not worth moving the data."""
ROW_BYTES_MOST = 2**40


@dataclass(frozen=True, kw_only=True)
class Week:
    """What a data centre did: p95 of five minutes, each node by itself, and then the sum or the most."""

    cpu: float
    """Of the busiest node."""
    disk: float
    """Share in use on the fullest node, now."""
    used_bytes: int
    reads: int
    writes: int
    network_bytes: int
    """A second, in the busier direction."""
    p99: float | None
    """Seconds, of reads or writes, of the slowest node; None: there were no requests."""


def week(nodes: tuple[Node, ...]) -> Week | None:
    """None: something is not known of the whole week."""
    cpus, disks, used = [], [], 0.0
    for node in nodes:
        if node.cpu is None or not node.disk_total or node.disk_free is None:
            return None
        if (node.known_seconds or 0) < KNOWN_SHARE * WEEK:
            return None
        cpus.append(node.cpu)
        disks.append((node.disk_total - node.disk_free) / node.disk_total)
        used += node.disk_total - node.disk_free
    if not cpus:
        return None
    slow = [each for node in nodes for each in (node.read_p99, node.write_p99) if each is not None]
    return Week(
        cpu=max(cpus),
        disk=max(disks),
        used_bytes=round(used),
        reads=round(sum(node.client_reads or 0 for node in nodes)),
        writes=round(sum(node.client_writes or 0 for node in nodes)),
        network_bytes=round(sum(max(node.received or 0, node.sent or 0) for node in nodes)),
        p99=max(slow, default=None),
    )


def savings_of_places(cluster: ClusterFacts) -> Iterator[Advice]:
    """Of each data centre what its machines could cost less."""
    spending = cluster.spending
    for place in spending.places if spending is not None else ():
        assert spending is not None
        found = week(tuple(node for node in cluster.nodes if node.datacenter == place.name))
        smaller = found and under_used(spending, place, found)
        newer = found and newer_family(spending, place, found)
        if smaller:
            yield smaller
        if newer:
            yield newer
        # Who has too many machines is not told to bind themselves to them.
        if not smaller and (bound := savings.reservation(spending, place)) is not None:
            yield bound


def under_used(spending: Spending, place: Place, used: Week) -> Advice | None:
    """Machines that idle for a week, when fewer or smaller ones of their family would do."""
    if used.cpu >= IDLE_CPU or used.disk >= IDLE_DISK:
        return None
    family = place.machine.family if place.machine is not None else ""
    best = _cheapest(spending, place, used, lambda machine: machine.family == family)
    if best is None:
        return None
    return _advice(
        "under-used",
        spending,
        place,
        used,
        best,
        finding=f"{place.name}: for a week no node has used more than {used.cpu:.0%} of its CPUs and {used.disk:.0%} "
        "of its disk.",
        cost="Less room for peaks. Data move to new machines, node after node.",
    )


def newer_family(spending: Spending, place: Place, used: Week) -> Advice | None:
    """Machines of a later generation that would carry the same for less."""
    now = generation(place.machine.family) if place.machine is not None else None
    best = _cheapest(spending, place, used, lambda machine: (generation(machine.family) or 0) > (now or 0))
    if now is None or best is None:
        return None
    return _advice(
        "newer-machines",
        spending,
        place,
        used,
        best,
        finding=f"{place.name}: machines of the family {best.shape.machine.family} would carry the measured load for "
        "less.",
        cost="Data move to new machines, node after node. That a vCPU of the new family does as much as one of today's"
        " is assumed; it should do more.",
    )


def generation(family: str) -> int | None:
    """The number in the name of a family: i3en is of the third, n2-highmem of the second; None: it has none."""
    found = re.match(r"[a-z]+(\d+)", family)
    return int(found[1]) if found else None


@dataclass(frozen=True, kw_only=True)
class _Offer:
    shape: Shape
    month: int


def _cheapest(spending: Spending, place: Place, used: Week, fits: Callable[[Machine], bool]) -> _Offer | None:
    """Of the machine types that fit, with no more nodes than there are, and clearly cheaper."""
    rules, machine = spending.engine, place.machine
    now = spending.month(place, place.machine_type, place.nodes)
    if rules is None or machine is None or now is None or (used.p99 is not None and used.p99 > CALM_P99):
        return None
    # What was measured is of all vCPUs: none of them is left out.
    rules = replace(rules, counted_vcpus=None)
    load = _workload(place, used)
    calibration = _calibration(place, machine, used, load)
    found = []
    for other in spending.offers.get(place.machine_type, ()):
        shape = shape_of(load, other, calibration, rules, zones=place.zones) if fits(other) else None
        if shape is None or shape.nodes > place.nodes:
            continue
        month = spending.month(place, other.name, shape.nodes)
        if month is not None and (now - month) * 100 >= now * WORTH_PERCENT:
            found.append(_Offer(shape=shape, month=month))
    return min(found, key=lambda offer: (offer.month, offer.shape.nodes, offer.shape.machine.name), default=None)


def _workload(place: Place, used: Week) -> Workload:
    """As the planner takes it. The size of a row is such that the network comes to what was measured."""
    reads, writes = max(1, used.reads), used.writes
    sent = writes * place.replicas + reads * 2
    return Workload(
        reads_per_second=reads,
        writes_per_second=writes,
        row_bytes=max(1, min(ROW_BYTES_MOST, -(-used.network_bytes // sent))),
        data_bytes=-(-used.used_bytes // place.replicas),
        replication_factor=place.replicas,
        p99_ms=round(CALM_P99 * 1000),
        spare_percent=0,
    )


def _calibration(place: Place, machine: Machine, used: Week, load: Workload) -> Calibration:
    """What a vCPU would do half in use: what all did in the week, by how much they were in use."""
    done = work(load.reads_per_second, load.writes_per_second, load.replication_factor, load.row_bytes)
    # A vCPU that hardly did anything tells nothing of what it could do.
    busy = max(Fraction(used.cpu).limit_denominator(10_000), Fraction(1, 100))
    figure = Throughput(
        engine="measured",
        version="",
        machine_type=machine.name,
        vcpus=machine.vcpus,
        nodes=place.nodes,
        operations_per_second=load.reads_per_second + load.writes_per_second,
        p99_ms=load.p99_ms,
        read_percent=100 * load.reads_per_second // (load.reads_per_second + load.writes_per_second),
        replication_factor=load.replication_factor,
        row_bytes=load.row_bytes,
        source="The cluster's own week",
    )
    return Calibration(
        figure=figure, work_per_vcpu=done / (place.nodes * machine.vcpus * busy) * FIT_CPU, is_as_seen=False
    )


def _advice(
    rule: str, spending: Spending, place: Place, used: Week, best: _Offer, *, finding: str, cost: str
) -> Advice:
    now = spending.month(place, place.machine_type, place.nodes) or 0
    saved, shape = now - best.month, best.shape
    today, wanted = f"{place.nodes} × {place.machine_type}", f"{shape.nodes} × {shape.machine.name}"
    limit = shape.bound(shape.first_limit)
    return Advice(
        rule=rule,
        subject=place.name,
        severity=AdviceSeverity.HINT,
        finding=finding,
        evidence=(
            Evidence("CPU in use, p95 of the busiest node", used.cpu, AdviceUnit.RATIO, "cpu"),
            Evidence("Disk in use on the fullest node", used.disk, AdviceUnit.RATIO, "disk-full"),
            *(() if used.p99 is None else (Evidence("p99 of the slowest node", used.p99, AdviceUnit.SECONDS),)),
            Evidence("Reads of clients, p95", used.reads, AdviceUnit.PER_SECOND, "requests"),
            Evidence("Writes of clients, p95", used.writes, AdviceUnit.PER_SECOND, "requests"),
            Evidence("Now", f"{today}, {usd(now)} a month", AdviceUnit.TEXT),
            Evidence("Would do", f"{wanted}, {usd(best.month)} a month", AdviceUnit.TEXT),
            Evidence("Its next limit", f"{shape.first_limit}, {limit.headroom_percent} % left", AdviceUnit.TEXT),
        ),
        saving_micros=saved,
        formula=f"{usd(now)} − {usd(best.month)}: {today} less {wanted}, on demand, with mark-up and fees",
        gain=f"{wanted} would do, and cost {usd(saved)} a month less ({saved / now:.0%}).",
        cost=cost,
        statement=_how(place, shape),
        why_by_hand="Only you know what load is to come.",
    )


def _how(place: Place, shape: Shape) -> str:
    told = []
    if shape.machine.name != place.machine_type:
        told.append(f"change the machine type to {shape.machine.name} (Overview)")
    if shape.nodes != place.nodes:
        told.append(f"go down to {shape.nodes_per_zone} in each zone (Overview, Scale)")
    text = ", then ".join(told)
    return f"{text[0].upper()}{text[1:]}."
