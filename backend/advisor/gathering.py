"""Brings together what rules look at: metrics, the schema as it was read, repairs, answers of nodes, the catalogue."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from backend.advisor import numbers
from backend.advisor.models import Review, TableSchema
from backend.advisor.rules.facts import (
    ClusterFacts,
    Column,
    HotPartition,
    Index,
    Keyspace,
    Node,
    Numbers,
    Size,
    Table,
)
from backend.advisor.spent import spending_of, tables_lately
from backend.advisor.states import WINDOW, YOUNG, YOUNG_WINDOW
from backend.catalog.models import MachineType
from backend.clusters.models import Cluster
from backend.diagnostics.models import Diagnosis
from backend.diagnostics.states import KEPT, DiagnosisState, Question
from backend.metrics.promql import Resolution
from backend.repairs.models import RepairSchedule, RepairTable
from backend.repairs.planning.modes import RepairMode, TableFacts, Wanted, choose

USUAL_HINT_WINDOW_MINUTES = 180
TableName = tuple[str, str]


@dataclass(frozen=True)
class Facts:
    cluster: ClusterFacts
    tables: tuple[Table, ...]


def gather(cluster: Cluster, review: Review) -> Facts:
    """Raises MetricsUnavailable."""
    now = datetime.now(UTC)
    young = cluster.active_at is None or now - cluster.active_at < YOUNG
    window = YOUNG_WINDOW if young else WINDOW
    resolution = Resolution.RAW if young else Resolution.ROLLED_UP
    of_tables, of_nodes = numbers.read(cluster.id, window=window, resolution=resolution, at=now)
    nodes = list(cluster.nodes.filter(deleted_at=None).order_by("position"))
    names = {node.id: node.name for node in nodes}
    schemas = list(TableSchema.objects.filter(cluster=cluster).order_by("keyspace", "name"))
    machines = {node.machine_type for node in nodes}
    sizes = _sizes(cluster.provider)
    places = {one.id: one.name for one in cluster.datacenters.filter(deleted_at=None)}
    lately = tables_lately(cluster, now.date())
    facts = ClusterFacts(
        window_seconds=window.total_seconds(),
        nodes=tuple(
            Node(
                id=node.id,
                name=node.name,
                datacenter=places.get(node.datacenter_id, ""),
                **of_nodes.get(node.id, {}),
            )
            for node in nodes
        ),
        zones={dc.name: len(dc.zones) for dc in cluster.datacenters.filter(deleted_at=None)},
        keyspaces=tuple(
            Keyspace(name=one["name"], strategy=one["class"], factors=one["replication"]) for one in review.keyspaces
        ),
        tables=len(schemas),
        hint_window_seconds=60 * cluster.settings.get("max_hint_window_minutes", USUAL_HINT_WINDOW_MINUTES),
        size=sizes.get(machines.pop()) if len(machines) == 1 else None,
        sizes=tuple(sizes.values()),
        spending=spending_of(cluster, [one["replication"] for one in review.keyspaces], now),
    )
    answers = _answers(cluster, names)
    repairs = _repairs(cluster)
    return Facts(
        facts,
        tuple(
            replace(_table(one, of_tables, repairs, answers), lately=lately.get((one.keyspace, one.name)))
            for one in schemas
        ),
    )


def gather_deleted(cluster: Cluster) -> Facts:
    """Of a cluster that is gone: what there may still be to pay for it."""
    return Facts(ClusterFacts(window_seconds=0, spending=spending_of(cluster, [], datetime.now(UTC))), ())


def _table(row: TableSchema, of_tables: Mapping[TableName, Numbers], repairs: "Repairs", answers: "Answers") -> Table:
    name = (row.keyspace, row.name)
    repaired = repairs.tables.get(name)
    return Table(
        keyspace=row.keyspace,
        name=row.name,
        options=row.options,
        columns=tuple(
            Column(name=one["name"], kind=one["kind"], type=one["type"], position=one["position"])
            for one in row.columns
        ),
        indexes=tuple(
            Index(name=one["name"], kind=one["kind"], target=one["target"], values=one.get("values"))
            for one in row.indexes
        ),
        numbers=of_tables.get(name, Numbers()),
        replicas=0 if repaired is None else int(repaired.facts.get("replicas", 0)),
        repair_mode="" if repaired is None else repaired.last_mode,
        repair_interval=repairs.interval(repaired),
        filtering_queries=answers.filtering.get(name, 0),
        hot_partitions=tuple(answers.hot.get(name, ())),
    )


@dataclass(frozen=True)
class Repairs:
    every_seconds: float | None
    tables: Mapping[TableName, RepairTable]

    def interval(self, table: RepairTable | None) -> float | None:
        """Seconds between two repairs of a table; None: the schedule is off, or leaves it out."""
        if self.every_seconds is None or table is None or not table.facts:
            return None
        facts = TableFacts(**{**table.facts, "keyspace": table.keyspace, "name": table.name})
        mode = choose(facts, Wanted(wish=table.wish), checked_ago=None).mode  # type: ignore[arg-type]  # stored word
        return None if mode is RepairMode.SKIP else self.every_seconds


def _repairs(cluster: Cluster) -> Repairs:
    schedule = RepairSchedule.objects.filter(cluster=cluster, enabled=True).first()
    rows = RepairTable.objects.filter(cluster=cluster).defer("coverage")
    every = None if schedule is None else 3600.0 * schedule.every_hours
    return Repairs(every, {(row.keyspace, row.name): row for row in rows})


def _sizes(provider: str) -> dict[str, Size]:
    """Machines that are a node's own. Those that share the machine at hand have no size."""
    rows = MachineType.objects.filter(
        provider_id=provider, enabled=True, vcpus__isnull=False, storage_gib__isnull=False
    )
    return {
        row.name: Size(
            name=row.name,
            vcpus=row.vcpus or 0,
            memory_mib=row.memory_mib,
            storage_gib=row.storage_gib or 0,
            price=row.price_micros_per_hour,
        )
        for row in rows.order_by("position")
    }


