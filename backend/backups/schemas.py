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
    kind: Literal["s3"] = Field(description="s3: a bucket of Amazon S3, or of a server that speaks like it")
    name: Name = Field(
        description="For people; unique among the organisation's locations, upper and lower case being the same",
        examples=["Backups Frankfurt"],
    )
    bucket: Bucket = Field(description="Its name. It must be there already: none is made", examples=["example-backups"])
    prefix: Prefix = Field(
        "",
        description="Below which everything is kept, without a slash at either end; empty: the whole bucket",
        examples=["ringmaster/production"],
    )
    region: Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9-]*$")] = Field(
        "",
        description="Of the bucket, as Amazon names it; empty: us-east-1, or a server without regions",
        examples=["eu-central-1"],
    )
    endpoint: Endpoint | None = Field(
        None, description="Of an S3-compatible server; null: Amazon's", examples=["https://storage.example.com"]
    )
    object_lock: ObjectLock = None
    access_key_id: Credential = Field(
        description="Of a key that may list, read, write and delete below the prefix", examples=["AKIAIOSFODNN7EXAMPLE"]
    )
    secret_access_key: Credential = Field(
        description="Of that key. Kept encrypted, never shown again, and handed to the nodes that write there"
    )


class GcsLocationOrder(RequestBody):
    kind: Literal["gcs"] = Field(description="gcs: a bucket of Google Cloud Storage")
    name: Name = Field(
        description="For people; unique among the organisation's locations, upper and lower case being the same",
        examples=["Backups Frankfurt"],
    )
    bucket: Bucket = Field(description="Its name. It must be there already: none is made", examples=["example-backups"])
    prefix: Prefix = Field(
        "",
        description="Below which everything is kept, without a slash at either end; empty: the whole bucket",
        examples=["ringmaster/production"],
    )
    object_lock: ObjectLock = None
    service_account: ServiceAccountKey = Field(
        description="The key of a service account, as Google hands it out: a JSON document, as text",
        examples=['{"type": "service_account", "project_id": "example", "private_key": "…", "client_email": "…"}'],
    )


AnyLocationOrder = S3LocationOrder | GcsLocationOrder
LocationOrder = Annotated[AnyLocationOrder, Field(discriminator="kind")]


class LocationUpdate(RequestBody):
    """What is left out stays. New credentials are tried at once."""

    name: Name | None = Field(None, description="For people; unique among the organisation's locations. null: stays")
    access_key_id: Credential | None = Field(
        None, description="Of S3: with secret_access_key, never alone. null: stays", examples=["AKIAIOSFODNN7EXAMPLE"]
    )
    secret_access_key: Credential | None = Field(
        None, description="Of S3: with access_key_id, never alone. null: stays"
    )
    service_account: ServiceAccountKey | None = Field(
        None, description="Of Google: another key of a service account, a JSON document as text. null: stays"
    )


class BackupLocation(Schema):
    id: str = Field(description="Id of the location: loc_…")
    name: str = Field(description="Unique among the organisation's own; the installation's is called This installation")
    kind: LocationKind = Field(description="folder: of an installation only. s3, gcs: a bucket")
    object_lock: Literal["governance", "compliance"] | None = Field(description="null: no locks in the store")
    operators: bool = Field(description="Of the installation, for everybody; each organisation has its place in it")
    address: str = Field(description="Folder, or bucket and prefix, in words")
    region: str | None = Field(description="Of a bucket of S3, as it was given; null: none was")
    endpoint: str | None = Field(description="Of an S3-compatible server; null: Amazon's, Google's, or a folder")
    problem: str | None = Field(description="Why it could not be written when it was checked last; null: it could")
    problem_hint: str | None = Field(description="What to do about the problem; null: there is none, or nothing to say")
    checked_at: datetime | None = Field(description="null: not yet")
    check_operation_id: str | None = Field(description="Of the check that is being made")
    backups: int = Field(description="The organisation's backups in it")
    schedules: int = Field(description="The organisation's schedules that put backups there")
    stored_bytes: int = Field(description="Of the organisation's objects in it, as they lie there")
    created_by: str = Field(
        description=(
            "E-mail address or name of a service account, with the API token's name in brackets if one was used; "
            "the installation: its operator"
        )
    )
    created_at: datetime = Field(description="When it was brought")
    allowed_actions: list[AllowedAction] = Field(
        description=(
            "What the caller may do now: update_backup_location, check_backup_location, delete_backup_location "
            "and purge_backup_location"
        )
    )


