"""Backups on the wire."""

import ipaddress
from datetime import datetime
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ninja import Schema
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from backend.backups.states import BackupState, CopyState, LocationKind, NodeBackupState, RestoreMode, RestoreState
from backend.clusters.schemas import ClusterOrder
from backend.core.schemas import AllowedAction, Line, Moment, RequestBody
from backend.operations.schemas import Operation

SELECTION_LIMIT = 200
_YEARS = 100 * 366


def _time_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {text}; write it like Europe/Vienna") from None
    return text


def _endpoint(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("write it like https://storage.example.com")
    try:
        address = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return text.rstrip("/")
    if address.is_link_local or address.is_loopback or address.is_unspecified:
        raise ValueError("it must be reachable from the nodes, which this address is not")
    return text.rstrip("/")


Name = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=63)]
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=222, pattern=r"^[A-Za-z0-9_]+$")]
Bucket = Annotated[str, StringConstraints(min_length=3, max_length=222, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]+$")]
Prefix = Annotated[
    str, StringConstraints(max_length=200, pattern=r"^([A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$")
]
Credential = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[!-~]+$")]
ServiceAccountKey = Annotated[str, StringConstraints(min_length=2, max_length=16_000)]
TimeZone = Annotated[str, StringConstraints(max_length=64), AfterValidator(_time_zone)]
Endpoint = Annotated[str, StringConstraints(max_length=512), AfterValidator(_endpoint)]
Days = Annotated[int, Field(ge=1, le=_YEARS)]
Count = Annotated[int, Field(ge=1, le=10_000)]
Rate = Annotated[int, Field(ge=1, le=100_000)]


ObjectLock = Annotated[
    Literal["governance", "compliance"] | None,
    Field(
        description=(
            "How the store itself keeps locked backups, in a bucket that was made with object lock (Google: object "
            "retention). compliance: nobody can take it back. null: no locks in the store"
        )
    ),
]


class S3LocationOrder(RequestBody):
    kind: Literal["s3"]
    name: Name
    bucket: Bucket
    prefix: Prefix = ""
    region: Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9-]*$")] = ""
    endpoint: Endpoint | None = Field(None, description="Of an S3-compatible server; null: Amazon's")
    object_lock: ObjectLock = None
    access_key_id: Credential
    secret_access_key: Credential


class GcsLocationOrder(RequestBody):
    kind: Literal["gcs"]
    name: Name
    bucket: Bucket
    prefix: Prefix = ""
    object_lock: ObjectLock = None
    service_account: ServiceAccountKey = Field(description="The key of a service account, as Google hands it out")


AnyLocationOrder = S3LocationOrder | GcsLocationOrder
LocationOrder = Annotated[AnyLocationOrder, Field(discriminator="kind")]


class LocationUpdate(RequestBody):
    """What is left out stays. New credentials are tried at once."""

    name: Name | None = None
    access_key_id: Credential | None = None
    secret_access_key: Credential | None = None
    service_account: ServiceAccountKey | None = None


class BackupLocation(Schema):
    id: str
    name: str
    kind: LocationKind
    object_lock: Literal["governance", "compliance"] | None = Field(description="null: no locks in the store")
    operators: bool = Field(description="Of the installation, for everybody; each organisation has its place in it")
    address: str = Field(description="Folder, or bucket and prefix, in words")
    region: str | None
    endpoint: str | None
    problem: str | None = Field(description="Why it could not be written when it was checked last; null: it could")
    problem_hint: str | None
    checked_at: datetime | None = Field(description="null: not yet")
    check_operation_id: str | None = Field(description="Of the check that is being made")
    backups: int = Field(description="The organisation's backups in it")
    schedules: int = Field(description="The organisation's schedules that put backups there")
    stored_bytes: int = Field(description="Of the organisation's objects in it, as they lie there")
    created_by: str
    created_at: datetime
    allowed_actions: list[AllowedAction]


class BackupLocationPage(Schema):
    items: list[BackupLocation]
    next_cursor: str | None


class BackupLocationStarted(Schema):
    """A location and the operation that tries to write there."""

    location: BackupLocation
    operation: Operation


