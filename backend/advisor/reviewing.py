"""What the provisioner finds out: the schema of a cluster, and the advice that follows. Each call may be repeated."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from backend.advisor.gathering import gather, gather_deleted
from backend.advisor.models import AdviceItem, Review, TableSchema
from backend.advisor.queries import has_backups
from backend.advisor.rules import advise, savings_of
from backend.advisor.rules.facts import Advice
from backend.advisor.states import FORGOTTEN_AFTER, REVIEW_DELETED_EVERY, REVIEW_EVERY, TRY_AGAIN
from backend.clusters.models import Cluster
from backend.clusters.states import SERVING
from backend.core.errors import DomainError
from backend.operations import actions as operations

_SCHEMA_COLUMNS = ["table_id", "view_of", "options", "columns", "indexes", "statement", "read_at"]


def make_missing_reviews() -> int:
    """Every serving cluster is looked at, and every deleted one that has backups."""
    serving = Q(deleted_at=None, state__in=SERVING)
    rows = Cluster.objects.filter(serving | has_backups(), review=None).values_list("id", flat=True)[:50]
    made = [Review(cluster_id=cluster_id, due_at=datetime.now(UTC)) for cluster_id in rows]
    Review.objects.bulk_create(made, ignore_conflicts=True)
    return len(made)


@transaction.atomic
def schema_read(cluster_id: str, described: Mapping[str, Any]) -> None:
    """Keeps what the agent's job describe-tables told, and forgets tables that are gone."""
    now = datetime.now(UTC)
    TableSchema.objects.bulk_create(
        [
            TableSchema(
                cluster_id=cluster_id,
                keyspace=one["keyspace"],
                name=one["table"],
                table_id=one["id"],
                view_of=one.get("view_of", ""),
                options=one["options"],
                columns=one["columns"],
                indexes=one["indexes"],
                statement=one["statement"],
                read_at=now,
            )
            for one in described["tables"]
        ],
        update_conflicts=True,
        unique_fields=["cluster", "keyspace", "name"],
        update_fields=_SCHEMA_COLUMNS,
        batch_size=500,
    )
    TableSchema.objects.filter(cluster_id=cluster_id, read_at__lt=now).delete()
    Review.objects.filter(cluster_id=cluster_id).update(keyspaces=described["keyspaces"], schema_read_at=now)


def options_set(cluster_id: str, keyspace: str, table: str, options: Mapping[str, Any]) -> None:
    """What was just set is told at once, not at the next reading."""
    with transaction.atomic():
        row = (
            TableSchema.objects.select_for_update().filter(cluster_id=cluster_id, keyspace=keyspace, name=table).first()
        )
        if row is not None:
            row.options = row.options | dict(options)
            row.save(update_fields=["options"])
        Review.objects.filter(cluster_id=cluster_id).update(due_at=datetime.now(UTC))


def review(cluster_id: str, *, without_schema: str = "") -> int:
    """Works the advice out anew; how much there is. Raises DomainError, and changes nothing, when metrics are away.

    `without_schema`: why its tables cannot be described; then only what the cluster could cost less is said.
    """
    row = Review.objects.select_related("cluster").get(cluster_id=cluster_id)
    is_gone = row.cluster.deleted_at is not None
    facts = gather_deleted(row.cluster) if is_gone else gather(row.cluster, row)
    found = list(savings_of(facts.cluster) if without_schema else advise(facts.cluster, facts.tables))
    with transaction.atomic():
        changed = _keep(row.cluster, found)
        Review.objects.filter(cluster_id=cluster_id).update(
            computed_at=datetime.now(UTC),
            window_seconds=round(facts.cluster.window_seconds),
            due_at=datetime.now(UTC) + (REVIEW_DELETED_EVERY if is_gone else REVIEW_EVERY),
            asked_at=None,
            problem=without_schema,
        )
        if changed or row.asked_at is not None:
            operations.notify(row.cluster.organisation_id, "cluster", cluster_id, cluster_id)
    return len(found)


def not_reviewed(cluster_id: str, problem: str, *, again_in: timedelta = TRY_AGAIN) -> None:
    """What was said before stays."""
    now = datetime.now(UTC)
    Review.objects.filter(cluster_id=cluster_id).update(problem=problem, due_at=now + again_in, asked_at=None)


def review_or_tell(cluster_id: str, *, without_schema: str = "") -> None:
    try:
        review(cluster_id, without_schema=without_schema)
    except DomainError as error:
        not_reviewed(cluster_id, error.message)


def _keep(cluster: Cluster, found: list[Advice]) -> bool:
    """Whether anything came or went."""
    now = datetime.now(UTC)
    known = {
        (row.rule, row.keyspace, row.table, row.subject): row
        for row in AdviceItem.objects.select_for_update().filter(cluster=cluster)
    }
    renewed, made = [], []
    came = False
    for one in found:
        row = known.pop((one.rule, one.keyspace, one.table, one.subject), None)
        if row is None:
            row = AdviceItem(
                cluster=cluster,
                rule=one.rule,
                keyspace=one.keyspace,
                table=one.table,
                subject=one.subject,
                first_seen_at=now,
            )
            made.append(row)
        else:
            if row.over_at is not None:
                row.first_seen_at, row.over_at, came = now, None, True
            renewed.append(row)
        row.severity, row.words, row.last_seen_at = one.severity, _words(one), now
        row.saving_micros = one.saving_micros
    AdviceItem.objects.bulk_create(made)
    AdviceItem.objects.bulk_update(
        renewed, ["severity", "words", "saving_micros", "first_seen_at", "last_seen_at", "over_at"], batch_size=500
    )
    gone = [row.id for row in known.values() if row.over_at is None]
    AdviceItem.objects.filter(id__in=gone).update(over_at=now)
    AdviceItem.objects.filter(cluster=cluster, over_at__lt=now - FORGOTTEN_AFTER).delete()
    return bool(made or gone or came)


def _words(one: Advice) -> dict[str, Any]:
    return {
        "finding": one.finding,
        "evidence": [asdict(each) for each in one.evidence],
        "gain": one.gain,
        "figure": one.figure,
        "cost": one.cost,
        "statement": one.statement,
        "change": None if one.change is None else asdict(one.change),
        "why_by_hand": one.why_by_hand,
        "formula": one.formula,
    }
