"""The words of advice and of the changes made by it, and what may be done with them."""

from datetime import timedelta
from enum import StrEnum
from typing import Any

from backend.clusters.states import SERVING, ClusterState

REVIEW_EVERY = timedelta(minutes=15)
REVIEW_DELETED_EVERY = timedelta(hours=6)
"""A deleted cluster, for its backups."""
TRY_AGAIN = timedelta(minutes=2)
YOUNG = timedelta(hours=6)
"""A cluster that serves for less is judged by the last half hour, as nodes told it; others by what was rolled up."""
YOUNG_WINDOW = timedelta(minutes=30)
WINDOW = timedelta(days=1)
SIZE_WINDOW = timedelta(days=7)
FORGOTTEN_AFTER = timedelta(days=90)


class TableChangeState(StrEnum):
    APPLYING = "applying"
    APPLIED = "applied"
    UNDONE = "undone"
    CANCELLED = "cancelled"


# What a table has where nobody said otherwise: Apache Cassandra 5.0's documentation of CREATE TABLE.
DEFAULTS: dict[str, Any] = {
    "additional_write_policy": "99p",
    "bloom_filter_fp_chance": 0.01,
    "caching": {"keys": "ALL", "rows_per_partition": "NONE"},
    "cdc": False,
    "comment": "",
    "compaction": {
        "class": "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy",
        "max_threshold": "32",
        "min_threshold": "4",
    },
    "compression": {"chunk_length_in_kb": "16", "class": "org.apache.cassandra.io.compress.LZ4Compressor"},
    "crc_check_chance": 1.0,
    "default_time_to_live": 0,
    "gc_grace_seconds": 864_000,
    "max_index_interval": 2048,
    "memtable_flush_period_in_ms": 0,
    "min_index_interval": 128,
    "read_repair": "BLOCKING",
    "speculative_retry": "99p",
}

_MAY_NOT = "Your role or token may not change clusters."


def reason_against_reviewing(*, may: bool, reviewed: bool, cluster: ClusterState) -> str | None:
    """`reviewed`: the engine is one whose tables can be described."""
    if not may:
        return _MAY_NOT
    if not reviewed:
        return "There is no advice for clusters of this engine yet."
    return None if cluster in SERVING else "The cluster does not serve."


def reason_against_dismissing(*, may: bool) -> str | None:
    return None if may else _MAY_NOT


def reason_against_applying(
    *, may: bool, cluster: ClusterState, by_hand: str, changing: bool, is_over: bool
) -> str | None:
    """`by_hand`: why it is left to people; empty: it is not. `changing`: a change of the table is under way."""
    if not may:
        return _MAY_NOT
    if is_over:
        return "It is not true any more."
    if by_hand:
        return f"It is left to you. {by_hand}"
    if cluster not in SERVING:
        return "The cluster does not serve."
    return "Its options are being changed right now." if changing else None


def reason_against_undoing(
    *, may: bool, cluster: ClusterState, state: TableChangeState, is_undo: bool, changing: bool
) -> str | None:
    if not may:
        return _MAY_NOT
    if is_undo:
        return "It is an undoing itself."
    if state is not TableChangeState.APPLIED:
        return "It is not in effect."
    if cluster not in SERVING:
        return "The cluster does not serve."
    return "Its options are being changed right now." if changing else None