class TableChoice(RequestBody):
    keyspace: Identifier
    table: Identifier | None = Field(None, description="null: all tables of the keyspace")


Selection = Annotated[list[TableChoice], Field(max_length=SELECTION_LIMIT)]


class BackupScheduleOrder(RequestBody):
    name: Name
    cron: Annotated[str, StringConstraints(strip_whitespace=True, min_length=9, max_length=100)] | None = Field(
        None, description="minute hour day-of-month month day-of-week; or an interval"
    )
    interval_minutes: Annotated[int, Field(ge=15, le=366 * 24 * 60)] | None = None
    time_zone: TimeZone = Field("UTC", description="Of cron, for example Europe/Vienna")
    selection: Selection = Field(default=[], description="Empty: all tables that are not the engine's own")
    location_id: str | None = Field(None, description="null: the installation's")
    second_location_id: str | None = Field(None, description="Complete backups are copied there; null: nowhere")
    keep_days: Days | None = Field(None, description="Older backups go; null: no matter how old")
    keep_count: Count | None = Field(None, description="So many complete ones stay; null: all")
    keep_after_deletion_days: Annotated[int, Field(ge=0, le=_YEARS)] = Field(
        30, description="After the cluster was deleted its backups stay so long"
    )
    lock_days: Days | None = Field(None, description="Nobody may delete a backup of it before; null: not locked")
    rate_mib_per_second: Rate | None = Field(None, description="Of each node; null: as fast as it goes")
    enabled: bool = True

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.cron is None) is (self.interval_minutes is None):
            raise ValueError("Give either cron or interval_minutes")
        if self.keep_days is None and self.keep_count is None:
            raise ValueError("Say what is kept: keep_days, keep_count, or both")
        return self


class BackupSchedule(Schema):
    id: str
    name: str
    cron: str | None
    interval_minutes: int | None
    time_zone: str
    selection: list[TableChoice]
    location_id: str
    location_name: str
    second_location_id: str | None
    second_location_name: str | None
    keep_days: int | None
    keep_count: int | None
    keep_after_deletion_days: int
    lock_days: int | None
    rate_mib_per_second: int | None
    enabled: bool
    due_at: datetime | None = Field(description="When it makes the next backup; null: it does not")
    next: list[datetime] = Field(description="The next moments at which it is due")
    created_by: str
    created_at: datetime
    allowed_actions: list[AllowedAction]


class BackupScheduleList(Schema):
    items: list[BackupSchedule]
    allowed_actions: list[AllowedAction]


class BackupOrder(RequestBody):
    selection: Selection = Field(default=[], description="Empty: all tables that are not the engine's own")
    location_id: str | None = Field(None, description="null: the installation's")
    keep_days: Days | None = Field(None, description="null: until it is deleted by hand")
    lock_days: Days | None = Field(None, description="Nobody may delete it before; null: not locked")
    rate_mib_per_second: Rate | None = Field(None, description="Of each node; null: as fast as it goes")


class BackupEstimate(Schema):
    """What a backup would come to, by what is known now."""

    bytes: int | None = Field(description="Of all nodes' data; null: the nodes have not told yet")
    new_bytes: int | None = Field(description="To be uploaded, by the share that was new in the backup before")
    seconds: float | None = Field(description="By the rate of the backups before; null: there was none")
    free_bytes: int | None = Field(description="On the disk of the node that has least, as a share of its data")
    warnings: list[str]
    problems: list[str] = Field(description="Why it cannot be made; empty: it can")


class BackupNode(Schema):
    name: str
    datacenter: str
    rack: str
    state: NodeBackupState
    reason: str | None
    bundles: int
    bytes: int
    new_bytes: int
    uploaded_bytes: int


class BackupTable(Schema):
    keyspace: str
    table: str
    bundles: int
    bytes: int


class BackupCopy(Schema):
    """A backup in a second location."""

    location_id: str
    location_name: str
    state: CopyState
    bytes: int = Field(description="As they are stored")
    copied_bytes: int = Field(description="That were not there already")
    operation_id: str | None
    finished_at: datetime | None