class BackupLocationPage(Schema):
    items: list[BackupLocation] = Field(description="The organisation's and the installation's, newest first")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")


class BackupLocationStarted(Schema):
    """A location and the operation that tries to write there."""

    location: BackupLocation = Field(description="As it is now")
    operation: Operation = Field(
        description=(
            "The operation that tries to write there; of purge_backup_location the one that purges, which may "
            "have been open already"
        )
    )


class TableChoice(RequestBody):
    keyspace: Identifier = Field(description="Keyspace, as CQL has it without quotes", examples=["shop"])
    table: Identifier | None = Field(None, description="null: all tables of the keyspace", examples=["orders"])


Selection = Annotated[list[TableChoice], Field(max_length=SELECTION_LIMIT)]


class BackupScheduleOrder(RequestBody):
    name: Name = Field(
        description="For people; unique among the cluster's schedules, upper and lower case being the same",
        examples=["Nightly"],
    )
    cron: Annotated[str, StringConstraints(strip_whitespace=True, min_length=9, max_length=100)] | None = Field(
        None, description="minute hour day-of-month month day-of-week; or an interval", examples=["30 2 * * *"]
    )
    interval_minutes: Annotated[int, Field(ge=15, le=366 * 24 * 60)] | None = Field(
        None,
        description=(
            "Elapsed minutes from one turn to the next, 15 to 527040 (366 days); instead of cron, one of the two"
        ),
        examples=[360],
    )
    time_zone: TimeZone = Field("UTC", description="Of cron, for example Europe/Vienna", examples=["Europe/Vienna"])
    selection: Selection = Field(
        default=[],
        description="Empty: all tables that are not the engine's own",
        examples=[[{"keyspace": "shop", "table": "orders"}, {"keyspace": "users"}]],
    )
    location_id: str | None = Field(
        None,
        description="null: the installation's; where it has none, your oldest",
        examples=["loc_01jd3k6m9x4t7v2w8y5z0a1b2c"],
    )
    second_location_id: str | None = Field(
        None,
        description="Complete backups are copied there; null: nowhere",
        examples=["loc_01jd3k6m9x4t7v2w8y5z0a1b2c"],
    )
    keep_days: Days | None = Field(None, description="Older backups go; null: no matter how old")
    keep_count: Count | None = Field(None, description="So many complete ones stay; null: all")
    keep_after_deletion_days: Annotated[int, Field(ge=0, le=_YEARS)] = Field(
        30, description="After the cluster was deleted its backups stay so long"
    )
    lock_days: Days | None = Field(None, description="Nobody may delete a backup of it before; null: not locked")
    rate_mib_per_second: Rate | None = Field(None, description="Of each node; null: as fast as it goes")
    enabled: bool = Field(True, description="false: no further backups; those that it made are kept as before")

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.cron is None) is (self.interval_minutes is None):
            raise ValueError("Give either cron or interval_minutes")
        if self.keep_days is None and self.keep_count is None:
            raise ValueError("Say what is kept: keep_days, keep_count, or both")
        return self


class BackupSchedule(Schema):
    id: str = Field(description="Id of the schedule: bsc_…")
    name: str = Field(description="Unique among the cluster's schedules")
    cron: str | None = Field(
        description="minute hour day-of-month month day-of-week; null: it goes by interval_minutes"
    )
    interval_minutes: int | None = Field(description="Elapsed minutes from one turn to the next; null: it goes by cron")
    time_zone: str = Field(description="Of cron: IANA name")
    selection: list[TableChoice] = Field(
        description="What is backed up; empty: all tables that are not the engine's own"
    )
    location_id: str = Field(description="Id of the location to which its backups go")
    location_name: str = Field(description="Name of that location")
    second_location_id: str | None = Field(
        description="Id of the location to which its complete backups are copied; null: nowhere"
    )
    second_location_name: str | None = Field(description="Name of that location; null: nowhere")
    keep_days: int | None = Field(description="Days after which its backups go; null: no matter how old they are")
    keep_count: int | None = Field(description="How many complete ones stay, the newest; null: all")
    keep_after_deletion_days: int = Field(description="Days that its backups stay after the cluster was deleted")
    lock_days: int | None = Field(description="Days in which nobody may delete a backup of it; null: not locked")
    rate_mib_per_second: int | None = Field(
        description="MiB per second that each node uploads at most; null: as fast as it goes"
    )
    enabled: bool = Field(description="false: it makes no backups, and due_at is null")
    due_at: datetime | None = Field(description="When it makes the next backup; null: it does not")
    next: list[datetime] = Field(description="The next moments at which it is due")
    created_by: str = Field(
        description=(
            "Who made it first: e-mail address or name of a service account, with the API token's name in "
            "brackets if one was used"
        )
    )
    created_at: datetime = Field(description="When it was made first")
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do now: replace_backup_schedule and delete_backup_schedule"
    )


