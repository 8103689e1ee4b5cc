"""What the schema says by itself: placement, indexes, how long tombstones are kept, how many tables there are."""

from backend.advisor.rules.facts import (
    Advice,
    AdviceSeverity,
    AdviceUnit,
    ClusterFacts,
    Evidence,
    Keyspace,
    Table,
    alter,
    change,
    literal,
    quoted,
)

FEWEST_REPLICAS = 3
FEWEST_VALUES = 50
ENOUGH_PARTITIONS = 10_000
MANY_TABLES = 200
FAR_TOO_MANY_TABLES = 1000
HEAP_PER_TABLE = 1024 * 1024
_OWN_INDEXES = frozenset({"COMPOSITES", "KEYS"})


def placement(keyspace: Keyspace, cluster: ClusterFacts) -> Advice | None:
    """Replicas that do not survive the loss of a zone, in a cluster that has several."""
    zones = {datacenter: count for datacenter, count in cluster.zones.items() if count > 1}
    if not zones:
        return None
    simple = keyspace.strategy == "SimpleStrategy"
    held = {name: factor for name, factor in keyspace.factors.items() if factor > 0}
    few = {name: factor for name, factor in held.items() if factor < min(FEWEST_REPLICAS, zones.get(name, 1))}
    if not simple and (keyspace.strategy != "NetworkTopologyStrategy" or not few):
        return None
    wanted = {
        name: max(held.get(name, 0), min(FEWEST_REPLICAS, count))
        for name, count in cluster.zones.items()
        if simple or name in held
    }
    told = ", ".join(f"{name} {factor}" for name, factor in held.items())
    finding = (
        f"SimpleStrategy places replicas without regard to zones ({told})."
        if simple
        else f"{', '.join(f'{name} has {factor} replicas of each row' for name, factor in few.items())} in"
        f" {', '.join(f'{zones[name]} zones' for name in few)}."
    )
    replication = {"class": "NetworkTopologyStrategy", **wanted}
    return Advice(
        rule="placement",
        keyspace=keyspace.name,
        severity=AdviceSeverity.CRITICAL,
        finding=finding,
        evidence=(
            Evidence("Placement", keyspace.strategy, AdviceUnit.TEXT),
            Evidence("Replicas", told or "none", AdviceUnit.TEXT),
            Evidence("Zones", ", ".join(f"{name} {count}" for name, count in cluster.zones.items()), AdviceUnit.TEXT),
        ),
        gain="Reads and writes at QUORUM go on while a zone is away, and no row is lost with it.",
        figure="replication",
        cost="More copies take more disk. New replicas are empty until a full repair has run.",
        statement=(
            f"ALTER KEYSPACE {quoted(keyspace.name)} WITH replication = {literal(replication)};\n"
            "-- then at once: a full repair of the keyspace (page Repairs)"
        ),
        why_by_hand="Until the repair has ended, reads may find an empty replica.",
    )


def low_cardinality(table: Table, cluster: ClusterFacts) -> Advice | None:
    """An index of the engine's first kind on a column with few values: each value is one huge partition per node."""
    types = {column.name: column.type for column in table.columns}
    partitions = table.numbers.partitions or 0
    for index in table.indexes:
        if index.kind not in _OWN_INDEXES:
            continue
        kind = types.get(index.target.strip('"'), "")
        few = index.values is not None and index.values < FEWEST_VALUES and partitions >= ENOUGH_PARTITIONS
        if kind != "boolean" and not few:
            continue
        told = "two values at most" if kind == "boolean" else f"about {index.values} values"
        return Advice(
            rule="low-cardinality-index",
            keyspace=table.keyspace,
            table=table.name,
            subject=index.name,
            severity=AdviceSeverity.WARNING,
            finding=f"The index {index.name} is on {index.target}, which has {told}.",
            evidence=(
                Evidence("Column", f"{index.target} {kind}", AdviceUnit.TEXT),
                *(
                    ()
                    if index.values is None
                    else (Evidence("Values on one node, an estimate", float(index.values), AdviceUnit.COUNT),)
                ),
                Evidence("Partitions, all copies", partitions, AdviceUnit.COUNT),
            ),
            gain="No index partitions that hold a large part of the table, no reads that ask all nodes for them.",
            figure="low-cardinality",
            cost="What reads by this column needs another way: a table of its own, or an SAI index with other terms.",
            statement=f"DROP INDEX {quoted(table.keyspace)}.{quoted(index.name)};",
            why_by_hand="Statements of the application may need it.",
        )
    return None


def gc_grace(table: Table, cluster: ClusterFacts) -> Advice | None:
    """Tombstones are forgotten before a repair has brought them to every replica."""
    grace = int(table.options.get("gc_grace_seconds", 0))
    if table.repair_interval is None or grace <= 0 or table.replicas == 1 or grace >= table.repair_interval:
        return None
    wanted = {"gc_grace_seconds": int(2 * table.repair_interval)}
    return Advice(
        rule="gc-grace",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.CRITICAL,
        finding="Tombstones are dropped before the next repair: what a replica missed can come back to life.",
        evidence=(
            Evidence("Tombstones are kept for (gc_grace_seconds)", float(grace), AdviceUnit.SECONDS),
            Evidence("A range is repaired every", table.repair_interval, AdviceUnit.SECONDS),
        ),
        gain="Deleted rows stay deleted.",
        figure="gc-grace",
        cost="Tombstones stay on disk longer. Or let repairs run more often (page Repairs).",
        statement=alter(table, wanted),
        change=change(table, wanted),
    )


def many_tables(cluster: ClusterFacts) -> Advice | None:
    """More tables than an engine was made for."""
    if cluster.tables <= MANY_TABLES:
        return None
    return Advice(
        rule="many-tables",
        severity=AdviceSeverity.CRITICAL if cluster.tables > FAR_TOO_MANY_TABLES else AdviceSeverity.WARNING,
        finding=f"The cluster has {cluster.tables:,} tables.",
        evidence=(
            Evidence("Tables", float(cluster.tables), AdviceUnit.COUNT),
            Evidence("Heap they take on each node, about", float(cluster.tables * HEAP_PER_TABLE), AdviceUnit.BYTES),
        ),
        gain="Less heap, shorter starts, flushes of fewer and larger memtables.",
        figure="many-tables",
        cost="Tables of one shape become one, with what told them apart in the partition key.",
        statement="-- Sort the page Tables by reads and writes: those without any may be dropped.",
        why_by_hand="Dropping a table drops its data.",
    )
