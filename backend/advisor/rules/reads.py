"""What reads of a table run into: tombstones, huge partitions, filtering, partitions that all ask for."""

from backend.advisor.rules.facts import (
    MIB,
    Advice,
    AdviceSeverity,
    AdviceUnit,
    ClusterFacts,
    Evidence,
    Table,
    enough,
    in_words,
)

TOMBSTONES_P99 = 1000
"""The engine's own tombstone_warn_threshold."""
PARTITION_BYTES = 100 * MIB
PARTITION_ROWS = 100_000
FILTERING_QUERIES = 10
"""Slow ones in a day."""
HOT_SHARE = 0.3
HOT_PER_SECOND = 10.0


def tombstones(table: Table, cluster: ClusterFacts) -> Advice | None:
    """One read in a hundred scans more tombstones than the engine warns of."""
    numbers = table.numbers
    if not enough(numbers.reads, cluster) or (numbers.tombstones_per_read_p99 or 0) < TOMBSTONES_P99:
        return None
    grace = int(table.options.get("gc_grace_seconds", 0))
    return Advice(
        rule="tombstones",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.WARNING,
        finding=f"One read in a hundred scans {numbers.tombstones_per_read_p99:,.0f} tombstones or more.",
        evidence=(
            Evidence(
                "Tombstones per read, p99",
                numbers.tombstones_per_read_p99 or 0.0,
                AdviceUnit.COUNT,
                "table-tombstones-per-read",
            ),
            Evidence("Reads of one partition", numbers.reads or 0.0, AdviceUnit.PER_SECOND, "table-operations"),
            Evidence("Tombstones are kept for (gc_grace_seconds)", float(grace), AdviceUnit.SECONDS),
        ),
        gain="Reads that do not scan what is deleted. At 100,000 tombstones the engine refuses a read.",
        figure="tombstones",
        cost="A change of the application: delete whole partitions or ranges, or read from where live rows begin.",
        statement=(
            "-- Which partitions: ask a node for hot partitions (Diagnostics), “Most tombstones read”.\n"
            "-- If repairs run more often than every half gc_grace_seconds, it can be lowered: ALTER TABLE"
            f" {table.quoted} WITH gc_grace_seconds = …;"
        ),
        why_by_hand="A shorter gc_grace_seconds brings deleted rows back where a repair comes late.",
    )


def large_partitions(table: Table, cluster: ClusterFacts) -> Advice | None:
    """A partition beyond a hundred MB, or, where an answer tells of rows, beyond a hundred thousand rows."""
    size, rows = table.numbers.partition_max_bytes or 0, table.largest_partition_rows or 0
    if size <= PARTITION_BYTES and rows <= PARTITION_ROWS:
        return None
    told = in_words(size) if size > PARTITION_BYTES else f"{rows:,} rows"
    return Advice(
        rule="large-partitions",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.WARNING,
        finding=f"Its largest partition has {told}.",
        evidence=(
            Evidence("Largest partition", size, AdviceUnit.BYTES, "table-partitions"),
            Evidence("Mean partition", table.numbers.partition_mean_bytes or 0.0, AdviceUnit.BYTES, "table-partitions"),
            *(() if not rows else (Evidence("Rows of the largest partition", float(rows), AdviceUnit.COUNT),)),
        ),
        gain="Even load on nodes, shorter pauses of collection, repairs and compactions that fit into memory.",
        figure="partition-size",
        cost="Another table with one more column in its partition key (a day, a bucket), and copying the data.",
        statement="-- CREATE TABLE … with a bucket in its partition key; write to both; copy; read from the new one.",
        why_by_hand="A primary key cannot be altered.",
    )


def filtering(table: Table, cluster: ClusterFacts) -> Advice | None:
    """Slow reads that read much and throw most of it away."""
    if table.filtering_queries < FILTERING_QUERIES:
        return None
    return Advice(
        rule="filtering",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.WARNING,
        finding=f"{table.filtering_queries} slow reads of the last day needed ALLOW FILTERING.",
        evidence=(
            Evidence("Slow reads that filter", float(table.filtering_queries), AdviceUnit.COUNT),
            Evidence("Range reads", table.numbers.range_reads or 0.0, AdviceUnit.PER_SECOND, "table-operations"),
        ),
        gain="Reads whose cost depends on what they return and not on how much the table holds.",
        figure="filtering",
        cost="An index (SAI, since Cassandra 5.0) or a second table with that column in its key: more writes and disk.",
        statement="-- What is read: Diagnostics, “Slow queries”.\n-- CREATE INDEX ON … (column) USING 'sai';",
        why_by_hand="Which column is searched by is in the answer of the question, which holds data.",
    )


def hot_partitions(table: Table, cluster: ClusterFacts) -> Advice | None:
    """One partition takes a large part of a table's calls."""
    hot = [each for each in table.hot_partitions if each.share >= HOT_SHARE and each.per_second >= HOT_PER_SECOND]
    if not hot:
        return None
    worst = max(hot, key=lambda each: each.per_second)
    calls = "reads" if worst.reads else "writes"
    return Advice(
        rule="hot-partitions",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.WARNING,
        finding=f"One partition takes {worst.share:.0%} of the {calls} that were watched on {worst.node}.",
        evidence=(
            Evidence(f"Its share of watched {calls}", worst.share, AdviceUnit.RATIO),
            Evidence(f"Its {calls}", worst.per_second, AdviceUnit.PER_SECOND),
            Evidence("All reads of the table", table.numbers.reads or 0.0, AdviceUnit.PER_SECOND, "table-operations"),
        ),
        gain="A partition is served by its replicas alone: more nodes do not help, another key does.",
        figure="hot-partitions",
        cost="A bucket in the partition key, or a cache in front of it.",
        statement="-- Which one: Diagnostics, “Hot partitions”.",
        why_by_hand="A primary key cannot be altered.",
    )