class Backup(Schema):
    id: str
    cluster_id: str
    cluster_name: str
    cluster_deleted: bool
    location_id: str
    location_name: str
    schedule_id: str | None
    schedule_name: str | None = Field(description="null: made by hand")
    state: BackupState
    reason: str | None = Field(description="Why it failed, or what to know of it")
    missing: list[str] = Field(description="What is not in it, in sentences")
    selection: list[TableChoice]
    engine: str
    engine_version: str
    taken_at: datetime | None = Field(description="When the last node's snapshot was made")
    bundles: int
    bytes: int = Field(description="Of all nodes' files")
    new_bytes: int = Field(description="That were not stored already")
    verified_at: datetime | None = Field(description="When the sizes of all its objects were last looked at")
    contents_verified_at: datetime | None = Field(description="When a sample of its objects was last read and compared")
    damaged: str | None = Field(description="Name of an object that is missing or changed; null: none is known")
    expires_at: datetime | None = Field(description="Made by hand: kept until then; null: until it is deleted")
    locked_until: datetime | None
    operation_id: str | None
    created_by: str
    created_at: datetime
    finished_at: datetime | None
    copies: list[BackupCopy] = Field(description="In second locations")
    allowed_actions: list[AllowedAction]


class BackupDetail(Backup):
    nodes: list[BackupNode]
    tables: list[BackupTable]


class BackupPage(Schema):
    items: list[Backup]
    next_cursor: str | None


class BackupStarted(Schema):
    backup: Backup
    operation: Operation


class ClusterBackups(Schema):
    """What can be done on a cluster, and what is in it to choose from."""

    tables: list[TableChoice] = Field(description="As the database told them last")
    tables_read_at: datetime | None
    complete: int
    last_complete_at: datetime | None
    allowed_actions: list[AllowedAction]


class PurgePlan(Schema):
    """What a purge of a location would take away."""

    backups: list[str] = Field(description="Ids of backups that are kept no longer")
    objects: int = Field(description="That no backup needs any more, or will not when these are gone")
    bytes: int = Field(description="That would be freed")
    waiting_objects: int = Field(description="Of these, those that stay for the grace first")
    locked_objects: int = Field(description="Of these, those that the store itself keeps")
    locked_until: datetime | None = Field(description="When the last of those is free; null: none is locked")
    grace_seconds: int


class DownloadOrder(RequestBody):
    hours: Annotated[int, Field(ge=1, le=168)] = Field(12, description="How long the addresses can be used")
    location_id: str | None = Field(None, description="Where a copy of it is; null: its first location")
    after: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="next_after of the answer before; null: from the beginning"
    )


class DownloadItem(Schema):
    name: str = Field(description="In the store, below its prefix")
    bytes: int | None = Field(description="null: a manifest, which is small")
    url: str = Field(description="For reading this one object, with GET")


class Download(Schema):
    """Addresses of some objects of a backup; with the first come its manifests."""

    items: list[DownloadItem]
    expires_at: datetime
    next_after: str | None = Field(description="To be asked with for the rest; null: these were the last")


class BackupKey(Schema):
    """The key with which an organisation's backups are encrypted."""

    key_id: str
    key: str = Field(description="32 bytes in base64. Whoever has it can read every backup")


class RestoreTable(RequestBody):
    keyspace: Identifier
    table: Identifier
    as_keyspace: Identifier | None = Field(None, description="null: the same")
    as_table: Identifier | None = Field(None, description="null: the same")


class RestoreOrder(RequestBody):
    mode: Annotated[RestoreMode, Field(strict=False)] = Field(
        description=(
            "replace: tables are emptied first. add: beside what is there, newer writes win. "
            "copy: under new names. cluster: into a new cluster"
        )
    )
    tables: Annotated[list[RestoreTable], Field(max_length=SELECTION_LIMIT)] = Field(
        default=[], description="Empty: all that are in the backup"
    )
    point_in_time: Annotated[Moment, Field(strict=False)] | None = Field(
        None, description="Until which moment, with the archived commit logs; null: as the backup has it"
    )
    cluster_id: str | None = Field(None, description="Into which; null: the one it was made of")
    repair: bool | None = Field(
        None, description="Repair the tables afterwards; null: where nodes may not have all that they should"
    )
    new_cluster: ClusterOrder | None = Field(None, description="mode cluster: what to order")