class BackupScheduleList(Schema):
    items: list[BackupSchedule] = Field(description="All of the cluster, by name")
    allowed_actions: list[AllowedAction] = Field(description="What the caller may do now: create_backup_schedule")


class BackupOrder(RequestBody):
    selection: Selection = Field(
        default=[],
        description="Empty: all tables that are not the engine's own",
        examples=[[{"keyspace": "shop", "table": "orders"}, {"keyspace": "users"}]],
    )
    location_id: str | None = Field(
        None,
        description="null: the installation's; where it has none, your oldest",
        examples=["loc_01jd3k6m9x4t7v2w8y5z0a1b2c"],
    )
    keep_days: Days | None = Field(None, description="null: until it is deleted by hand")
    lock_days: Days | None = Field(None, description="Nobody may delete it before; null: not locked")
    rate_mib_per_second: Rate | None = Field(None, description="Of each node; null: as fast as it goes")


class BackupEstimate(Schema):
    """What a backup would come to, by what is known now."""

    bytes: int | None = Field(description="Of all nodes' data; null: the nodes have not told yet")
    new_bytes: int | None = Field(description="To be uploaded, by the share that was new in the backup before")
    seconds: float | None = Field(description="By the rate of the backups before; null: there was none")
    free_bytes: int | None = Field(
        description="Free bytes on the disk of the node that has least; null: the nodes have not told yet"
    )
    warnings: list[str] = Field(description="Sentences about what to know of it; none of them stands in the way")
    problems: list[str] = Field(description="Why it cannot be made; empty: it can")


class BackupNode(Schema):
    name: str = Field(description="Name of the node, which may be gone by now")
    datacenter: str = Field(description="Name of its data centre")
    rack: str = Field(description="As the database has it: the node's zone")
    state: NodeBackupState = Field(
        description=(
            "pending, snapshot (it is taken), indexed (its files are known), written (its manifest is stored), "
            "lost (left out, see reason)"
        )
    )
    reason: str | None = Field(description="Why it was left out; null: it was not")
    bundles: int = Field(description="SSTables of it that are in the backup")
    bytes: int = Field(description="Bytes of their files")
    new_bytes: int = Field(description="Of these bytes, what was not stored yet when it listed them")
    uploaded_bytes: int = Field(description="Bytes of the files that it has uploaded so far")


class BackupTable(Schema):
    keyspace: str = Field(description="Keyspace of the table")
    table: str = Field(description="Name of the table, without its keyspace")
    bundles: int = Field(description="SSTables of all nodes; 0: it had no files")
    bytes: int = Field(description="Bytes of all nodes' files of it")


class BackupCopy(Schema):
    """A backup in a second location."""

    location_id: str = Field(description="Id of the second location")
    location_name: str = Field(description="Name of the second location")
    state: CopyState = Field(description="running, complete, or cancelled, which is not begun again")
    bytes: int = Field(description="As they are stored")
    copied_bytes: int = Field(description="That were not there already")
    operation_id: str | None = Field(description="Id of the operation that copies it, or did; null: not known")
    finished_at: datetime | None = Field(description="When it was complete or cancelled; null: it is being copied")


