"""Which node of a cluster gets which nodes' files of a backup.

Where every node has the tokens of one that is in the backup, each gets that one's files and nothing is left to do. In
any other shape every node gets all files, takes what is in its ranges, and drops the rest: with many tokens per node
each file has rows of every range, so choosing by range would leave little out. An engine that sends what is loaded to
its replicas needs each file once: then the nodes share them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet


@dataclass(frozen=True, kw_only=True)
class Place:
    """A node: of the backup when `written` tells whether its files are in it, else of the cluster."""

    id: str
    tokens: frozenset[int]
    written: bool = True


def same_shape(sources: Sequence[Place], targets: Sequence[Place]) -> dict[str, str] | None:
    """By target its source; None: the shapes differ, or a source that a target would need is not in the backup."""
    by_tokens = {source.tokens: source for source in sources}
    if len(sources) != len(targets) or len(by_tokens) != len(sources):
        return None
    found: dict[str, str] = {}
    for target in targets:
        source = by_tokens.get(target.tokens)
        if source is None or not source.written or not target.tokens:
            return None
        found[target.id] = source.id
    return found


def share_of(rows: QuerySet[Any], turn: int, nodes: int) -> QuerySet[Any]:
    """Of these files those of one node, whose turn it is, among so many that share them."""
    shared: QuerySet[Any] = rows.alias(turn=F("id") % nodes).filter(turn=turn)
    return shared
