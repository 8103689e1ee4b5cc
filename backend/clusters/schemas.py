"""Clusters on the wire."""

from datetime import date, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from backend.clusters.states import ClusterState, HealingMode, NodeState, Weekday
from backend.clusters.trial_schemas import OrderCheckOfTestDrive, TestDrive, TestDriveOrder
from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody
from backend.operations.schemas import Operation
from backend.operations.states import OperationState
from backend.prices.estimate_schemas import CostAmounts

NAME_LENGTH = 48
NAME_PATTERN = rf"^[a-z]([-a-z0-9]{{0,{NAME_LENGTH - 2}}}[a-z0-9])?$"
NODES_PER_ZONE_LIMIT = 30
ZONES_LIMIT = 8
TAGS_LIMIT = 20
WINDOWS_LIMIT = 50
EXCLUDED_DATES_LIMIT = 400

Word = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
TagKey = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]
TagValue = Annotated[Line, StringConstraints(max_length=128)]


Tags = Annotated[
    dict[TagKey, TagValue],
    Field(
        max_length=TAGS_LIMIT,
        description=f"Your own labels, at most {TAGS_LIMIT}: team, cost-centre ... "
        "Lists are filtered, costs told and roles limited by them",
    ),
]


def _check_name(name: Any) -> Any:
    """Says in words what a pattern would say in signs."""
    if not isinstance(name, str):
        return name
    if not name:
        raise ValueError("Give the cluster a name")
    if len(name) > NAME_LENGTH:
        raise ValueError(f"The name has {len(name)} characters; at most {NAME_LENGTH} are possible")
    if not ("a" <= name[0] <= "z"):
        raise ValueError("The name must start with a lower-case letter (a to z)")
    if name.endswith("-"):
        raise ValueError("The name must not end with a hyphen")
    if not set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-"):
        raise ValueError("The name may hold lower-case letters (a to z), digits and hyphens only")
    return name


ClusterName = Annotated[
    str,
    BeforeValidator(_check_name),
    Field(
        max_length=NAME_LENGTH,
        pattern=NAME_PATTERN,
        description=(
            f"1 to {NAME_LENGTH} lower-case letters, digits and hyphens; starts with a letter, does not end with a "
            "hyphen. Unique among the organisation's clusters"
        ),
    ),
]


class ClusterOptions(RequestBody):
    tags: Tags = {}


