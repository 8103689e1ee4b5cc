"""Whether a table's compaction strategy fits what is done with it, and has the room that it needs."""

from backend.advisor.rules.facts import (
    DAY,
    GIB,
    LEVELED,
    SIZE_TIERED,
    TIME_WINDOW,
    Advice,
    AdviceSeverity,
    AdviceUnit,
    ClusterFacts,
    Evidence,
    Table,
    alter,
    calls,
    change,
    enough,
    in_words,
)

READ_SHARE = 0.9
SSTABLES_PER_READ = 1.5
"""Below, a read already finds all in about one SSTable, and levels have nothing to win."""
WRITE_SHARE = 0.5
AMPLIFICATION = 10.0
"""Bytes compacted for each byte flushed."""
PENDING = 20
"""Compactions that wait, of one table on all nodes."""
WINDOWS = 30
TIME_TYPES = frozenset({"timestamp", "timeuuid", "date"})
READ_REPAIRS = 1 / 3600
ENOUGH_DATA = GIB
_UNIT_SECONDS = {"MINUTES": 60, "HOURS": 3600, "DAYS": DAY}
# What a compaction may need for a while, of what a node has of the table.
HEADROOM = {SIZE_TIERED: 1.0, LEVELED: 0.1}


def _share(table: Table, part: float | None) -> float:
    return (part or 0) / calls(table.numbers)


def leveled_for_reads(table: Table, cluster: ClusterFacts) -> Advice | None:
    """Size-tiered compaction under nine tenths of reads, which touch several SSTables."""
    numbers = table.numbers
    if table.compaction != SIZE_TIERED or not enough(calls(numbers), cluster):
        return None
    reads = _share(table, (numbers.reads or 0) + (numbers.range_reads or 0))
    if reads < READ_SHARE or (numbers.sstables_per_read or 0) < SSTABLES_PER_READ:
        return None
    options = {"compaction": {"class": LEVELED}}
    return Advice(
        rule="leveled-for-reads",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.HINT,
        finding=(
            f"{reads:.0%} of calls are reads, and each looks into {numbers.sstables_per_read:.1f} SSTables on average."
        ),
        evidence=(
            Evidence("Share of reads", reads, AdviceUnit.RATIO, "table-operations"),
            Evidence("SSTables per read", numbers.sstables_per_read or 0, AdviceUnit.COUNT, "table-sstables-per-read"),
            Evidence("Writes", numbers.writes or 0.0, AdviceUnit.PER_SECOND, "table-operations"),
        ),
        gain="Levelled compaction keeps a row in about one SSTable of each level: most reads look into one.",
        figure="leveled-reads",
        cost=(
            "Every row is written about ten times as often by compactions; all of the table is compacted anew once"
            f" ({in_words(numbers.live_bytes or 0)} over all nodes)."
        ),
        statement=alter(table, options),
        change=change(table, options),
    )


def leveled_under_writes(table: Table, cluster: ClusterFacts) -> Advice | None:
    """Levelled compaction that cannot keep up with writes, or writes too much for them."""
    numbers = table.numbers
    if table.compaction != LEVELED or not enough(calls(numbers), cluster):
        return None
    writes = _share(table, numbers.writes)
    flushed, compacted = numbers.flushed_bytes or 0, numbers.compacted_bytes or 0
    amplification = compacted / flushed if flushed > 0 else 0.0
    behind = (numbers.pending_compactions or 0) >= PENDING
    if writes < WRITE_SHARE or not (behind or amplification >= AMPLIFICATION):
        return None
    options = {"compaction": {"class": SIZE_TIERED}}
    return Advice(
        rule="leveled-under-writes",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.WARNING,
        finding=(
            f"{writes:.0%} of calls are writes, and levelled compaction "
            + (
                f"falls behind: {numbers.pending_compactions:.0f} compactions wait."
                if behind
                else f"rewrites each flushed byte {amplification:.0f} times."
            )
        ),
        evidence=(
            Evidence("Share of writes", writes, AdviceUnit.RATIO, "table-operations"),
            Evidence("Compactions that wait", numbers.pending_compactions or 0.0, AdviceUnit.COUNT, "table-compaction"),
            Evidence("Compacted per flushed byte", amplification, AdviceUnit.COUNT),
        ),
        gain="Size-tiered compaction rewrites each row a few times instead of about ten times per level.",
        figure="leveled-ratio",
        cost="Reads look into more SSTables, and compactions need as much free disk as the table takes on a node.",
        statement=alter(table, options),
        change=change(table, options),
    )


def window_for(ttl: float) -> tuple[str, int]:
    """AdviceUnit and size of windows of which about thirty pass before rows expire."""
    wanted = ttl / WINDOWS
    unit = "DAYS" if wanted >= DAY else "HOURS" if wanted >= 3600 else "MINUTES"
    return unit, max(1, round(wanted / _UNIT_SECONDS[unit]))


def is_time_series(table: Table) -> bool:
    """Rows of a partition are in the order of time."""
    first = next((c for c in table.columns if c.kind == "clustering" and c.position == 0), None)
    return first is not None and first.type in TIME_TYPES


