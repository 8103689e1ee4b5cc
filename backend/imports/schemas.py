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

    location_id: str | None = Field(None, description="null: the installation's")
    path: Prefix = Field("", description="Below the organisation's place in the location; empty: all of it")
    layout: Annotated[ImportLayout, Field(strict=False)] = ImportLayout.FILES
    backup_name: Annotated[str, StringConstraints(max_length=200, pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")] | None = (
        Field(None, description="Of layout medusa")
    )
    selection: Selection = Field(default=[], description="Empty: all tables but those of the engine")
    schema_cql: Cql = Field(
        "", description="CREATE statements of the tables; empty: those of every schema.cql that lies beside the files"
    )
    replication: dict[Identifier | str, Copies] = Field(
        default={}, description="By data centre, of keyspaces that are made; empty: as they had it, where that fits"
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
    keyspace: str
    table: str
    sstables: int
    bytes: int
    exists: bool = Field(description="Its rows go beside those that are there: the newer write of each cell wins")


class ImportNode(Schema):
    name: str
    source: str | None = Field(description="The node whose files it gets; null: those of all")
    bytes: int
    fetched_bytes: int


class Import(Schema):
    id: str
    cluster_id: str
    cluster_name: str
    location_id: str
    path: str
    layout: ImportLayout
    backup_name: str | None
    dry_run: bool = Field(description="Only looked at")
    state: ImportState
    tables: list[ImportTable] = Field(description="What was found; empty as long as nobody has looked")
    nodes: list[ImportNode]
    problems: list[str] = Field(description="All that is against it; empty: nothing that is known")
    warnings: list[str]
    same_shape: bool
    bytes: int = Field(description="To fetch, of all nodes")
    fetched_bytes: int
    repair_wanted: bool = Field(description="Its tables are repaired when it has ended")
    repair_operation_id: str | None = Field(description="Of that repair; null: not ordered")
    operation_id: str | None
    created_by: str
    created_at: datetime
    finished_at: datetime | None


class ImportList(Schema):
    items: list[Import] = Field(description="The last hundred, newest first")
    allowed_actions: list[AllowedAction]


class ImportStarted(Schema):
    """An import and the operation that looks, or that brings it."""

    imported: Import
    operation: Operation
