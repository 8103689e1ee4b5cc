"""What every order has: its rows locked, names that are taken, its audit record."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.audit import actions as audit
from backend.backups import plans
from backend.backups.models import TableReading
from backend.backups.schemas import TableChoice
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found
from backend.clusters.reach import clusters
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation

Answer = TypeVar("Answer")
# A list of tables that is older is no ground for a refusal.
_TRUSTED_FOR = timedelta(minutes=15)
PLEASE_LOOK = "Look at the cluster's state and its operations."


def locked_cluster(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).select_for_update().filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def chosen(cluster: Cluster, wanted: Sequence[TableChoice]) -> list[dict[str, Any]]:
    """The selection as it is kept. Raises Invalid for what the cluster, as it was read lately, does not have."""
    reading = TableReading.objects.filter(cluster=cluster, read_at__gte=Now() - _TRUSTED_FOR).first()
    if reading is not None:
        there = {(one["keyspace"], one["table"]) for one in reading.tables}
        there |= {(keyspace, None) for keyspace, _ in there}
        for one in wanted:
            if (one.keyspace, one.table or None) not in there:
                raise Invalid(
                    "unknown_table",
                    f"There is no {'.'.join(filter(None, (one.keyspace, one.table)))} in the cluster.",
                    hint=f"Choose from its tables. They were read at {reading.read_at:%H:%M} UTC: "
                    "what is newer is seen within some minutes.",
                    field="selection",
                )
    return [{"keyspace": one.keyspace, "table": one.table or ""} for one in wanted]


def named(taken: str, write: Callable[[], Answer]) -> Answer:
    try:
        with transaction.atomic():
            return write()
    except IntegrityError as error:
        if "_name_once" not in str(error):
            raise
        raise Conflict("name_taken", taken, hint="Choose another name.", field="name") from error


def start(who: Identity, kind: str, groups: plans.Groups, seconds: int, **parameters: str) -> Operation:
    return operations.start(
        organisation_id=who.organisation_id,
        kind=kind,
        cluster_id="",
        cluster_name="",
        actor=who.actor,
        parameters=parameters,
        groups=groups,
        expected_seconds=seconds,
    )


def record(
    who: Identity,
    action: str,
    target_type: str,
    target_id: str,
    target_name: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    audit.record(
        who,
        action=action,
        target_type=target_type,
        target_id=target_id,
        target_name=target_name,
        before=None if before is None else dict(before),
        after=None if after is None else dict(after),
    )
