"""An import: SSTables that other programs left are fetched and verified, and only then is anything changed.

What lies there is read by the control plane; nodes fetch it themselves. Every node gets the files of the node that had
its tokens, where there is one for each; else all files, of which it keeps what is in its ranges.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from backend.backups import vault_keys
from backend.backups.assignment import Place, same_shape
from backend.backups.restoring import SPARE
from backend.backups.words import size_of
from backend.clusters.models import Node
from backend.imports import cql_schema, progress
from backend.imports.cql_schema import Made, NotUnderstood
from backend.imports.models import Import, ImportNode, ImportSSTable
from backend.imports.states import ImportLayout, ImportState
from backend.operations.models import Operation
from provisioner.agent.base import AgentUnreachable
from provisioner.operations import names
from provisioner.operations.backup_nodes import ask_any, describe_schema, tables_of
from provisioner.operations.backup_store import in_words
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, Standing, StepCode, StepContext, Wait
from provisioner.operations.import_schema import differences, keyspace_to_create
from provisioner.operations.import_source import Source, bounded, is_engines, read_files, read_medusa
from provisioner.operations.membership import forget_job, job_or_none
from provisioner.operations.node_steps import cluster_of, live_nodes, look_at, run_job
from provisioner.operations.surroundings import surroundings
from provisioner.stores.base import Store, StoreSpec

_BATCH = 200
_BATCH_BYTES = 8 << 30
_BATCH_WORDS = 180_000
"""Characters of the list of files: the agent takes 256 KiB."""
_MIB = 1 << 20
_FINAL = frozenset(
    {
        "store-refused",
        "file-damaged",
        "sstable-incomplete",
        "unknown-format",
        "other-partitioner",
        "no-space",
        "schema-differs",
        "schema-refused",
        "import-failed",
        "table-not-found",
        "not-supported",
        "unknown-kind",
    }
)


def read_source(context: StepContext) -> Outcome:
    """What lies there, written down. Read anew when the step is run again."""
    row = _import(context)
    with in_words():
        store = _store(row)
        if row.layout == ImportLayout.MEDUSA:
            source = read_medusa(store, row.backup_name, checksums=row.checksums)
        else:
            source = read_files(store)
    chosen = [one for one in source.sstables if _is_chosen(row, one.keyspace, one.table)]
    made = _schema(row, source)
    views = {(one.keyspace, one.name) for one in made if one.type == "materialized_view"}
    chosen = [one for one in chosen if (one.keyspace, one.table) not in views]
    for one in row.selection:
        if not any(one["keyspace"] == s.keyspace and one["table"] in ("", s.table) for s in chosen):
            name = ".".join(filter(None, (one["keyspace"], one["table"])))
            source.problems.append(f"There are no files of {name} there.")
    progress.found(
        row.id,
        sstables=[
            ImportSSTable(
                imported=row,
                source=one.source,
                keyspace=one.keyspace,
                table=one.table,
                folder=one.folder,
                name=one.name,
                files=one.files,
                bytes=one.bytes,
            )
            for one in chosen
        ],
        statements=[one.document() for one in made],
        problems=source.bounded(),
        warnings=source.warnings[:20],
    )
    _stop_at(row, source.bounded())
    size = sum(one.bytes for one in chosen)
    return Done(f"{len(chosen):,} SSTables, {size_of(size)}", {"problems": source.bounded(), "tokens": source.tokens})


def _schema(row: Import, source: Source) -> list[Made]:
    """Only what the chosen tables need. A schema that cannot be read is a problem."""
    keyspaces = {one.keyspace for one in source.sstables if _is_chosen(row, one.keyspace, one.table)}
    made: list[Made] = []
    for text in [row.schema_cql] if row.schema_cql.strip() else dict.fromkeys(source.schemas):
        try:
            made += cql_schema.read(text, only=sorted(keyspaces))
        except NotUnderstood as error:
            source.problems.append(f"A schema.cql cannot be read: {error} Give schema_cql.")
    unique: dict[tuple[str, str, str], Made] = {}
    for one in made:
        if is_engines(one.keyspace) or not _is_wanted(row, one):
            continue
        before = unique.setdefault((one.type, one.keyspace, one.name or one.statement), one)
        if before.columns != one.columns:
            source.problems.append(f"Two schemas tell different columns of {one.keyspace}.{one.name}. Give schema_cql.")
    return sorted(unique.values(), key=lambda one: cql_schema.ORDER.index(one.type))


def _is_wanted(row: Import, one: Made) -> bool:
    match one.type:
        case "table":
            return _is_chosen(row, one.keyspace, one.name)
        case "index":
            return _is_chosen(row, one.keyspace, one.of_table)
        case "materialized_view":
            # It needs its table, which is certain only where the whole keyspace comes.
            return not row.selection or {"keyspace": one.keyspace, "table": ""} in row.selection
        case _:
            return True


def _is_chosen(row: Import, keyspace: str, table: str) -> bool:
    if not row.selection:
        return True
    return any(one["keyspace"] == keyspace and one["table"] in ("", table) for one in row.selection)


def compare_tables(context: StepContext) -> Outcome:
    """Column by column, and whether there is room. From here on it is known which node gets what."""
    row = _import(context)
    nodes = live_nodes(cluster_of(context))
    described = describe_schema(context, nodes)
    if isinstance(described, Wait):
        return described
    read = context.output("read_source")
    there = {(one["keyspace"], one["table"]): one["columns"] for one in tables_of(described)}
    known = {(one.keyspace, one.name): one for one in _made(row) if one.type == "table"}
    tables = _tables(row, there)
    problems = list(read["problems"])
    for one in tables:
        name = (one["keyspace"], one["table"])
        problems += differences(name, known.get(name), there.get(name))
    sources = _sources(read["tokens"], nodes)
    sizes = _sizes(row, nodes, sources)
    problems += _against_room(nodes, sizes)
    repair = _repairs(row, tables, nodes=nodes, same=sources is not None)
    progress.compared(row.id, tables=tables, problems=bounded(problems), sources=sources, sizes=sizes, repair=repair)
    _stop_at(row, problems)
    return Done(f"{len(tables)} tables" + (f", {len(problems)} problems" if problems else ", nothing is against it"))


def _repairs(row: Import, tables: Sequence[Mapping[str, Any]], *, nodes: Sequence[Node], same: bool) -> bool:
    """Whether the tables are repaired afterwards: as ordered, else where replicas may differ, as after a restore."""
    if len(nodes) < 2:
        return False
    return row.repair if row.repair is not None else not same or any(one["exists"] for one in tables)


def _tables(row: Import, there: Mapping[tuple[str, str], Any]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for keyspace, table, size in row.sstables.values_list("keyspace", "table", "bytes").iterator():
        one = found.setdefault(
            (keyspace, table),
            {"keyspace": keyspace, "table": table, "sstables": 0, "bytes": 0, "exists": (keyspace, table) in there},
        )
        one["sstables"] += 1
        one["bytes"] += size
    return [found[name] for name in sorted(found)]


def _sources(tokens: Mapping[str, Sequence[int]], nodes: Sequence[Node]) -> dict[str, str] | None:
    return same_shape(
        [Place(id=name, tokens=frozenset(held)) for name, held in tokens.items()],
        [Place(id=node.id, tokens=frozenset(node.tokens)) for node in nodes],
    )


def _sizes(row: Import, nodes: Sequence[Node], sources: Mapping[str, str] | None) -> dict[str, int]:
    by_source: dict[str, int] = {}
    for source, size in row.sstables.values_list("source", "bytes").iterator():
        by_source[source] = by_source.get(source, 0) + size
    whole = sum(by_source.values())
    return {node.id: whole if sources is None else by_source.get(sources[node.id], 0) for node in nodes}


def _against_room(nodes: Sequence[Node], sizes: Mapping[str, int]) -> Iterable[str]:
    for node in nodes:
        try:
            disk = surroundings().agent(node).status().disk
        except AgentUnreachable:
            continue
        if disk is not None and sizes[node.id] > disk.free_bytes - SPARE * disk.total_bytes:
            yield (
                f"{node.name} has too little room: {size_of(sizes[node.id])} are to be fetched and "
                f"{size_of(disk.free_bytes)} are free."
            )


def _stop_at(row: Import, problems: Sequence[str]) -> None:
    """Who only looks is told all of them; who wants it brought is asked to decide."""
    if problems and not row.dry_run:
        raise Blocked(
            "cannot-import",
            " ".join(problems[:3]),
            "Correct what is named there and retry; or cancel, look with plan_import, and order it otherwise.",
        )


def fetch_files(context: StepContext) -> Outcome:
    """Batch by batch. Nothing of the engine is touched, and it can stand still after any batch."""
    part = _part(context)
    row = part.imported
    batch = _next(part)
    if not batch:
        return Done(f"{size_of(part.fetched_bytes)} are here and verified")
    name = _fetch_name(context, part)
    if context.pause_wanted and not _is_running(part.node, name):
        return Standing(f"{size_of(part.fetched_bytes)} of {size_of(part.bytes)} are here")
    parameters = {"restore": _folder(row), "store": _place(row), "sstables": [_asked(one) for one in batch]}
    job = run_job(part.node, name, "fetch-files", parameters, final=_FINAL)
    size = sum(one.bytes for one in batch)
    if isinstance(job, Wait):
        done = part.fetched_bytes + (job.progress or 0.0) * size
        return Wait(job.seconds, f"{size_of(done)} of {size_of(part.bytes)}", _share(done, part.bytes))
    progress.fetched(part.id, after=part.cursor, cursor=batch[-1].id, count=size)
    forget_job(part.node, name)
    done = part.fetched_bytes + size
    return Wait(0, f"{size_of(done)} of {size_of(part.bytes)}", _share(done, part.bytes))


def _asked(one: ImportSSTable) -> dict[str, Any]:
    """As the job fetch-files takes it."""
    return {
        "key": hashlib.sha256(f"{one.folder}/{one.name}".encode()).hexdigest(),
        "keyspace": one.keyspace,
        "table": one.table,
        "folder": one.folder,
        "sstable": one.name,
        "files": one.files,
    }


def _of_part(part: ImportNode) -> Any:
    rows = ImportSSTable.objects.filter(imported_id=part.imported_id)
    return rows.filter(source=part.source) if part.source else rows


def _next(part: ImportNode) -> list[ImportSSTable]:
    chosen: list[ImportSSTable] = []
    total = words = 0
    for one in _of_part(part).filter(id__gt=part.cursor).order_by("id")[:_BATCH]:
        total += one.bytes
        words += len(json.dumps(_asked(one)))
        if chosen and (total > _BATCH_BYTES or words > _BATCH_WORDS):
            break
        chosen.append(one)
    return chosen


def _is_running(node: Node, name: str) -> bool:
    try:
        job = job_or_none(node, name)
    except AgentUnreachable:
        return False
    return job is not None and job.state == "running"


def drop_fetched(context: StepContext) -> Outcome:
    part = _part(context)
    forget_job(part.node, _fetch_name(context, part))
    progress.fetch_taken_back(part.id)
    return _drop(context, part, "drop-back")


def remove_fetched(context: StepContext) -> Outcome:
    return _drop(context, _part(context), "drop")


def _drop(context: StepContext, part: ImportNode, name: str) -> Outcome:
    if part.node.deleted_at is not None:
        return Done("it has left the ring meanwhile")
    parameters = {"restore": _folder(part.imported)}
    job = run_job(part.node, names.job(context.operation, name), "drop-restore", parameters, final=_FINAL)
    return job if isinstance(job, Wait) else Done()


def create_tables(context: StepContext) -> Outcome:
    """All but views, which are filled from their tables and so come when those are full."""
    return _create(context, "create-tables", lambda one: one.type != "materialized_view")


def create_views(context: StepContext) -> Outcome:
    return _create(context, "create-views", lambda one: one.type == "materialized_view")


def _create(context: StepContext, job: str, wanted: Callable[[Made], bool]) -> Outcome:
    row = _import(context)
    nodes = live_nodes(cluster_of(context))
    made = [one for one in _made(row) if wanted(one)]
    keyspaces = [
        keyspace_to_create(name, [one for one in made if one.keyspace == name], nodes, replication=row.replication)
        for name in sorted({one.keyspace for one in made})
    ]
    if not keyspaces:
        return Done("there are none")
    name, parameters = names.job(context.operation, job), {"keyspaces": keyspaces}
    asked = ask_any(nodes, lambda agent: agent.ensure_job(name, "create-schema", parameters, wait_seconds=1))
    if isinstance(asked, Wait):
        return asked
    looked = look_at(nodes[0], asked, final=_FINAL)
    return looked if isinstance(looked, Wait) else Done(f"{looked.result['created']} created")


def import_files(context: StepContext) -> Outcome:
    """Table by table; each node takes its own. The engine reads them first: few of their files have a checksum."""
    part = _part(context)
    row = part.imported
    held = set(_of_part(part).values_list("keyspace", "table").distinct())
    tables = [one for one in row.tables if (one["keyspace"], one["table"]) in held]
    for position, one in enumerate(tables):
        parameters = {
            "restore": _folder(row),
            "keyspace": one["keyspace"],
            "table": one["table"],
            "check_tokens": row.same_shape,
            "cleanup": not row.same_shape,
            "verify": True,
        }
        job = run_job(
            part.node, names.job(context.operation, f"import-{position}"), "import-bundles", parameters, final=_FINAL
        )
        if isinstance(job, Wait):
            share = (position + (job.progress or 0.0)) / len(tables)
            return Wait(job.seconds, f"{one['keyspace']}.{one['table']}", share)
    return Done(f"{size_of(part.fetched_bytes)} taken")


def _made(row: Import) -> list[Made]:
    """What was read of the schema."""
    text = ";\n".join(one["statement"] for one in row.statements)
    return cql_schema.read(text)


def _place(row: Import) -> dict[str, Any]:
    """As agents take a store: the path is part of its prefix."""
    place = vault_keys.store_of(row.location, row.organisation_id)
    prefix = "/".join(part for part in (place.get("prefix", ""), row.path) if part)
    return place | ({"prefix": prefix} if prefix else {})


def _store(row: Import) -> Store:
    words = StoreSpec.__dataclass_fields__
    return surroundings().store(StoreSpec(**{name: value for name, value in _place(row).items() if name in words}))


def _import(context: StepContext) -> Import:
    rows = Import.objects.select_related("location", "cluster")
    return rows.get(id=context.operation.parameters["import"])


def _part(context: StepContext) -> ImportNode:
    rows = ImportNode.objects.select_related("imported__location", "node__cluster", "node__datacenter")
    return rows.get(imported_id=context.operation.parameters["import"], node_id=context.step.target)


def _folder(row: Import) -> str:
    return row.id.replace("_", "-")


def _fetch_name(context: StepContext, part: ImportNode) -> str:
    return names.job(context.operation, f"fetch-{part.cursor}")


def _share(done: float, total: int) -> float:
    return min(1.0, done / max(total, 1))


def _ended(state: ImportState) -> Any:
    return lambda operation: progress.ended(operation.parameters["import"], state)


def _cancelled(operation: Operation) -> None:
    progress.ended(operation.parameters["import"], ImportState.CANCELLED)


_LOOK = {"read_source": StepCode(do=read_source), "compare_tables": StepCode(do=compare_tables)}
CHECK = OperationCode(
    kind="check_import", steps=_LOOK, on_succeeded=_ended(ImportState.CHECKED), on_cancelled=_cancelled
)
CODE = OperationCode(
    kind="import_tables",
    steps=_LOOK
    | {
        "fetch_files": StepCode(do=fetch_files, undo=drop_fetched),
        "create_tables": StepCode(do=create_tables),
        "import_files": StepCode(do=import_files),
        "create_views": StepCode(do=create_views),
        "remove_fetched": StepCode(do=remove_fetched),
    },
    on_succeeded=_ended(ImportState.SUCCEEDED),
    on_cancelled=_cancelled,
)