ImageBuild = Annotated[str, StringConstraints(max_length=64, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$")]


class HealingWish(RequestBody):
    """What the control plane is to do when a node of the cluster is broken. What is left out stays as it is."""

    mode: Annotated[HealingMode, Field(strict=False)] | None = Field(
        default=None, description="act: it mends the node. tell: it only says what it found"
    )
    grace_seconds: int | None = Field(
        default=None, ge=10, le=86_400, description="Seconds a machine must be dead before its node is replaced"
    )
    replacements_per_day: int | None = Field(
        default=None, ge=0, le=100, description="At most so many nodes are replaced by itself in 24 hours"
    )


class ClusterOrder(RequestBody):
    name: ClusterName = Field(examples=["orders"])
    engine: Word = Field(description="From the catalogue, for example cassandra")
    engine_version: Word | None = Field(
        None, description="From the catalogue; null: the engine's default", examples=["5.0.5"]
    )
    provider: Word = Field(description="From the catalogue, for example local")
    cloud_account: Word | None = Field(
        None,
        description="Id of the cloud account to make it in, see list_cloud_accounts; null: the installation's own",
        examples=["acc_01hzy6q3v8k2m4n5p7r9s0t1w2"],
    )
    region: Word = Field(description="From the catalogue, for example local-1")
    zones: list[Word] = Field(
        min_length=1,
        max_length=ZONES_LIMIT,
        description="Each zone becomes a rack and holds one replica of every row",
        examples=[["local-1a", "local-1b", "local-1c"]],
    )
    machine_type: Word = Field(description="From the catalogue, for example local.small")
    nodes_per_zone: int = Field(ge=1, le=NODES_PER_ZONE_LIMIT, description="The same in every zone, so racks are even")
    image_build: ImageBuild | None = Field(
        None, description="Build of machine images to pin it to, see list_images; null: new machines get the default"
    )
    options: ClusterOptions = Field(
        default_factory=ClusterOptions,
        description="Your own labels: tags",
        examples=[{"tags": {"team": "shop", "env": "dev"}}],
    )
    termination_protection: bool = Field(False, description="While on, the cluster cannot be deleted")
    healing: HealingWish = Field(
        default_factory=HealingWish,
        description="What is done when a node is broken. Left out: act, after 300 seconds, 3 replacements a day",
    )
    test_drive: TestDriveOrder | None = Field(
        None, description="A short-lived cluster with a data set and a running workload; null: an ordinary one"
    )


class ClusterUpdate(RequestBody):
    """What is left out, or null, stays as it is. All of it takes effect at once; no node notices."""

    name: ClusterName | None = Field(None, description="The ring, its nodes and its certificates keep theirs")
    tags: Tags | None = Field(
        None, description="In the place of those before", examples=[{"team": "shop", "env": "dev"}]
    )
    image_build: ImageBuild | None = Field(
        None, description="Build of machine images for new machines of it; empty: not pinned. Machines stay as they are"
    )
    termination_protection: bool | None = Field(None, description="While on, the cluster cannot be deleted")
    healing: HealingWish | None = Field(
        None, description="What is done when a node is broken; of it, too, what is left out, or null, stays as it is"
    )


class ClusterOperation(Schema):
    id: str = Field(description="op_…; get_operation takes it")
    kind: str = Field(description="Stable, for programs: create_cluster, scale_cluster, upgrade_cluster ...")
    state: OperationState = Field(description="pending, running, blocked, paused or cancelling: it is open")
    progress: float = Field(description="0 to 1")


class Datacenter(Schema):
    name: str = Field(description="What drivers call the local data centre")
    region: str = Field(description="From the catalogue: local-1")
    zones: list[str] = Field(description="Each is a rack and holds one replica of every row")
    machine_type: str = Field(description="Of its nodes; while they are being moved to another, the one before")
    nodes_per_zone: int = Field(description="While nodes come or go, as it was before")


class Healing(Schema):
    """What the control plane does when a node of the cluster is broken."""

    mode: HealingMode = Field(description="act: it mends the node. tell: it only says what it found")
    grace_seconds: int = Field(description="Seconds a machine must be dead before its node is replaced")
    replacements_per_day: int = Field(description="At most so many nodes are replaced by itself in 24 hours")


class Maintenance(Schema):
    """Whether automatic work that can wait may be done now. People's own changes never wait for it."""

    open_now: bool = Field(description="Always true for a cluster without maintenance windows")
    next_opening: datetime | None = Field(description="When the next window begins; null: there is none")


class ClusterCloudAccount(Schema):
    id: str = Field(description="acc_…; get_cloud_account takes it")
    name: str = Field(description="Unique in the organisation")


class Cluster(Schema):
    id: str = Field(description="clu_…; get_cluster takes it")
    name: str = Field(description="Unique among the organisation's clusters that are not deleted")
    state: ClusterState = Field(
        description="active: it serves. degraded: it serves, but a node of it does not. deleted: only its "
        "history is there"
    )
    engine: str = Field(description="From the catalogue: cassandra, scylla")
    engine_version: str = Field(description="That all its nodes run; while they are being upgraded, the one before")
    provider: str = Field(description="From the catalogue: local, aws, gcp")
    cloud_account: ClusterCloudAccount | None = Field(description="null: the installation's own account")
    datacenters: list[Datacenter] = Field(description="In the order they were added; at least one")
    image_build: str | None = Field(description="Build of machine images it is pinned to; null: to none")
    nodes_total: int = Field(description="Nodes that are there, of all data centres, also those that come or go")
    nodes_up: int = Field(description="Nodes of those that serve")
    options: ClusterOptions = Field(description="Your own labels: tags")
    settings: dict[str, Any] = Field(description="Engine settings that differ from the engine's own values")
    termination_protection: bool = Field(description="While on, the cluster cannot be deleted")
    test_drive: TestDrive | None = Field(description="null: an ordinary cluster")
    expires_at: datetime | None = Field(description="When a test drive is deleted by itself; null: never")
    healing: Healing = Field(description="What is done by itself when a node is broken")
    maintenance: Maintenance = Field(
        description="Whether automatic work that can wait may be done now, by its maintenance windows"
    )
    created_by: str = Field(
        description="Who ordered it: e-mail address or service account, with the API token's name in brackets if "
        "one was used"
    )
    created_at: datetime = Field(description="When it was ordered, UTC")
    active_at: datetime | None = Field(description="When it was first proved to work")
    deleted_at: datetime | None = Field(description="When nothing was left of it, UTC; null: it is not deleted")
    current_operation: ClusterOperation | None = Field(
        description="The open one that changes the cluster; null: none. list_operations has those beside it"
    )
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do with it now, and why not: change_cluster, delete_cluster, "
        "reveal_credentials ..."
    )


class ClusterPage(Schema):
    items: list[Cluster] = Field(description="Newest first")
    next_cursor: NextCursor


class ClusterFilter(Schema):
    """The query parameters of list_clusters."""

    name: str | None = Field(None, max_length=63, pattern=r"^[^\x00]*$", description="Exactly this name")
    state: ClusterState | None = Field(None, description="Deleted clusters are listed only when asked for")
    engine: Word | None = Field(None, description="Clusters with this engine: cassandra or scylla")
    zone: Word | None = Field(None, description="Clusters with nodes in this zone")
    tag: Line | None = Field(None, max_length=200, pattern="=", description="Clusters with this tag: env=dev")
    q: str | None = Field(None, max_length=100, pattern=r"^[^\x00]*$", description="Part of the name or of the id")


class ClusterStarted(Schema):
    """A cluster and the operation that now works on it."""

    cluster: Cluster = Field(description="As it is when the operation has been accepted")
    operation: Operation = Field(description="What works on it: follow it with get_operation or stream_events")


class OperationStarted(Schema):
    operation: Operation = Field(description="What was begun: follow it with get_operation or stream_events")


class OrderCheck(Schema):
    ok: bool = Field(description="Always true: an order that cannot be carried out answers as create_cluster would")
    name: str = Field(description="Of the order; it is free now")
    engine_version: str = Field(description="The version that would be installed")
    datacenter: str = Field(description="What drivers would call its data centre: local-local-1")
    nodes_total: int = Field(description="Nodes that would be made: of all zones together")
    replicas: int = Field(description="Copies of each row: one per zone")
    memory_mib_total: int = Field(description="MiB all nodes of the cluster use together")
    nodes_that_fit: int | None = Field(
        description="Nodes of this type the region holds beside what is there; null where only the provider knows"
    )
    cost: CostAmounts | None = Field(
        description="Its machines on demand, with mark-up and fees; traffic and backups depend on their use, see "
        "estimate_cost. null: the machine type has no price"
    )
    test_drive: OrderCheckOfTestDrive | None = Field(description="null: the order is of an ordinary cluster")
    warnings: list[str] = Field(description="What is not known for sure, a sentence each; it does not stop an order")
    expected_seconds: int = Field(description="How long it usually takes until the cluster serves")


class CapacityQuery(Schema):
    provider: Word = Field(description="From the catalogue: aws, gcp, local")
    region: Word = Field(description="From the catalogue: eu-central-1")
    cloud_account: Word | None = Field(None, description="Id; left out: the installation's own account")


class CapacityQuota(Schema):
    name: str = Field(description="As the cloud calls it")
    limit: float = Field(description="What the cloud allows in all, in the unit of the quota: vCPUs, machines, GB")
    used: float = Field(description="When the cloud was asked")
    promised: float = Field(description="To nodes that were accepted since, or are being made")


class CapacityOfType(Schema):
    name: str = Field(description="Of a machine type, from the catalogue: i3.xlarge")
    nodes_that_fit: int | None = Field(description="Nodes that the quotas leave room for; null: none counts them")
    zones_without: list[str] = Field(description="Zones that do not offer the type, as far as the cloud told")


class Capacity(Schema):
    """What an account has room for in a region, from its cloud's answers. Clouds tell quotas, not free machines."""

    answered_at: datetime | None = Field(description="When the cloud told; null: it never did")
    warning: str | None = Field(description="Why this is not sure, a sentence; null: it is")
    quotas: list[CapacityQuota] = Field(description="Empty: the provider has none, or has not told any")
    machine_types: list[CapacityOfType] = Field(description="All of the provider")


class NodeDrift(Schema):
    """An engine setting that a node has otherwise than wanted; nothing is changed by itself."""

    setting: str = Field(
        description="As the catalogue names it; configuration: the agent or the engine has another one altogether"
    )
    wanted: str = Field(description="What it should be")
    found: str = Field(description="What the engine has")


class Node(Schema):
    id: str = Field(description="nod_…; get_cluster_node takes it")
    name: str = Field(description="Cluster, zone and a number; never used again in its cluster")
    datacenter: str = Field(description="Of the ring, as drivers call it: local-local-1")
    zone: str = Field(description="Of the provider: local-1a")
    rack: str = Field(description="Of the ring: the same as the zone")
    machine_type: str = Field(description="From the catalogue: local.small")
    image: str | None = Field(description="What its machine was made from, as the cloud calls it; null: not yet")
    state: NodeState = Field(
        description="pending: its machine is not there yet. up: it serves. stopped: somebody stopped it. "
        "unobserved: its agent does not answer, which proves nothing. data_lost: its disks are "
        "blank. deleted: only its history is there"
    )
    state_reason: str = Field(
        description="Why it is in this state, a sentence for people; empty: there is nothing to say"
    )
    address: str | None = Field(
        description="IP address at which drivers and other nodes reach it; null: it has no machine"
    )
    host_id: str | None = Field(description="The engine's own id of the node")
    engine_version: str | None = Field(description="As it told last; null: it has not yet")
    agent_version: str | None = Field(description="Of the agent on its machine, as it told last; null: it has not yet")
    is_seed: bool = Field(description="Others find the ring by it; each zone has one")
    tokens_count: int = Field(description="How many tokens of the ring it was given")
    observed_at: datetime | None = Field(description="When the state was last looked at")
    replaces: str | None = Field(description="Id of the node whose place it takes")
    stop_wanted: bool = Field(description="Someone stopped it; it is not started by itself")
    configuration_in_force: bool = Field(description="False: the engine runs with an older configuration")
    disk_total_bytes: int | None = Field(description="Of the file system with the engine's data; null: not known yet")
    disk_free_bytes: int | None = Field(description="Of the file system with the engine's data; null: not known yet")
    data_bytes: int | None = Field(description="Live data of this node, in bytes")
    clock_offset_ms: int | None = Field(description="Its clock minus the control plane's, in milliseconds")
    engine_certificate_expires_at: datetime | None = Field(
        description="When the certificate that it shows to drivers and other nodes ends, UTC; null: not known "
        "yet. It is renewed by itself before"
    )
    drift: list[NodeDrift] = Field(description="Where its engine settings differ from what is wanted")
    machine_id: str | None = Field(description="The provider's name for its machine")
    generation: int = Field(description="Counts the machines that the node has had")
    created_at: datetime = Field(description="When it was ordered, UTC")
    allowed_actions: list[AllowedAction] = Field(description="By kind of change: replace_node, restart_node ...")


class NodePage(Schema):
    items: list[Node] = Field(description="Without deleted ones, in the order of their position in the cluster")
    next_cursor: NextCursor


class Snippet(Schema):
    id: str = Field(description="cqlsh, python, java, go, node or spark")
    title: str = Field(description="For people: Python, Node.js")
    language: str = Field(description="For syntax colours: bash, python, java, go, javascript")
    install: str = Field(description="How to get the driver; shell commands or a build file's lines")
    code: str = Field(
        description="Runs as it is in the folder of the unpacked connection bundle, with the password in the "
        "environment variable CQL_PASSWORD"
    )


class DynamoDb(Schema):
    """How to reach the cluster as DynamoDB (ScyllaDB's Alternator). A client may ask any node."""

    endpoints: list[str] = Field(description="https://address:port of every node; empty while there is no address")
    write_isolation: str = Field(description="always, only_rmw_uses_lwt, forbid_rmw or unsafe_rmw")
    access_key: str = Field(description="The access key id is the name of a role; the secret key is its salted hash")


class Connection(Schema):
    ready: bool = Field(description="True once the cluster is active; until then addresses may be missing")
    contact_points: list[str] = Field(description="IP addresses of its nodes; empty while there is none")
    port: int = Field(description="For CQL, the same on every node: 9042")
    datacenter: str = Field(
        description="What drivers need as the local data centre: the cluster's first; near another one use its name"
    )
    username: str = Field(description="Of the administrator's role in the database")
    tls: bool = Field(description="Always true: with the certificate authority below")
    ca_certificate: str = Field(description="PEM of the cluster's own CA")
    password_revealed: bool = Field(description="The administrator's password was shown; set a new one to see it again")
    dynamodb: DynamoDb | None = Field(description="null: the cluster does not offer the DynamoDB API")
    snippets: list[Snippet] = Field(description="For common drivers; empty while there is no address")


class Credentials(Schema):
    username: str = Field(description="Of the administrator's role in the database")
    password: str = Field(description="Shown once")


def _known_time_zone(name: str) -> str:
    try:
        # Names of places, and UTC: what else a system has in that folder differs from one to another.
        if "/" not in name.strip("/") and name != "UTC":
            raise ZoneInfoNotFoundError
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"There is no time zone {name}; name one of the IANA database, for example Europe/Vienna"
        ) from None
    return name


