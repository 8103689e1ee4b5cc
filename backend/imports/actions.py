"""Importing: what people order. What the provisioner finds out is written by progress.py.

An order is one transaction with operation and audit record. What lies in a location only the operation knows, so a plan
is an operation too: one that reads, writes what it found to the import, and changes nothing.
"""

from typing import Any

from django.db import transaction

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.backups.location_queries import location_for
from backend.backups.ordering import PLEASE_LOOK, locked_cluster
from backend.clusters.models import Cluster
from backend.core.errors import Conflict, Invalid
from backend.imports import cql_schema, plans
from backend.imports.models import Import, ImportNode
from backend.imports.queries import against_importing, get_import
from backend.imports.schemas import ImportOrder
from backend.operations import actions as operations
from backend.operations.queries import get_operation


@transaction.atomic
def plan(who: Identity, cluster_id: str, order: ImportOrder) -> dict[str, Any]:
    """Starts to look. Raises NotFound, Forbidden, Invalid, Conflict."""
    return _start(who, cluster_id, order, dry_run=True)


@transaction.atomic
def create(who: Identity, cluster_id: str, order: ImportOrder) -> dict[str, Any]:
    """Starts to look, and then to bring it. Raises NotFound, Forbidden, Invalid, Conflict."""
    return _start(who, cluster_id, order, dry_run=False)


def _start(who: Identity, cluster_id: str, order: ImportOrder, *, dry_run: bool) -> dict[str, Any]:
    require(who, Permission.CLUSTERS_WRITE)
    cluster = locked_cluster(who, cluster_id)
    if reason := against_importing(cluster, may=True):
        raise Conflict("cannot_import", reason, hint=PLEASE_LOOK)
    location = location_for(who, order.location_id)
    _check(cluster, order)
    row = Import.objects.create(
        organisation_id=who.organisation_id,
        cluster=cluster,
        location=location,
        path=order.path,
        layout=order.layout,
        backup_name=order.backup_name or "",
        selection=[{"keyspace": one.keyspace, "table": one.table or ""} for one in order.selection],
        schema_cql=order.schema_cql,
        replication=order.replication,
        checksums=order.checksums,
        repair=order.repair,
        dry_run=dry_run,
        created_by=who.actor,
    )
    nodes = list(cluster.nodes.filter(deleted_at=None).order_by("position"))
    ImportNode.objects.bulk_create(ImportNode(imported=row, node=node) for node in nodes)
    operation = operations.start(
        organisation_id=who.organisation_id,
        kind="check_import" if dry_run else "import_tables",
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=who.actor,
        parameters={"import": row.id},
        groups=plans.check() if dry_run else plans.bring(nodes),
        expected_seconds=plans.CHECK_SECONDS if dry_run else plans.IMPORT_SECONDS,
        exclusive=False,
        cancellable_until=None if dry_run else "create_tables",
        pausable=not dry_run,
    )
    Import.objects.filter(id=row.id).update(operation_id=operation.id)
    if not dry_run:
        audit.record(
            who,
            action="import.create",
            target_type="cluster",
            target_id=cluster.id,
            target_name=cluster.name,
            after=order.model_dump(mode="json", exclude={"schema_cql"}) | {"import": row.id},
        )
    return {"imported": get_import(who, row.id), "operation": get_operation(who, operation.id)}


def _check(cluster: Cluster, order: ImportOrder) -> None:
    """What can be said without looking. Raises Invalid."""
    here = set(cluster.datacenters.filter(deleted_at=None).values_list("name", flat=True))
    for name in order.replication:
        if name not in here:
            raise Invalid(
                "unknown_datacenter",
                f"The cluster has no data centre {name}.",
                hint=f"It has {', '.join(sorted(here))}.",
                field="replication",
            )
    try:
        cql_schema.read(order.schema_cql)
    except cql_schema.NotUnderstood as error:
        raise Invalid(
            "schema_not_understood",
            str(error),
            hint="Give what DESCRIBE KEYSPACE tells, or leave it out where schema.cql lies beside the files.",
            field="schema_cql",
        ) from error
