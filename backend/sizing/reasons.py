"""What a plan says of itself, in sentences. Pure."""

from collections.abc import Iterator

from backend.sizing.figures import SAFE_BUSY_PERCENT, Calibration, EngineRules, Measured, Throughput
from backend.sizing.shapes import Limit, Shape, Workload, use_without_one

_WORDS = {
    Limit.THROUGHPUT: "throughput",
    Limit.DISK: "disk",
    Limit.MEMORY: "memory for the data on disk",
    Limit.NETWORK: "network",
}


def assumptions(workload: Workload, calibration: Calibration, rules: EngineRules) -> Iterator[str]:
    """What holds for all shapes: where the throughput is from, and what nobody measured."""
    match calibration.figure:
        case Throughput() as figure:
            yield (
                f"Throughput goes by what was published of version {figure.version}: "
                f"{figure.operations_per_second:,} operations a second on {figure.nodes} × {figure.machine_type} "
                f"with a p99 of {figure.p99_ms} ms. {figure.note}"
            )
            seen = f"Nobody published a p99 of {workload.p99_ms} ms"
        case Measured() as figure:
            yield (
                f"Throughput goes by what {figure.cluster_name} did in seven days: "
                f"{figure.operations_per_busy_second:,} operations on replicas for each second that a vCPU was busy, "
                f"on {figure.nodes} × {figure.machine_type}, {figure.busy_permille / 10:g} % busy in the mean, with a "
                f"p99 of {figure.p99_ms} ms. Planned are {SAFE_BUSY_PERCENT} %: that the p99 is kept there is assumed."
            )
            yield f"Rows and requests are taken to be like those of {figure.cluster_name}."
            seen = f"{figure.cluster_name} had no p99 of {workload.p99_ms} ms"
    if not calibration.is_as_seen:
        yield (
            f"{seen}: the throughput is taken down in proportion to {calibration.figure.p99_ms} ms, which is an "
            "assumption. Measure before you rely on it."
        )
    yield "Every vCPU counts the same, whatever its generation: newer ones do more, so the plan is on the safe side."
    if rules.counted_vcpus is not None:
        yield f"Of a machine no more than {rules.counted_vcpus} vCPUs count. {rules.counted_vcpus_source}."
    yield (
        "A write is work for every replica, a read for a quorum of them, and both cost a replica the same; rows beyond "
        "1 KiB count once per KiB. Reads that miss the cache are not counted apart."
    )
    yield (
        f"Disks are filled to {rules.disk_fill_percent} %, the rest is room for compactions; there are at most "
        f"{rules.data_per_memory} bytes on disk for one of memory; half of the network is left to repairs and streams."
    )
    if workload.growth_percent_per_month and workload.months_ahead:
        yield "The data grows, reads and writes stay: name those that you expect."


def reasons(shape: Shape, workload: Workload) -> Iterator[str]:
    """Why it is this many machines, what comes next, and what to know of them."""
    if shape.decided_by is None:
        because = "There must be a node for every replica and in every zone"
    else:
        because = f"{_WORDS[shape.decided_by].capitalize()} decides"
    yield f"{because}: {_nodes(shape.asked)}{_in_zones(shape)}."
    first = shape.bound(shape.first_limit)
    yield f"The first limit that more load or data meets is {_WORDS[first.limit]}: {first.headroom_percent} % is left."
    use = use_without_one(shape, workload)
    if use is None:
        yield "It is one node: while it is away nothing is served."
    elif use > 100:
        yield (
            f"While a node is away the others need {use} % of what was published: the p99 is not kept until it is back."
        )
    else:
        yield f"While a node is away the others stand at {use} % of what was published."
    if not shape.machine.network_always:
        yield "Of its network only the most is published; a machine may get less."
    if shape.zones != workload.replication_factor:
        yield (
            f"Clusters ordered here keep one replica in each zone: in {shape.zones} zones that is a replication "
            f"factor of {shape.zones}, not {workload.replication_factor}."
        )


def _in_zones(shape: Shape) -> str:
    """Zones have the same number each, which may make some more."""
    if shape.zones == 1:
        return " in one zone"
    each = f"{shape.nodes_per_zone} in each of {shape.zones} zones"
    return f", {each}" if shape.asked == shape.nodes else f" would do, {each} make {shape.nodes:,}"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"