class Backup(Schema):
    id: str = Field(description="Id of the backup: bkp_…")
    cluster_id: str = Field(description="Id of the cluster that was backed up, which may be deleted by now")
    cluster_name: str = Field(description="As it was called then")
    cluster_deleted: bool = Field(description="true: the cluster is deleted; it is restored into another one")
    location_id: str = Field(description="Id of the location where it was stored first; see copies for others")
    location_name: str = Field(description="Name of that location")
    schedule_id: str | None = Field(
        description="Id of the schedule that ordered it, which may be deleted by now; null: made by hand"
    )
    schedule_name: str | None = Field(description="null: made by hand")
    state: BackupState = Field(
        description=(
            "running, complete, incomplete (see missing; it is not restored), failed (see reason), cancelled, "
            "deleting, deleted"
        )
    )
    reason: str | None = Field(description="Why it failed, or what to know of it")
    missing: list[str] = Field(description="What is not in it, in sentences")
    selection: list[TableChoice] = Field(description="What was chosen; empty: all tables that are not the engine's own")
    engine: str = Field(description="cassandra or scylla: it is restored into the same only")
    engine_version: str = Field(description="Of the cluster when it was ordered")
    taken_at: datetime | None = Field(description="When the last node's snapshot was made")
    bundles: int = Field(description="SSTables of all nodes; as bytes and new_bytes 0 until it is finished")
    bytes: int = Field(description="Of all nodes' files")
    new_bytes: int = Field(description="That were not stored already")
    verified_at: datetime | None = Field(description="When the sizes of all its objects were last looked at")
    contents_verified_at: datetime | None = Field(description="When a sample of its objects was last read and compared")
    damaged: str | None = Field(description="Name of an object that is missing or changed; null: none is known")
    expires_at: datetime | None = Field(description="Made by hand: kept until then; null: until it is deleted")
    locked_until: datetime | None = Field(description="Nobody may delete it before; null: not locked")
    operation_id: str | None = Field(description="Id of the operation that makes it, or did; null: not known")
    created_by: str = Field(
        description=(
            "Who ordered it: e-mail address or name of a service account, with the API token's name in brackets "
            "if one was used; Ringmaster: schedule NAME"
        )
    )
    created_at: datetime = Field(description="When it was ordered")
    finished_at: datetime | None = Field(description="When it ended, in whatever state; null: it is being made")
    copies: list[BackupCopy] = Field(description="In second locations")
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do now: delete_backup, verify_backup, download_backup and restore_backup"
    )


class BackupDetail(Backup):
    nodes: list[BackupNode] = Field(description="What each node gave to it, by name")
    tables: list[BackupTable] = Field(description="Those in it, by keyspace and name")


class BackupPage(Schema):
    items: list[Backup] = Field(description="Newest first, without deleted ones")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")


class BackupStarted(Schema):
    backup: Backup = Field(description="As it is now: just ordered, or being deleted")
    operation: Operation = Field(
        description="The operation that makes or deletes it; of clone_cluster the one of the whole clone"
    )


class ClusterBackups(Schema):
    """What can be done on a cluster, and what is in it to choose from."""

    tables: list[TableChoice] = Field(description="As the database told them last")
    tables_read_at: datetime | None = Field(
        description="When that was; null: not yet. Asking has them read every ten minutes for a day"
    )
    complete: int = Field(description="How many complete backups there are of it")
    last_complete_at: datetime | None = Field(description="When the newest of these was taken; null: there is none")
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do now: create_backup, clone_cluster and create_backup_schedule"
    )


class PurgePlan(Schema):
    """What a purge of a location would take away."""

    backups: list[str] = Field(description="Ids of backups that are kept no longer")
    objects: int = Field(description="That no backup needs any more, or will not when these are gone")
    bytes: int = Field(description="That would be freed")
    waiting_objects: int = Field(description="Of these, those that stay for the grace first")
    locked_objects: int = Field(description="Of these, those that the store itself keeps")
    locked_until: datetime | None = Field(description="When the last of those is free; null: none is locked")
    grace_seconds: int = Field(
        description="Seconds that what no backup needs stays in the store before it is deleted: 86400, a day"
    )


class DownloadOrder(RequestBody):
    hours: Annotated[int, Field(ge=1, le=168)] = Field(12, description="How long the addresses can be used")
    location_id: str | None = Field(
        None, description="Where a copy of it is; null: its first location", examples=["loc_01jd3k6m9x4t7v2w8y5z0a1b2c"]
    )
    after: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="next_after of the answer before; null: from the beginning"
    )


class DownloadItem(Schema):
    name: str = Field(description="In the store, below its prefix")
    bytes: int | None = Field(description="null: a manifest, which is small")
    url: str = Field(description="For reading this one object, with GET")


class Download(Schema):
    """Addresses of some objects of a backup; with the first come its manifests."""

    items: list[DownloadItem] = Field(
        description="At most 500 objects, and with the first answer the manifests before them"
    )
    expires_at: datetime = Field(description="When the addresses end")
    next_after: str | None = Field(description="To be asked with for the rest; null: these were the last")


class BackupKey(Schema):
    """The key with which an organisation's backups are encrypted."""

    key_id: str = Field(description="16 hexadecimal digits that name the key and tell nothing about it")
    key: str = Field(description="32 bytes in base64. Whoever has it can read every backup")


