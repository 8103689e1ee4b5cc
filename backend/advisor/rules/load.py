"""How nodes fare: evenly or not, their memory and caches, and whether they are at their limit."""

from collections.abc import Callable, Iterable

from backend.advisor.rules.facts import (
    GIB,
    Advice,
    AdviceSeverity,
    AdviceUnit,
    ClusterFacts,
    Evidence,
    Node,
    Size,
    Table,
    alter,
    change,
)

UNEVEN = 1.5
"""The most loaded node by the mean."""
ENOUGH_BYTES = GIB
"""On a node, in the mean."""
ENOUGH_REQUESTS = 100.0
"""Of a node, in the mean."""
BUSY_SHARD = 0.5
GC_SHARE = 0.05
HEAP_SHARE = 0.9
KEY_CACHE_HITS = 0.8
KEY_CACHE_FULL = 0.95
KEY_CACHE_REQUESTS = 100.0
ROW_CACHE_HITS = 0.3
ROW_CACHE_CALLS = 10.0
BUSY_CPU = 0.7
FULL_DISK = 0.7
FIT_CPU = 0.5
"""What the p95 of CPU in use shall be on the machines that are advised; the same of the disk."""


def _uneven(
    nodes: Iterable[Node], value: Callable[[Node], float | None], least: float
) -> tuple[Node, float, float] | None:
    """The most loaded node, its value and the mean; None: even, or too little to tell."""
    told = [(found, node) for node in nodes if (found := value(node)) is not None]
    if len(told) < 2:
        return None
    mean = sum(found for found, _ in told) / len(told)
    most, node = max(told, key=lambda pair: pair[0])
    return (node, most, mean) if mean >= least and most >= UNEVEN * mean else None


def uneven(cluster: ClusterFacts) -> Advice | None:
    """Much more data or requests on one node than on others, or on one shard than on the others of its node."""
    data = _uneven(cluster.nodes, lambda node: node.load_bytes, ENOUGH_BYTES)
    requests = _uneven(cluster.nodes, lambda node: node.requests, ENOUGH_REQUESTS)
    shards = [
        node
        for node in cluster.nodes
        if (node.busiest_shard or 0) >= BUSY_SHARD and (node.busiest_shard or 0) >= UNEVEN * (node.mean_shard or 0)
    ]
    evidence: list[Evidence] = []
    told: list[str] = []
    if data is not None:
        node, most, mean = data
        told.append(f"{node.name} holds {most / mean:.1f} times as much data as the mean")
        evidence += [
            Evidence(f"Data on {node.name}", most, AdviceUnit.BYTES, "load"),
            Evidence("Mean", mean, AdviceUnit.BYTES, "load"),
        ]
    if requests is not None:
        node, most, mean = requests
        told.append(f"{node.name} answers {most / mean:.1f} times as many requests as the mean")
        evidence += [
            Evidence(f"Requests to {node.name}", most, AdviceUnit.PER_SECOND, "requests"),
            Evidence("Mean", mean, AdviceUnit.PER_SECOND, "requests"),
        ]
    for node in shards[:1]:
        told.append(f"one shard of {node.name} is busy {node.busiest_shard:.0%} of the time")
        evidence += [
            Evidence("Busiest shard", node.busiest_shard or 0.0, AdviceUnit.RATIO, "reactor"),
            Evidence("Mean of its shards", node.mean_shard or 0.0, AdviceUnit.RATIO, "reactor"),
        ]
    if not told:
        return None
    return Advice(
        rule="uneven-load",
        severity=AdviceSeverity.WARNING,
        finding=f"{'; '.join(told)}.",
        evidence=tuple(evidence),
        gain="A cluster is as fast as its most loaded node: evened out, it takes more with the same machines.",
        cost="More requests to one node: let drivers know all contact points, and route by token. More data: look for"
        " large or hot partitions first.",
        statement="-- Drivers: page Connect has token-aware snippets. Partitions: Diagnostics, “Hot partitions”.",
        why_by_hand="The cause is in the data or in the application.",
    )


def memory(cluster: ClusterFacts) -> Advice | None:
    """The JVM spends too much time in collections, or its heap is always nearly full."""
    worst = max(cluster.nodes, key=lambda node: node.gc or 0, default=None)
    fullest = max(
        (node for node in cluster.nodes if node.heap_max),
        key=lambda node: (node.heap_used or 0) / (node.heap_max or 1),
        default=None,
    )
    gc = (worst.gc or 0.0) if worst is not None else 0.0
    heap = (fullest.heap_used or 0) / (fullest.heap_max or 1) if fullest is not None else 0.0
    if gc < GC_SHARE and heap < HEAP_SHARE:
        return None
    node = worst if gc >= GC_SHARE else fullest
    assert node is not None
    told = f"{gc:.0%} of the time in collections" if gc >= GC_SHARE else f"{heap:.0%} of the heap in use on average"
    return Advice(
        rule="memory",
        severity=AdviceSeverity.WARNING,
        finding=f"{node.name}: {told}.",
        evidence=(
            Evidence("Time in the busiest collector", gc, AdviceUnit.RATIO, "gc-share"),
            Evidence("Heap in use, on average", heap, AdviceUnit.RATIO, "heap"),
            Evidence("Heap", node.heap_max or 0.0, AdviceUnit.BYTES, "heap"),
        ),
        gain="Fewer and shorter pauses: they are what p99 is made of.",
        figure="gc-pauses",
        cost="Machines with more memory, whose heap is larger; or less on the heap: fewer tables, smaller partitions.",
        statement="Change the machine type (Overview), or look at Diagnostics, “Memory and collections”.",
        why_by_hand="The heap comes with the machine type.",
    )


