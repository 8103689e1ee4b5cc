"""The rows in which it stands what tables cost: by day for some weeks, by month for good."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import date

from backend.costs.adding import add_up, by_month
from backend.costs.models import CostTable, TableDay, TableMonth
from backend.costs.sharing import Parts

TableName = tuple[str, str]
"""Keyspace and table."""
SHARED_TABLE: TableName = ("", "")


@dataclass(frozen=True)
class Shares:
    """What is added to a table: its cost, and how often it was read and written."""

    parts: Parts
    reads: int = 0
    writes: int = 0


def shared_tables(clusters: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The row of what is shared of each cluster (organisation and id)."""
    return {
        (row[0], row[1]): row[4]
        for row in _rows([(organisation, cluster, *SHARED_TABLE) for organisation, cluster in clusters])
    }


def tables_of(organisation_id: str, cluster_id: str, names: Collection[TableName]) -> dict[TableName, int]:
    """Their rows, made where there are none."""
    return {(row[2], row[3]): row[4] for row in _rows([(organisation_id, cluster_id, *name) for name in names])}


def _rows(wanted: Collection[tuple[str, str, str, str]]) -> list[tuple[str, str, str, str, int]]:
    found = _known(wanted)
    missing = set(wanted) - {row[:4] for row in found}
    if not missing:
        return found
    CostTable.objects.bulk_create(
        [
            CostTable(organisation_id=organisation, cluster_id=cluster, keyspace=keyspace, name=name)
            for organisation, cluster, keyspace, name in sorted(missing)
        ],
        ignore_conflicts=True,
    )
    return _known(wanted)


def _known(wanted: Collection[tuple[str, str, str, str]]) -> list[tuple[str, str, str, str, int]]:
    rows = CostTable.objects.filter(
        organisation_id__in={each[0] for each in wanted},
        cluster_id__in={each[1] for each in wanted},
        keyspace__in={each[2] for each in wanted},
        name__in={each[3] for each in wanted},
    ).values_list("organisation_id", "cluster_id", "keyspace", "name", "id")
    asked = set(wanted)
    return [row for row in rows if row[:4] in asked]


def add_to_tables(amounts: Mapping[tuple[int, str, date], Shares]) -> None:
    """By table, organisation and day."""
    columns = {key: _columns(shares) for key, shares in amounts.items()}
    add_up(TableDay, columns, by=["table_id", "organisation_id", "day"], unique=["table_id", "day"])
    add_up(TableMonth, by_month(columns), by=["table_id", "organisation_id", "month"], unique=["table_id", "month"])


def _columns(shares: Shares) -> dict[str, int]:
    return {**asdict(shares.parts), "micros": shares.parts.total, "reads": shares.reads, "writes": shares.writes}