class SchemaDifference(Schema):
    table: str
    difference: str = Field(description="In words: what is otherwise in the cluster than in the backup")
    fatal: bool


class RestoreNode(Schema):
    name: str
    bytes: int = Field(description="To be fetched")
    free_bytes: int | None


class RestorePlan(Schema):
    """A dry run."""

    mode: RestoreMode
    point_in_time: datetime | None
    log_bytes: int = Field(description="Of commit logs, in the bytes to fetch")
    cluster_id: str | None
    tables: list[RestoreTable]
    bytes: int
    bundles: int
    same_shape: bool = Field(description="Every node gets what it gave; else each gets what overlaps its ranges")
    nodes: list[RestoreNode]
    differences: list[SchemaDifference]
    repair: bool = Field(description="Whether the tables are repaired afterwards")
    estimated_seconds: float | None = Field(description="By the restores before; null: there was none")
    schema_read_at: datetime | None = Field(description="When the cluster's tables were read; they are read again")
    steps: list[str] = Field(description="What would be done, in order")
    warnings: list[str]
    problems: list[str] = Field(description="Why it cannot be done; empty: it can")


class Restore(Schema):
    id: str
    backup_id: str
    cluster_id: str
    cluster_name: str
    mode: RestoreMode
    point_in_time: datetime | None = Field(description="Until when; null: as the backup has it")
    tables: list[RestoreTable]
    state: RestoreState
    bytes: int
    fetched_bytes: int
    repair_wanted: bool = Field(description="Its tables are repaired when it has ended")
    repair_operation_id: str | None = Field(description="Of that repair; null: not ordered")
    way_back_id: str | None = Field(description="Backup of what the tables held before; null: none was made")
    operation_id: str | None
    created_by: str
    created_at: datetime
    finished_at: datetime | None
    allowed_actions: list[AllowedAction]


class RestoreNodeProgress(Schema):
    name: str
    bytes: int = Field(description="To fetch")
    fetched_bytes: int = Field(description="Fetched and verified")


class RestoreDetail(Restore):
    nodes: list[RestoreNodeProgress]
    bytes_per_second: float | None = Field(description="Of all nodes since it began; null: nothing is here yet")
    remaining_seconds: float | None = Field(description="Until all is fetched, at that rate; null: not known")


class TakeOverOrder(RequestBody):
    """Takes over what a finished copy shows: the live tables get the rows of the same backup."""

    way_back_days: Annotated[int, Field(ge=1, le=365)] = Field(
        7, description="So long the backup of what the live tables hold now is kept"
    )


class RestorePage(Schema):
    items: list[Restore]
    next_cursor: str | None


class RestoreStarted(Schema):
    restore: Restore
    operation: Operation


class VerifyStarted(Schema):
    operation: Operation


class LogArchiveOrder(RequestBody):
    enabled: bool
    keep_days: Days = Field(7, description="So far back a moment can be restored, as far as backups are kept")
    interval_seconds: Annotated[int, Field(ge=10, le=600)] = Field(
        60, description="How old a write becomes at most before it is stored"
    )
    location_id: str | None = Field(None, description="null: as before, or the installation's own")


class ArchiveGap(Schema):
    begins_at: datetime
    ends_at: datetime
    reason: str


class ArchivedNode(Schema):
    name: str
    covered_until: datetime | None
    waiting_bytes: int = Field(description="Of logs that the database needs no more and that are not stored yet")
    problem: str | None
    gaps: list[ArchiveGap] = Field(description="When writes may be missing from what this node archived, newest first")


class RestorableInterval(Schema):
    """Any moment in it can be restored to, with this backup."""

    begins_at: datetime
    ends_at: datetime
    backup_id: str


class LogArchive(Schema):
    """Commit logs that are stored as they are written."""

    cluster_id: str
    enabled: bool
    keep_days: int | None
    interval_seconds: int | None
    location_id: str | None
    location_name: str | None
    lag_seconds: float | None = Field(description="How old the newest moment is that all nodes have stored; null: none")
    stored_bytes: int
    nodes: list[ArchivedNode]
    restorable: list[RestorableInterval] = Field(description="Newest backup first")
    allowed_actions: list[AllowedAction]
