"""Imports on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from backend.backups.schemas import Identifier, Prefix, Selection
from backend.core.schemas import AllowedAction, RequestBody
from backend.imports.states import ImportLayout, ImportState
from backend.operations.schemas import Operation

Cql = Annotated[str, StringConstraints(max_length=500_000)]
Copies = Annotated[int, Field(ge=1, le=20)]


class ImportOrder(RequestBody):
    """SSTables of another cluster, as they lie in a location."""

    location_id: str | None = Field(
        None,
        description="null: the installation's; where it has none, your oldest",
        examples=["loc_01jd3k6m9x4t7v2w8y5z0a1b2c"],
    )
    path: Prefix = Field(
        "", description="Below the organisation's place in the location; empty: all of it", examples=["old/snapshots"]
    )
    layout: Annotated[ImportLayout, Field(strict=False)] = Field(
        ImportLayout.FILES,
        description="files: folders KEYSPACE/TABLE or KEYSPACE/TABLE-ID. medusa: as cassandra-medusa writes backups",
    )
    backup_name: Annotated[str, StringConstraints(max_length=200, pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")] | None = (
        Field(
            None,
            description="Of layout medusa, which needs it: name of the backup; null with layout files",
            examples=["daily-2026-11-23"],
        )
    )
    selection: Selection = Field(
        default=[],
        description="Empty: all tables but those of the engine",
        examples=[[{"keyspace": "shop", "table": "orders"}, {"keyspace": "users"}]],
    )
    schema_cql: Cql = Field(
        "", description="CREATE statements of the tables; empty: those of every schema.cql that lies beside the files"
    )
    replication: dict[Identifier | str, Copies] = Field(
        default={},
        description="By data centre, of keyspaces that are made; empty: as they had it, where that fits",
        examples=[{"aws-eu-central-1": 3}],
    )
    checksums: bool = Field(
        True,
        description="Of layout medusa: compare its MD5s. false where the bucket encrypts by itself (SSE-KMS, SSE-C) "
        "and they are none",
    )

    repair: bool | None = Field(
        None, description="Repair the tables afterwards; null: where nodes may not have all that they should"
    )

    @model_validator(mode="after")
    def _names_a_backup(self) -> "ImportOrder":
        if (self.layout is ImportLayout.MEDUSA) is (self.backup_name is None):
            raise ValueError("backup_name goes with layout medusa, which needs it")
        return self


class ImportTable(Schema):
    keyspace: str = Field(description="Keyspace of the table")
    table: str = Field(description="Name of the table, without its keyspace")
    sstables: int = Field(description="How many were found")
    bytes: int = Field(description="Bytes of their files")
    exists: bool = Field(description="Its rows go beside those that are there: the newer write of each cell wins")


class ImportNode(Schema):
    name: str = Field(description="Name of a node of the cluster")
    source: str | None = Field(description="The node whose files it gets; null: those of all")
    bytes: int = Field(description="Bytes that it is to fetch; 0: not compared yet, or nothing")
    fetched_bytes: int = Field(description="Of these bytes, those that are fetched and verified")


class Import(Schema):
    id: str = Field(description="Id of the import: imp_…")
    cluster_id: str = Field(description="Id of the cluster that it is brought into")
    cluster_name: str = Field(description="Name of that cluster")
    location_id: str = Field(description="Id of the location where the files lie")
    path: str = Field(description="Below the organisation's place in the location; empty: all of it")
    layout: ImportLayout = Field(
        description="files: folders KEYSPACE/TABLE or KEYSPACE/TABLE-ID. medusa: as cassandra-medusa writes backups"
    )
    backup_name: str | None = Field(description="Of Medusa; null: layout files")
    dry_run: bool = Field(description="Only looked at")
    state: ImportState = Field(description="running, checked (only looked at: see problems), succeeded or cancelled")
    tables: list[ImportTable] = Field(description="What was found; empty as long as nobody has looked")
    nodes: list[ImportNode] = Field(description="What each node of the cluster fetches, in the cluster's order")
    problems: list[str] = Field(description="All that is against it; empty: nothing that is known")
    warnings: list[str] = Field(description="Sentences about what to know of it; none of them stands in the way")
    same_shape: bool = Field(
        description=(
            "true: each node gets the files of one node. false: each gets all and keeps what is in its ranges; "
            "also as long as nobody has looked"
        )
    )
    bytes: int = Field(description="To fetch, of all nodes")
    fetched_bytes: int = Field(description="Bytes that are fetched and verified, of all nodes")
    repair_wanted: bool = Field(description="Its tables are repaired when it has ended")
    repair_operation_id: str | None = Field(description="Of that repair; null: not ordered")
    operation_id: str | None = Field(description="Id of the operation that looks or brings it, or did; null: not known")
    created_by: str = Field(
        description=(
            "Who ordered it: e-mail address or name of a service account, with the API token's name in brackets "
            "if one was used"
        )
    )
    created_at: datetime = Field(description="When it was ordered")
    finished_at: datetime | None = Field(description="When it ended; null: it is running")


class ImportList(Schema):
    items: list[Import] = Field(description="The last hundred, newest first")
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do now: plan_import and create_import"
    )


class ImportStarted(Schema):
    """An import and the operation that looks, or that brings it."""

    imported: Import = Field(description="As it was ordered: what was found comes as soon as the operation has looked")
    operation: Operation = Field(description="The operation that looks, or looks and brings it")