def time_windows(table: Table, cluster: ClusterFacts) -> Advice | None:
    """Rows that expire by themselves and come in the order of time, compacted as if they did not."""
    if table.ttl <= 0 or table.compaction not in (SIZE_TIERED, LEVELED) or not is_time_series(table):
        return None
    if not enough(table.numbers.writes, cluster):
        return None
    unit, size = window_for(table.ttl)
    window = {"class": TIME_WINDOW, "compaction_window_unit": unit, "compaction_window_size": str(size)}
    options = {"compaction": window}
    return Advice(
        rule="time-windows",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.WARNING,
        finding=f"Rows come in the order of time, expire after {_span(table.ttl)}, and are compacted again and again.",
        evidence=(
            Evidence("Rows expire after", float(table.ttl), AdviceUnit.SECONDS),
            Evidence("Compaction", table.compaction, AdviceUnit.TEXT),
            Evidence("Writes", table.numbers.writes or 0.0, AdviceUnit.PER_SECOND, "table-operations"),
            Evidence("Live data, all copies", table.numbers.live_bytes or 0.0, AdviceUnit.BYTES, "table-size"),
        ),
        gain="Whole SSTables are deleted when all of their rows have expired; a closed window is not compacted again.",
        figure="time-windows",
        cost="Rows that are written late, changed or deleted keep old windows on disk longer.",
        statement=alter(table, options),
        change=change(table, options),
    )


def _span(seconds: float) -> str:
    return f"{seconds / DAY:.3g} days" if seconds >= DAY else f"{seconds / 3600:.3g} h"


def window_seconds(table: Table) -> int | None:
    """Of time-window compaction."""
    options = table.options.get("compaction", {})
    unit = _UNIT_SECONDS.get(str(options.get("compaction_window_unit", "DAYS")).upper())
    text = str(options.get("compaction_window_size", "1"))
    return unit * int(text) if unit is not None and text.isdigit() else None


def outside_windows(table: Table, cluster: ClusterFacts) -> Advice | None:
    """Repairs, read repairs or hints that write old rows into new windows."""
    width = window_seconds(table)
    if table.compaction != TIME_WINDOW or width is None:
        return None
    hints = sum(node.hints_sent or 0 for node in cluster.nodes)
    late_hints = hints > 0 and width < cluster.hint_window_seconds
    repairs = table.numbers.read_repairs or 0
    by = []
    if table.repair_mode:
        by.append(f"repairs ({table.repair_mode})")
    if repairs >= READ_REPAIRS:
        by.append("read repairs")
    if late_hints:
        by.append("hints that waited longer than a window")
    if not by:
        return None
    options = {"read_repair": "NONE"}
    return Advice(
        rule="outside-windows",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.WARNING,
        finding=f"Old rows are written into new time windows by {', '.join(by)}; SSTables then expire late.",
        evidence=(
            Evidence("Time window", float(width), AdviceUnit.SECONDS),
            Evidence("Read repairs", repairs, AdviceUnit.PER_SECOND, "table-retries"),
            Evidence("Hints sent", hints, AdviceUnit.PER_SECOND),
            Evidence("Repaired last by", table.repair_mode or "–", AdviceUnit.TEXT),
        ),
        gain="Windows hold rows of their own time only, and are deleted as a whole when those have expired.",
        figure="time-windows-late",
        cost=(
            "Without read repair, quorum reads one after the other may go back in time; without repairs, a row that a"
            " replica missed stays missing until it expires."
        ),
        statement=f"{alter(table, options)}\n-- and let repairs leave the table out (page Repairs)",
        why_by_hand="What reads may show after a failure changes: that is for the application's owner to decide.",
    )


def headroom(table: Table, cluster: ClusterFacts) -> Advice | None:
    """A compaction of the whole table may not find the room it needs on the fullest node."""
    needed_share = HEADROOM.get(table.compaction)
    rooms = [(node.disk_free, node.name) for node in cluster.nodes if node.disk_free is not None]
    size = table.numbers.node_bytes
    if needed_share is None or size is None or size < ENOUGH_DATA or not rooms:
        return None
    free, fullest = min(rooms)
    if size * needed_share <= free:
        return None
    return Advice(
        rule="compaction-headroom",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.CRITICAL,
        finding=(
            f"A compaction of all of it may need {in_words(size * needed_share)}; {fullest} has {in_words(free)} free."
        ),
        evidence=(
            Evidence("Of the table on one node, at most", size, AdviceUnit.BYTES, "table-size"),
            Evidence("Free on the fullest node", free, AdviceUnit.BYTES, "disk-free"),
            Evidence("Compaction", table.compaction, AdviceUnit.TEXT),
        ),
        gain="Compactions go on, and deleted rows leave the disk.",
        figure="headroom",
        cost="More disk, or levelled compaction, which needs a tenth but writes about ten times as much.",
        statement="Add nodes or choose machines with more disk (Overview, Scale).",
        why_by_hand="It takes machines, which cost money.",
    )
