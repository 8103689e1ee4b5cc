"""Compression of a table: how much is read for a small read, and whether it saves anything."""

from backend.advisor.rules.facts import (
    KIB,
    MIB,
    Advice,
    AdviceSeverity,
    AdviceUnit,
    ClusterFacts,
    Evidence,
    Table,
    alter,
    change,
    enough,
    in_words,
)

SMALLEST_CHUNK_KIB = 4
READ_SHARE_OF_CHUNK = 0.25
"""A partition that is smaller than this share of a chunk makes every read unpack at least four times what it wants."""
MOST_RANGE_READS = 0.1
OFFSET_BYTES = 8
"""What the engine keeps off the heap for each chunk: where it begins."""
LEAST_SAVED = 0.1
ENOUGH_DATA = 10 * MIB


def chunk_kib(table: Table) -> int | None:
    """None: it is not compressed, or its options do not say."""
    compression = table.options.get("compression", {})
    if not compression.get("class") or str(compression.get("enabled", "true")).lower() == "false":
        return None
    text = str(compression.get("chunk_length_in_kb", ""))
    return int(text) if text.isdigit() else None


def chunk_length(table: Table, cluster: ClusterFacts) -> Advice | None:
    """Chunks much larger than what a read wants."""
    numbers, chunk = table.numbers, chunk_kib(table)
    if chunk is None or chunk <= SMALLEST_CHUNK_KIB or numbers.partition_mean_bytes is None:
        return None
    if not enough(numbers.reads, cluster) or numbers.reads is None:
        return None
    if (numbers.range_reads or 0) > MOST_RANGE_READS * numbers.reads:
        return None
    if not 0 < numbers.partition_mean_bytes <= READ_SHARE_OF_CHUNK * chunk * KIB:
        return None
    wanted = SMALLEST_CHUNK_KIB
    while wanted * KIB < numbers.partition_mean_bytes:
        wanted *= 2
    factor = chunk / wanted
    now = numbers.compression_off_heap_bytes
    if now is None and numbers.uncompressed_bytes is not None:
        now = numbers.uncompressed_bytes / (chunk * KIB) * OFFSET_BYTES
    cost = "Compresses a little worse"
    if now is not None:
        cost += (
            f"; the places of chunks, kept off the heap, grow {factor:g} times, from {in_words(now)} to"
            f" {in_words(now * factor)} over all nodes"
        )
    options = {"compression": dict(table.options["compression"]) | {"chunk_length_in_kb": str(wanted)}}
    return Advice(
        rule="chunk-length",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.WARNING if chunk >= 64 else AdviceSeverity.HINT,
        finding=(
            f"Each read unpacks {chunk} KiB to get a partition of {in_words(numbers.partition_mean_bytes)} on average."
        ),
        evidence=(
            Evidence("Chunk length", chunk * KIB, AdviceUnit.BYTES),
            Evidence("Mean partition", numbers.partition_mean_bytes, AdviceUnit.BYTES, "table-partitions"),
            Evidence("Reads of one partition", numbers.reads, AdviceUnit.PER_SECOND, "table-operations"),
            Evidence("Range reads", numbers.range_reads or 0.0, AdviceUnit.PER_SECOND, "table-operations"),
            *(() if now is None else (Evidence("Off the heap for chunks", now, AdviceUnit.BYTES, "table-memory"),)),
        ),
        gain=(
            "More reads in less time where data do not fit into the page cache. A published test went from 64 to 4 KiB:"
            " 44,000 to 62,000 operations a second, p99 24 to 13 ms."
        ),
        figure="chunk-length",
        cost=cost + ". What is on disk keeps its chunks until it is compacted or rewritten.",
        statement=alter(table, options),
        change=change(table, options, rewrite=True),
    )


def saves_little(table: Table, cluster: ClusterFacts) -> Advice | None:
    """Compression that saves less than a tenth."""
    numbers = table.numbers
    if chunk_kib(table) is None or numbers.compression_ratio is None or numbers.live_bytes is None:
        return None
    if numbers.live_bytes < ENOUGH_DATA or numbers.compression_ratio <= 1 - LEAST_SAVED:
        return None
    saved = max(0.0, 1 - numbers.compression_ratio)
    more = numbers.live_bytes / numbers.compression_ratio - numbers.live_bytes
    options = {"compression": {"enabled": "false"}}
    return Advice(
        rule="compression-ratio",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.HINT,
        finding=f"Compression saves {saved:.0%} of the disk, and every read and compaction pays for it with CPU.",
        evidence=(
            Evidence("Compressed to", numbers.compression_ratio, AdviceUnit.RATIO, "table-compression"),
            Evidence("Live data, all copies", numbers.live_bytes, AdviceUnit.BYTES, "table-size"),
        ),
        gain="No unpacking on reads, nothing off the heap for chunks, less CPU in compactions.",
        figure="compression-cost",
        cost=(
            f"{in_words(max(0.0, more))} more on disk over all nodes. Reads of uncompressed tables do not check"
            " checksums. What is on disk stays compressed until it is compacted or rewritten."
        ),
        statement=alter(table, options),
        change=change(table, options, rewrite=True),
    )