class RestoreTable(RequestBody):
    keyspace: Identifier = Field(description="In the backup", examples=["shop"])
    table: Identifier = Field(description="In the backup", examples=["orders"])
    as_keyspace: Identifier | None = Field(
        None, description="Its keyspace in the cluster, which mode copy may change; null: the same", examples=["shop"]
    )
    as_table: Identifier | None = Field(
        None,
        description="Its name in the cluster, which mode copy changes; null: the same",
        examples=["orders_restored"],
    )


class RestoreOrder(RequestBody):
    mode: Annotated[RestoreMode, Field(strict=False)] = Field(
        description=(
            "replace: tables are emptied first. add: beside what is there, newer writes win. "
            "copy: under new names. cluster: into a new cluster"
        )
    )
    tables: Annotated[list[RestoreTable], Field(max_length=SELECTION_LIMIT)] = Field(
        default=[],
        description="Empty: all that are in the backup; mode copy needs them named",
        examples=[[{"keyspace": "shop", "table": "orders", "as_table": "orders_restored"}]],
    )
    point_in_time: Annotated[Moment, Field(strict=False)] | None = Field(
        None,
        description="Until which moment, with the archived commit logs; null: as the backup has it",
        examples=["2026-11-23T07:45:00Z"],
    )
    cluster_id: str | None = Field(
        None, description="Into which; null: the one it was made of", examples=["clu_01jd3k6m9x4t7v2w8y5z0a1b2c"]
    )
    repair: bool | None = Field(
        None, description="Repair the tables afterwards; null: where nodes may not have all that they should"
    )
    new_cluster: ClusterOrder | None = Field(None, description="mode cluster: what to order")


class SchemaDifference(Schema):
    table: str = Field(description="keyspace.table, as it is or would be called in the cluster")
    difference: str = Field(description="In words: what is otherwise in the cluster than in the backup")
    fatal: bool = Field(description="true: it is among the problems. false: only good to know")


class RestoreNode(Schema):
    name: str = Field(description="Name of a node of the cluster that is restored into")
    bytes: int = Field(description="To be fetched")
    free_bytes: int | None = Field(description="Free bytes on its disk; null: not known")


class RestorePlan(Schema):
    """A dry run."""

    mode: RestoreMode = Field(description="As asked")
    point_in_time: datetime | None = Field(description="As asked; null: as the backup has it")
    log_bytes: int = Field(description="Of commit logs, in the bytes to fetch")
    cluster_id: str | None = Field(
        description="Id of the cluster that is restored into; null: one that is to be ordered"
    )
    tables: list[RestoreTable] = Field(description="Each by name, also where all were asked for")
    bytes: int = Field(
        description="Bytes to be fetched, of all nodes; where the cluster is still to be ordered, the backup's own"
    )
    bundles: int = Field(description="SSTables of these tables in the backup")
    same_shape: bool = Field(description="Every node gets what it gave; else each gets what overlaps its ranges")
    nodes: list[RestoreNode] = Field(description="What each node fetches; empty: the cluster is still to be ordered")
    differences: list[SchemaDifference] = Field(
        description="Between the backup's tables and the cluster's; empty: none, or they were not read yet"
    )
    repair: bool = Field(description="Whether the tables are repaired afterwards")
    estimated_seconds: float | None = Field(description="By the restores before; null: there was none")
    schema_read_at: datetime | None = Field(description="When the cluster's tables were read; they are read again")
    steps: list[str] = Field(description="What would be done, in order")
    warnings: list[str] = Field(description="Sentences about what to know of it; none of them stands in the way")
    problems: list[str] = Field(description="Why it cannot be done; empty: it can")


class Restore(Schema):
    id: str = Field(description="Id of the restore: rst_…")
    backup_id: str = Field(description="Id of the backup that is restored")
    cluster_id: str = Field(description="Id of the cluster that is restored into")
    cluster_name: str = Field(description="Name of that cluster")
    mode: RestoreMode = Field(
        description=(
            "replace: tables were emptied first. add: beside what was there. copy: under new names. cluster: "
            "into a cluster that was named or ordered, where missing tables are created"
        )
    )
    point_in_time: datetime | None = Field(description="Until when; null: as the backup has it")
    tables: list[RestoreTable] = Field(description="Each by name, with what it became")
    state: RestoreState = Field(description="running, succeeded or cancelled")
    bytes: int = Field(description="Bytes to fetch, of all nodes")
    fetched_bytes: int = Field(description="Of these bytes, those that are fetched and verified")
    repair_wanted: bool = Field(description="Its tables are repaired when it has ended")
    repair_operation_id: str | None = Field(description="Of that repair; null: not ordered")
    way_back_id: str | None = Field(description="Backup of what the tables held before; null: none was made")
    operation_id: str | None = Field(description="Id of the operation that restores, or did; null: not known")
    created_by: str = Field(
        description=(
            "Who ordered it: e-mail address or name of a service account, with the API token's name in brackets "
            "if one was used"
        )
    )
    created_at: datetime = Field(description="When it was ordered")
    finished_at: datetime | None = Field(description="When it ended; null: it is running")
    allowed_actions: list[AllowedAction] = Field(description="What the caller may do now: take_over, of a copy")