def _real_date(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"There is no day {text}") from None
    return text


class MaintenanceWindow(RequestBody):
    """A stretch of time, every week, in which automatic work that can wait may be done."""

    weekdays: Annotated[
        list[Annotated[Weekday, Field(strict=False)]],
        Field(min_length=1, max_length=7, description="On which it begins"),
    ] = Field(examples=[["sunday", "monday"]])
    starts_at: str = Field(
        pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        description="Wall-clock time in the time zone, HH:MM. When the clock is put forward past it, the window begins "
        "at the first moment after; when it comes twice, at the first",
        examples=["02:30"],
    )
    minutes: int = Field(ge=15, le=10_080, description="How long, in elapsed minutes: 15 to a week", examples=[90])
    time_zone: Annotated[str, StringConstraints(max_length=64), AfterValidator(_known_time_zone)] = Field(
        description="IANA name, for example Europe/Vienna", examples=["Europe/Vienna"]
    )
    excluded_dates: list[
        Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), AfterValidator(_real_date)]
    ] = Field(
        default=[],
        max_length=EXCLUDED_DATES_LIMIT,
        description="Local dates, YYYY-MM-DD, on which it does not begin",
        examples=[["2026-12-24"]],
    )


class Opening(Schema):
    starts_at: datetime = Field(description="UTC; of one that is open already, now")
    ends_at: datetime = Field(description="UTC; of one that lasts longer, two weeks from now")


class MaintenanceWindowsWish(RequestBody):
    windows: list[MaintenanceWindow] = Field(
        max_length=WINDOWS_LIMIT, description="In the place of those before; none: automatic work is done at any time"
    )


class MaintenanceWindows(Maintenance):
    windows: list[MaintenanceWindow] = Field(
        description="In the order in which they were given; empty: automatic work is done at any time"
    )
    openings: list[Opening] = Field(description="Of the next two weeks, sorted; empty without windows")
