"""Keeps what nodes say that they sent, for metering: of each node that is looked at, every few minutes."""

import time
from collections.abc import Iterable

from backend.costs import traffic
from backend.costs.traffic import Sent
from provisioner.reconcile.looks import Look

EVERY = 300.0
"""Seconds between two readings of a node that are kept. Another process keeps one more, which counts nothing twice."""

_kept: dict[str, tuple[float, str]] = {}
"""When a node's reading was kept last, by this process' own clock, and its epoch."""


def note(looks: Iterable[Look]) -> None:
    """Counters that began anew are kept at once: those before them are not told any more."""
    now = time.monotonic()
    due = [sent for look in looks if (sent := _sent(look)) is not None and _is_due(sent, now)]
    if not due:
        return
    traffic.note(due)
    for sent in due:
        _kept[sent.node_id] = (now, sent.epoch)


def forget() -> None:
    """The next look at each node is kept."""
    _kept.clear()


def _is_due(sent: Sent, now: float) -> bool:
    at, epoch = _kept.get(sent.node_id, (float("-inf"), ""))
    return epoch != sent.epoch or now - at >= EVERY


def _sent(look: Look) -> Sent | None:
    told = look.status.traffic if look.status is not None else None
    if told is None:
        return None
    return Sent(
        node_id=look.node.id,
        epoch=told.epoch,
        to_nodes=told.to_nodes,
        clients=told.from_clients + told.to_clients,
    )
