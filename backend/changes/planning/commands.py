"""Something done to the files of a table: what it touches, the room it needs, and why it may not be."""

from collections.abc import Mapping, Sequence

from backend.changes.planning import checks
from backend.changes.planning.facts import Facts, Proposal, Refused, TableBytes, count
from backend.changes.plans import commands
from backend.changes.plans.rolling import rack_by_rack
from backend.changes.schemas import Mode, RunCommand, TableCommand
from backend.clusters.models import Cluster, Node

KEPT_FREE = 0.05
"""Share of a disk that a compaction leaves free. The agent obeys the same (images/agent/cassandra/commands.go)."""
_USUAL_MIB_PER_SECOND = 64
"""compaction_throughput of cassandra.yaml since 4.1, where the cluster's settings do not say otherwise."""
_REWRITES = (TableCommand.COMPACT, TableCommand.CLEAN_UP, TableCommand.REWRITE)

_TITLES = {
    TableCommand.FLUSH: "Flush {}",
    TableCommand.COMPACT: "Compact {}",
    TableCommand.CLEAN_UP: "Clean up {}",
    TableCommand.REWRITE: "Rewrite the SSTables of {}",
    TableCommand.REFRESH: "Take new files into {}",
}
_IMPACT = {
    TableCommand.FLUSH: "What is in memory of the table is written to files. Reads and writes go on.",
    TableCommand.COMPACT: "Its SSTables are merged into as few as its strategy makes. Reads and writes go on.",
    TableCommand.CLEAN_UP: "Rows of which the node is no replica are dropped from its files. Reads and writes go on.",
    TableCommand.REWRITE: "Every SSTable is written anew with the table's compression and format of today. Reads and "
    "writes go on.",
    TableCommand.REFRESH: "Files that somebody placed in the table's folder on the node become part of the table.",
}
_WARNINGS = {
    TableCommand.COMPACT: (
        "With SizeTieredCompactionStrategy one large file is left, which meets no other of its size for long: "
        "tombstones in it stay until it is compacted again. With TimeWindowCompactionStrategy old windows stay apart.",
    ),
    TableCommand.CLEAN_UP: ("Of use after nodes have joined; changes of the cluster do it where it is due.",),
    TableCommand.REFRESH: (
        "The files must be of a table with the same schema. Rows in them come back also if they were deleted since.",
    ),
}


def run_command(facts: Facts, change: RunCommand) -> Proposal:
    if not facts.takes_commands:
        raise Refused(
            "not_supported",
            f"Commands on tables of {facts.cluster.engine} are not supported.",
            hint="Use the engine's own tools on the node.",
        )
    if change.sstables and (change.command is not TableCommand.COMPACT or len(change.node_ids or ()) != 1):
        raise Refused(
            "sstables_of_one_node",
            "Files have names of their own on each node, and only compact takes them.",
            hint="Name one node, or leave the files out.",
            field="sstables",
            wrong_word=True,
        )
    nodes = _nodes(facts, change)
    name = f"{change.keyspace}.{change.table}"
    # Of chosen files only the node knows the sizes.
    sizes = None if change.sstables else facts.table_bytes(change.keyspace, change.table)
    touched = _touched(change.command, sizes)
    if change.command is TableCommand.COMPACT:
        _check_room(nodes, touched, name)
    rate = compacted_per_second(facts.cluster)
    seconds = {node: size // rate for node, size in touched.items()}
    title = _TITLES[change.command].format(name)
    return Proposal(
        planned=commands.run_command(
            nodes=nodes,
            at_once=change.at_once,
            title=title,
            seconds=seconds if sizes is not None else {},
            parameters=change.model_dump(mode="json", include={"command", "keyspace", "table", "sstables"}),
        ),
        title=f"{title} on {count(len(nodes), 'node')}",
        mode=Mode.IN_PLACE,
        touched=tuple(node.name for node in nodes),
        impact=(_IMPACT[change.command], *_dry_run(change, nodes, sizes, touched)),
        warnings=(*_WARNINGS.get(change.command, ()), *_unsure(change, sizes, name)),
        after=facts,
    )


def compacted_per_second(cluster: Cluster) -> int:
    """Bytes that a node's compactions write in a second, and so whatever is written anew by them; of a cluster that
    does not limit them the usual number."""
    return int(cluster.settings.get("compaction_throughput_mib") or _USUAL_MIB_PER_SECOND) * 2**20


def _nodes(facts: Facts, change: RunCommand) -> list[Node]:
    if change.node_ids is None:
        nodes = rack_by_rack(facts.nodes)
    else:
        nodes = [checks.find_node(facts, node_id) for node_id in dict.fromkeys(change.node_ids)]
    down = next((node for node in nodes if node in checks.not_up(facts)), None)
    if down is not None:
        raise Refused(
            "node_not_up",
            f"{checks.why_not_up(down)}, and a command needs its engine.",
            hint="Start it first, or choose the others.",
            field="node_ids",
        )
    return nodes


def _touched(command: TableCommand, sizes: TableBytes | None) -> Mapping[str, int]:
    """Bytes that are read or written, by id of the node."""
    if sizes is None:
        return {}
    if command is TableCommand.FLUSH:
        return sizes.in_memory
    return sizes.on_disk if command in _REWRITES else {}


def _check_room(nodes: Sequence[Node], touched: Mapping[str, int], name: str) -> None:
    for node in nodes:
        needed, free, total = touched.get(node.id, 0), node.disk_free_bytes, node.disk_total_bytes
        if free is None or total is None or needed == 0:
            continue
        kept = int(total * KEPT_FREE)
        if free - needed < kept:
            raise Refused(
                "not_enough_disk",
                f"Compacting {name} on {node.name} may need {_size(needed)} beside what is there; {_size(free)} are "
                f"free, of which {_size(kept)} are to stay free.",
                hint="Make room or add nodes first, or compact some of its files.",
                field="node_ids",
            )


def _dry_run(
    change: RunCommand, nodes: Sequence[Node], sizes: TableBytes | None, touched: Mapping[str, int]
) -> list[str]:
    if sizes is None:
        return []
    told = []
    of_these = {node.name: touched.get(node.id, 0) for node in nodes}
    if change.command is not TableCommand.REFRESH:
        largest = max(of_these, key=of_these.__getitem__)
        told.append(
            f"It touches {_size(sum(of_these.values()))} in all, most on {largest}: {_size(of_these[largest])}."
        )
    if change.command in _REWRITES:
        up_to = "as much again" if change.command is TableCommand.COMPACT else "as much again as its two largest files"
        frees = [node.disk_free_bytes for node in nodes if node.disk_free_bytes is not None]
        least = f"; the fullest disk has {_size(min(frees))} free" if frees else ""
        told.append(f"While it runs a node needs up to {up_to}{least}. A node without that room refuses.")
    return told


def _unsure(change: RunCommand, sizes: TableBytes | None, name: str) -> tuple[str, ...]:
    if change.sstables:
        return ("How large these files are is known on the node only, which refuses if it lacks the room.",)
    if sizes is None:
        return (
            f"There are no numbers of {name}: it may be new or misspelt, or metrics are away. How long it takes is not "
            "known, and each node looks at its room itself.",
        )
    return ()


def _size(count: int) -> str:
    if count >= 2**30:
        return f"{count / 2**30:,.2f} GiB"
    return f"{count / 2**20:,.1f} MiB" if count >= 2**20 else f"{count / 2**10:,.1f} KiB"
