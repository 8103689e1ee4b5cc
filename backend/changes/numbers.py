"""How large a table is on each node: asked of whoever keeps numbers, an app above this one, which says how."""

from collections.abc import Callable

from backend.changes.planning.facts import TableBytes

Ask = Callable[[str, str, str], TableBytes | None]
_asks: list[Ask] = []


def ask_with(ask: Ask) -> None:
    """`ask`: takes a cluster's id, a keyspace and a table; None when it does not know."""
    _asks[:] = [ask]


def table_bytes(cluster_id: str, keyspace: str, table: str) -> TableBytes | None:
    return _asks[0](cluster_id, keyspace, table) if _asks else None