def key_cache(cluster: ClusterFacts) -> Advice | None:
    """A key cache that is full and misses."""
    for node in cluster.nodes:
        hits, requests, fill = node.key_cache_hits, node.key_cache_requests or 0, node.key_cache_fill or 0
        if hits is None or hits >= KEY_CACHE_HITS or requests < KEY_CACHE_REQUESTS or fill < KEY_CACHE_FULL:
            continue
        return Advice(
            rule="key-cache",
            severity=AdviceSeverity.HINT,
            finding=f"The key cache of {node.name} is full, and {1 - hits:.0%} of look-ups miss it.",
            evidence=(
                Evidence("Hits", hits, AdviceUnit.RATIO, "cache-hits"),
                Evidence("Look-ups", requests, AdviceUnit.PER_SECOND, "cache-hits"),
                Evidence("Full", fill, AdviceUnit.RATIO),
            ),
            gain="A hit saves the look into an SSTable's partition index.",
            figure="key-cache",
            cost="As much heap as it is made larger.",
            statement="-- key_cache_size, in the engine's configuration",
            why_by_hand="It is taken from the heap.",
        )
    return None


def row_cache(table: Table, cluster: ClusterFacts) -> Advice | None:
    """A row cache that is rarely hit: each miss reads a whole partition into it."""
    caching = table.options.get("caching", {})
    hits, misses = table.numbers.row_cache_hits or 0, table.numbers.row_cache_misses or 0
    asked = hits + misses
    if str(caching.get("rows_per_partition", "NONE")).upper() == "NONE" or asked < ROW_CACHE_CALLS:
        return None
    if hits / asked >= ROW_CACHE_HITS:
        return None
    options = {"caching": dict(caching) | {"rows_per_partition": "NONE"}}
    return Advice(
        rule="row-cache",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.HINT,
        finding=f"{1 - hits / asked:.0%} of reads miss the row cache, and fill it for nothing.",
        evidence=(
            Evidence("Hits", hits / asked, AdviceUnit.RATIO, "table-cache-hits"),
            Evidence("Reads that ask it", asked, AdviceUnit.PER_SECOND, "table-cache-hits"),
            Evidence("rows_per_partition", str(caching["rows_per_partition"]), AdviceUnit.TEXT),
        ),
        gain="Reads of what is asked for only, and memory for the page cache.",
        figure="row-cache",
        cost="The hits that there are.",
        statement=alter(table, options),
        change=change(table, options),
    )


def fitting(cluster: ClusterFacts, cpu: float, used: float) -> Size | None:
    """The smallest machine on which CPU and disk would be half in use. `used`: bytes on the fullest node."""
    if cluster.size is None:
        return None
    fits = [
        size
        for size in cluster.sizes
        if size.vcpus * FIT_CPU >= cpu * cluster.size.vcpus and size.storage_gib * GIB * FIT_CPU >= used
    ]
    return min(fits, key=lambda size: (size.price is None, size.price or 0, size.vcpus, size.memory_mib), default=None)


def overloaded(cluster: ClusterFacts) -> Advice | None:
    """Machines that work at their limit for a week."""
    cpus = [node.cpu for node in cluster.nodes if node.cpu is not None]
    disks = [
        (node.disk_total - node.disk_free, node.disk_total)
        for node in cluster.nodes
        if node.disk_total and node.disk_free is not None
    ]
    if cluster.size is None or len(cpus) < len(cluster.nodes) or len(disks) < len(cluster.nodes) or not cpus:
        return None
    cpu, used = max(cpus), max(used for used, _ in disks)
    disk = max(used / total for used, total in disks)
    if cpu < BUSY_CPU and disk < FULL_DISK:
        return None
    best = fitting(cluster, cpu, used)
    fits = f"{best.name} ({best.vcpus} vCPUs, {best.storage_gib} GiB)" if best is not None else ""
    return Advice(
        rule="overloaded",
        severity=AdviceSeverity.CRITICAL if max(cpu, disk) >= 0.9 else AdviceSeverity.WARNING,
        finding=f"For a week nodes have used up to {cpu:.0%} of their CPUs and {disk:.0%} of their disks.",
        evidence=(
            Evidence("CPU in use, p95 of the busiest node", cpu, AdviceUnit.RATIO, "cpu"),
            Evidence("Disk in use on the fullest node", disk, AdviceUnit.RATIO, "disk-full"),
            Evidence("Machine type", f"{cluster.size.name} ({cluster.size.vcpus} vCPUs)", AdviceUnit.TEXT),
            *(() if best is None else (Evidence("Would fit", fits, AdviceUnit.TEXT),)),
        ),
        gain="Room for peaks, compactions and repairs, and for the loss of a zone.",
        cost="Larger machines, or more of them.",
        statement=f"Change the machine type to {fits} (Overview)." if fits else "Add nodes (Overview, Scale).",
        why_by_hand="It takes machines, which cost money.",
    )
