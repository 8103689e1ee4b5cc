"""Every rule, by what it is about. Each looks at facts and says one thing, or nothing. Pure."""

from collections.abc import Iterable, Iterator

from backend.advisor.rules import compaction, compression, load, machines, reads, savings, schema
from backend.advisor.rules.facts import Advice, ClusterFacts, Table

TABLE_RULES = (
    compression.chunk_length,
    compression.saves_little,
    compaction.leveled_for_reads,
    compaction.leveled_under_writes,
    compaction.time_windows,
    compaction.outside_windows,
    compaction.headroom,
    reads.tombstones,
    reads.large_partitions,
    reads.filtering,
    reads.hot_partitions,
    schema.low_cardinality,
    schema.gc_grace,
    load.row_cache,
    savings.cold,
)
KEYSPACE_RULES = (schema.placement,)
CLUSTER_RULES = (schema.many_tables, load.uneven, load.memory, load.key_cache, load.overloaded)

TITLES = {
    "chunk-length": "Chunks too long for small reads",
    "compression-ratio": "Compression saves little",
    "leveled-for-reads": "Size-tiered compaction under reads",
    "leveled-under-writes": "Levelled compaction under writes",
    "time-windows": "Expiring time series without time windows",
    "outside-windows": "Old rows in new time windows",
    "compaction-headroom": "No room for compaction",
    "tombstones": "Tombstones in reads",
    "large-partitions": "Large partitions",
    "filtering": "Slow reads that filter",
    "hot-partitions": "Hot partition",
    "low-cardinality-index": "Index on a column with few values",
    "gc-grace": "Tombstones dropped before repair",
    "row-cache": "Row cache that misses",
    "placement": "Replicas that a zone takes along",
    "many-tables": "Too many tables",
    "uneven-load": "Uneven load",
    "memory": "Memory of the JVM",
    "key-cache": "Key cache too small",
    "overloaded": "Overloaded cluster",
    "under-used": "Over-sized machines",
    "idle-cluster": "Idle cluster",
    "cold-table": "Cold table",
    "overdue-backups": "Backups kept too long",
    "reservation": "A reservation would pay back",
    "newer-machines": "Newer machines for less",
}


def advise(cluster: ClusterFacts, tables: Iterable[Table]) -> Iterator[Advice]:
    """All that there is to say."""
    for rule in CLUSTER_RULES:
        if (said := rule(cluster)) is not None:
            yield said
    yield from savings_of(cluster)
    for keyspace in cluster.keyspaces:
        for of_keyspace in KEYSPACE_RULES:
            if (said := of_keyspace(keyspace, cluster)) is not None:
                yield said
    for table in tables:
        for of_table in TABLE_RULES:
            if (said := of_table(table, cluster)) is not None:
                yield said


def savings_of(cluster: ClusterFacts) -> Iterator[Advice]:
    """What the cluster as a whole could cost less. Who is to delete it is not told to shrink it, too."""
    if (idle := savings.idle(cluster)) is not None:
        yield idle
    else:
        yield from machines.savings_of_places(cluster)
    yield from savings.overdue(cluster)