@dataclass
class Answers:
    """What people asked nodes during the last day: nothing is asked for the advisor's sake, answers hold data."""

    filtering: dict[TableName, int] = field(default_factory=lambda: defaultdict(int))
    hot: dict[TableName, list[HotPartition]] = field(default_factory=lambda: defaultdict(list))


def _answers(cluster: Cluster, names: Mapping[str, str]) -> Answers:
    """Of each node the newest answer to each question."""
    asked = (Question.SLOW_QUERIES, Question.HOT_PARTITIONS)
    rows = Diagnosis.objects.filter(
        cluster=cluster,
        node_id__in=names,
        question__in=asked,
        state=DiagnosisState.ANSWERED,
        asked_at__gte=datetime.now(UTC) - KEPT,
    )
    newest = {(row.node_id, row.question, str(row.parameters.get("table"))): row for row in rows.order_by("id")}
    found = Answers()
    for row in newest.values():
        for table in (row.answer or {}).get("tables", []):
            if row.question == Question.SLOW_QUERIES:
                _note_filtering(found, table)
            else:
                _note_hot(found, table, row.answer or {}, names[row.node_id])
    return found


def _places(table: Mapping[str, Any], *titles: str) -> list[int] | None:
    """Where columns of these titles are; None unless all are there."""
    known = [column["title"] for column in table["columns"]]
    return [known.index(title) for title in titles] if all(title in known for title in titles) else None


def _name(text: Any) -> TableName:
    keyspace, _, table = str(text).partition(".")
    return keyspace, table


def _note_filtering(found: Answers, table: Mapping[str, Any]) -> None:
    places = _places(table, "Table", "Needs ALLOW FILTERING", "Times")
    if places is None:
        return
    where, filters, times = places
    for row in table["rows"]:
        if row[filters] is True:
            found.filtering[_name(row[where])] += int(row[times] or 0)


def _note_hot(found: Answers, table: Mapping[str, Any], answer: Mapping[str, Any], node: str) -> None:
    counted = {"Most read": "Reads", "Most written": "Writes"}.get(table["title"])
    places = None if counted is None else _places(table, "Table", "What", counted)
    seconds = next((fact["value"] for fact in answer.get("facts", []) if fact["label"] == "Watched for"), 0) or 0
    if places is None or seconds <= 0:
        return
    where, what, count = places
    by_table: dict[TableName, list[tuple[float, str]]] = defaultdict(list)
    for row in table["rows"]:
        by_table[_name(row[where])].append((float(row[count] or 0), str(row[what])))
    for name, several in by_table.items():
        most, key = max(several)
        total = sum(each for each, _ in several)
        if total > 0:
            hot = HotPartition(
                key=key, reads=counted == "Reads", share=most / total, per_second=most / seconds, node=node
            )
            found.hot[name].append(hot)