class RestoreNodeProgress(Schema):
    name: str = Field(description="Name of the node")
    bytes: int = Field(description="To fetch")
    fetched_bytes: int = Field(description="Fetched and verified")


class RestoreDetail(Restore):
    nodes: list[RestoreNodeProgress] = Field(description="How far each node is, in the cluster's order")
    bytes_per_second: float | None = Field(description="Of all nodes since it began; null: nothing is here yet")
    remaining_seconds: float | None = Field(description="Until all is fetched, at that rate; null: not known")


class TakeOverOrder(RequestBody):
    """Takes over what a finished copy shows: the live tables get the rows of the same backup."""

    way_back_days: Annotated[int, Field(ge=1, le=365)] = Field(
        7, description="So long the backup of what the live tables hold now is kept"
    )


class RestorePage(Schema):
    items: list[Restore] = Field(description="Into the cluster, newest first")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")


class RestoreStarted(Schema):
    restore: Restore = Field(description="As it was ordered")
    operation: Operation = Field(description="The operation that restores")


class VerifyStarted(Schema):
    operation: Operation = Field(description="The operation that verifies it")


class LogArchiveOrder(RequestBody):
    enabled: bool = Field(description="false: nothing more is stored; what was stays as long as it can be used")
    keep_days: Days = Field(7, description="So far back a moment can be restored, as far as backups are kept")
    interval_seconds: Annotated[int, Field(ge=10, le=600)] = Field(
        60, description="How old a write becomes at most before it is stored"
    )
    location_id: str | None = Field(
        None, description="null: as before, or the installation's own", examples=["loc_01jd3k6m9x4t7v2w8y5z0a1b2c"]
    )


class ArchiveGap(Schema):
    begins_at: datetime = Field(description="From when on writes may be missing")
    ends_at: datetime = Field(description="Until when")
    reason: str = Field(description="What happened, for people")


class ArchivedNode(Schema):
    name: str = Field(description="Name of the node")
    covered_until: datetime | None = Field(
        description="What was written there before is stored, but for the gaps; null: nothing yet"
    )
    waiting_bytes: int = Field(description="Of logs that the database needs no more and that are not stored yet")
    problem: str | None = Field(description="Why its last try to store failed; null: it did not")
    gaps: list[ArchiveGap] = Field(
        description="When writes may be missing from what this node archived, newest first, 20 at most"
    )


class RestorableInterval(Schema):
    """Any moment in it can be restored to, with this backup."""

    begins_at: datetime = Field(description="The first such moment: when the backup's last snapshot was whole")
    ends_at: datetime = Field(description="The last such moment")
    backup_id: str = Field(description="Id of the backup that is to be restored with point_in_time")


class LogArchive(Schema):
    """Commit logs that are stored as they are written."""

    cluster_id: str = Field(description="Id of the cluster whose commit logs these are")
    enabled: bool = Field(description="Whether they are archived now")
    keep_days: int | None = Field(
        description="So far back, in days, a moment can be restored; null: it was never turned on"
    )
    interval_seconds: int | None = Field(
        description="How old, in seconds, a write becomes at most before it is stored; null: it was never turned on"
    )
    location_id: str | None = Field(description="Id of the location to which they go; null: it was never turned on")
    location_name: str | None = Field(description="Name of that location; null: it was never turned on")
    lag_seconds: float | None = Field(description="How old the newest moment is that all nodes have stored; null: none")
    stored_bytes: int = Field(description="Bytes of what was archived, as it lies in the store, of all nodes")
    nodes: list[ArchivedNode] = Field(description="The nodes that archive now")
    restorable: list[RestorableInterval] = Field(description="Newest backup first")
    allowed_actions: list[AllowedAction] = Field(description="What the caller may do now: set_log_archive")
