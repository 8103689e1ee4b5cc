"""What the provisioner finds out of an import."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from backend.imports.models import Import, ImportNode, ImportSSTable
from backend.imports.states import ImportState

_AT_ONCE = 1000


@transaction.atomic
def found(
    import_id: str,
    *,
    sstables: Iterable[ImportSSTable],
    statements: Sequence[Mapping[str, Any]],
    problems: Sequence[str],
    warnings: Sequence[str],
) -> None:
    """What lies there, in the place of what was found before."""
    ImportSSTable.objects.filter(imported_id=import_id).delete()
    ImportSSTable.objects.bulk_create(sstables, batch_size=_AT_ONCE)
    Import.objects.filter(id=import_id).update(
        statements=list(statements), problems=list(problems), warnings=list(warnings)
    )


@transaction.atomic
def compared(
    import_id: str,
    *,
    tables: Sequence[Mapping[str, Any]],
    problems: Sequence[str],
    sources: Mapping[str, str] | None,
    sizes: Mapping[str, int],
    repair: bool,
) -> None:
    """`sources`: by node whose files it gets; None: each gets all. `sizes`: by node, in bytes.

    `repair`: its tables are repaired afterwards.
    """
    for part in ImportNode.objects.filter(imported_id=import_id):
        ImportNode.objects.filter(id=part.id).update(
            bytes=sizes[part.node_id], source="" if sources is None else sources[part.node_id]
        )
    Import.objects.filter(id=import_id).update(
        tables=list(tables),
        problems=list(problems),
        same_shape=sources is not None,
        bytes=sum(sizes.values()),
        repair_wanted=repair,
    )


@transaction.atomic
def fetched(part_id: int, *, after: int, cursor: int, count: int) -> None:
    """A node has verified files up to `cursor`; `count` in bytes. Told twice it is written once."""
    if ImportNode.objects.filter(id=part_id, cursor=after).update(
        cursor=cursor, fetched_bytes=F("fetched_bytes") + count
    ):
        Import.objects.filter(nodes__id=part_id).update(fetched_bytes=F("fetched_bytes") + count)


@transaction.atomic
def fetch_taken_back(part_id: int) -> None:
    part = ImportNode.objects.get(id=part_id)
    Import.objects.filter(id=part.imported_id).update(fetched_bytes=F("fetched_bytes") - part.fetched_bytes)
    ImportNode.objects.filter(id=part_id).update(cursor=0, fetched_bytes=0)


def ended(import_id: str, state: ImportState) -> None:
    """Rows about single SSTables are needed no longer."""
    ImportSSTable.objects.filter(imported_id=import_id).delete()
    Import.objects.filter(id=import_id, state=ImportState.RUNNING).update(state=state, finished_at=Now())


def repair_ordered(import_id: str, *, operation_id: str) -> None:
    Import.objects.filter(id=import_id).update(repair_operation_id=operation_id)
