"""Reading clusters. A page of the list is one statement, however long list and page are."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from typing import Any

from django.contrib.postgres.aggregates import JSONBAgg
from django.db.models import Count, Exists, F, Func, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import JSONObject

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.catalog.models import MachineType
from backend.catalog.queries import catalog, find_region, machine_type_names
from backend.catalog.states import CLOUDS
from backend.cloud_accounts.models import CloudAccount
from backend.cloud_accounts.queries import find_account, recorded_room
from backend.cloud_accounts.room import Room
from backend.clusters import authorities, quorum, vault, windows
from backend.clusters.authorities import AgentClientMaterial
from backend.clusters.models import Cluster, Datacenter, MaintenanceWindow, Node
from backend.clusters.reach import clusters as clusters  # others find it here
from backend.clusters.reach import tagged
from backend.clusters.states import (
    NODE_ACTIONS,
    SERVING,
    ClusterState,
    NodeState,
    SecretPurpose,
    Weekday,
    reason_against_changing,
    reason_against_deleting,
    reason_against_going_on,
    reason_against_node_action,
    reason_against_planning,
    reason_against_revealing,
    reason_against_rotating,
    reason_against_updating,
)
from backend.clusters.windows import Window
from backend.core.errors import NotFound
from backend.core.pagination import Compiled, PageQuery, cut, page
from backend.core.schemas import allowed
from backend.operations.models import Operation
from backend.operations.states import OPEN

CQL_PORT = 9042
DYNAMODB_PORT = 8043

_COLUMNS = (
    "id",
    "name",
    "state",
    "engine",
    "engine_version",
    "provider",
    "cloud_account_id",
    "cloud_account_name",
    "image_build",
    "options",
    "settings",
    "termination_protection",
    "test_drive",
    "expires_at",
    "healing_mode",
    "healing_grace_seconds",
    "healing_replacements_per_day",
    "created_by",
    "created_at",
    "active_at",
    "deleted_at",
    "admin_revealed_at",
    "nodes_total",
    "nodes_up",
    "living_datacenters",
    "maintenance",
    "current_operation",
)
_JSON_COLUMNS = ("options", "settings", "test_drive", "living_datacenters", "maintenance", "current_operation")
_NODE_COLUMNS = (
    "id",
    "name",
    "datacenter__name",
    "zone",
    "machine_type",
    "image",
    "state",
    "state_reason",
    "address",
    "host_id",
    "engine_version",
    "agent_version",
    "is_seed",
    "observed_at",
    "replaces_id",
    "stop_wanted",
    "config_revision",
    "running_revision",
    "disk_total_bytes",
    "disk_free_bytes",
    "data_bytes",
    "clock_offset_ms",
    "engine_certificate_expires_at",
    "drift",
    "machine_id",
    "generation",
    "created_at",
)


def _nodes_of_row(condition: Q) -> Subquery:
    counted = (
        Node.objects.filter(condition, cluster_id=OuterRef("id"), deleted_at=None)
        .order_by()
        .annotate(n=Func(F("pk"), function="count", output_field=IntegerField()))
        .values("n")
    )
    return Subquery(counted)


def _datacenters_of_row() -> Subquery:
    about = JSONObject(
        name="name", region="region", zones="zones", machine_type="machine_type", nodes_per_zone="nodes_per_zone"
    )
    living = Datacenter.objects.filter(cluster_id=OuterRef("id"), deleted_at=None).order_by().values("cluster_id")
    return Subquery(living.annotate(all=JSONBAgg(about, order_by="position")).values("all"))


def _windows_of_row() -> Subquery:
    """One JSON value, null for most clusters: an array of rows would be made into Python objects for each."""
    about = JSONObject(
        weekdays="weekdays",
        starts_at="starts_at",
        minutes="minutes",
        time_zone="time_zone",
        excluded_dates="excluded_dates",
    )
    found = MaintenanceWindow.objects.filter(cluster_id=OuterRef("id")).order_by().values("cluster_id")
    return Subquery(found.annotate(all=JSONBAgg(about)).values("all"))


def _open_operation_of_row() -> Subquery:
    # The conditions of the unique index on open exclusive operations, so that this is one look into a small index.
    found = (
        Operation.objects.filter(~Q(cluster_id=""), cluster_id=OuterRef("id"), exclusive=True, state__in=OPEN)
        .order_by()
        .values(about=JSONObject(id="id", kind="kind", state="state", progress="progress"))[:1]
    )
    return Subquery(found)


@cache
def _all_rows() -> QuerySet[Cluster, dict[str, Any]]:
    """What is read of a cluster. Built once: building costs as much as reading the rows of a page."""
    annotated: QuerySet[Cluster, Any] = Cluster.objects.annotate(
        cloud_account_name=F("cloud_account__name"),
        nodes_total=_nodes_of_row(Q()),
        nodes_up=_nodes_of_row(Q(state=NodeState.UP)),
        living_datacenters=_datacenters_of_row(),
        maintenance=_windows_of_row(),
        current_operation=_open_operation_of_row(),
    )
    rows: QuerySet[Cluster, dict[str, Any]] = annotated.values(*_COLUMNS)
    return rows


def _rows(who: Identity) -> QuerySet[Cluster, dict[str, Any]]:
    return _all_rows().filter(tagged(who), organisation_id=who.organisation_id)


@lru_cache(maxsize=512)
def _unfiltered(limit: int, with_cursor: bool) -> Compiled:
    """The list as it is nearly always asked for."""
    found = _all_rows().filter(organisation_id=Compiled.WORD.format("organisation"), deleted_at=None)
    if with_cursor:
        found = found.filter(id__lt=Compiled.WORD.format("cursor"))
    return Compiled.of(found.order_by("-id")[: limit + 1], json=_JSON_COLUMNS)


def list_clusters(
    who: Identity,
    query: PageQuery,
    *,
    name: str | None = None,
    state: ClusterState | None = None,
    engine: str | None = None,
    zone: str | None = None,
    tag: str | None = None,
    q: str | None = None,
) -> dict[str, Any]:
    """Newest first. Deleted clusters only when that state is asked for."""
    if name is state is engine is zone is tag is None and who.tags is None and not q:
        values = {"organisation": who.organisation_id, "cursor": query.cursor or ""}
        found_rows = _unfiltered(query.limit, query.cursor is not None).rows(values)
        return cut(found_rows, query, lambda row: _cluster(who, row))
    found = _rows(who)
    found = found.filter(state=state) if state is ClusterState.DELETED else found.filter(deleted_at=None)
    if state is not None:
        found = found.filter(state=state)
    if name is not None:
        found = found.filter(name=name)
    if engine is not None:
        found = found.filter(engine=engine)
    if zone is not None:
        found = found.filter(
            Exists(Datacenter.objects.filter(cluster_id=OuterRef("id"), deleted_at=None, zones__contains=[zone]))
        )
    if tag is not None:
        key, _, value = tag.partition("=")
        found = found.filter(options__contains={"tags": {key: value}})
    if q:
        found = found.filter(Q(name__icontains=q) | Q(id__startswith=q))
    return page(found, query, lambda row: _cluster(who, row))


def get_cluster(who: Identity, cluster_id: str) -> dict[str, Any]:
    """A cluster, also a deleted one: its history stays. Raises NotFound."""
    row = _rows(who).filter(id=cluster_id).first()
    if row is None:
        raise cluster_not_found()
    return _cluster(who, row)


def require_cluster(who: Identity, cluster_id: str) -> None:
    """That there is such a cluster, or was one. Raises NotFound."""
    if not clusters(who).filter(id=cluster_id).exists():
        raise cluster_not_found()


def cluster_not_found() -> NotFound:
    return NotFound("cluster_not_found", "There is no such cluster.", hint="List the clusters to see their ids.")


def _cluster(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    revealed = row.pop("admin_revealed_at") is not None
    operation = row["current_operation"]
    kind = operation["kind"] if operation is not None else None
    row["datacenters"] = row.pop("living_datacenters") or []
    row["image_build"] = row["image_build"] or None
    account_id, account_name = row.pop("cloud_account_id"), row.pop("cloud_account_name")
    row["cloud_account"] = None if account_id is None else {"id": account_id, "name": account_name}
    row["healing"] = {
        "mode": row.pop("healing_mode"),
        "grace_seconds": row.pop("healing_grace_seconds"),
        "replacements_per_day": row.pop("healing_replacements_per_day"),
    }
    row["maintenance"] = _maintenance(row["maintenance"])
    if row["expires_at"] is None:
        row["test_drive"] = None
    protected, test_drive = row["termination_protection"], row["test_drive"] is not None
    row["allowed_actions"] = _allowed_actions(who.permissions, row["state"], kind, revealed, protected, test_drive)
    return row


_ALWAYS_OPEN = {"open_now": True, "next_opening": None}


def _maintenance(found: list[dict[str, Any]] | None) -> dict[str, Any]:
    if found is None:
        return _ALWAYS_OPEN
    read = [
        Window(
            weekdays=frozenset(row["weekdays"]),
            starts_at=time.fromisoformat(row["starts_at"]),
            minutes=row["minutes"],
            time_zone=row["time_zone"],
            excluded_dates=frozenset(map(date.fromisoformat, row["excluded_dates"])),
        )
        for row in found
    ]
    return _openings(read, datetime.now(UTC))


def _openings(read: Sequence[Window], now: datetime) -> dict[str, Any]:
    return {"open_now": windows.is_open(read, now), "next_opening": windows.next_opening(read, now)}


@lru_cache(maxsize=1024)
def _allowed_actions(
    permissions: frozenset[Permission],
    state_word: str,
    busy_kind: str | None,
    revealed: bool,
    protected: bool,
    test_drive: bool,
) -> Sequence[dict[str, object]]:
    """Few combinations exist, and a page of a list asks a hundred times."""
    state = ClusterState(state_word)
    may_change, may_see = Permission.CLUSTERS_WRITE in permissions, Permission.CLUSTERS_READ in permissions
    may_read = Permission.CREDENTIALS_READ in permissions
    return (
        allowed("plan_change", reason_against_planning(state, may=may_see)),
        allowed("change_cluster", reason_against_changing(state, may=may_change, busy_kind=busy_kind)),
        allowed("update_cluster", reason_against_updating(state, may=may_change)),
        allowed(
            "delete_cluster",
            reason_against_deleting(state, may=may_change, busy_kind=busy_kind, protected=protected),
        ),
        allowed(
            "reveal_credentials", reason_against_revealing(state, may=may_read, busy_kind=busy_kind, revealed=revealed)
        ),
        allowed("rotate_credentials", reason_against_rotating(state, may=may_change, busy_kind=busy_kind)),
        allowed("extend_test_drive", reason_against_going_on(state, may=may_change, test_drive=test_drive)),
        allowed("keep_test_drive", reason_against_going_on(state, may=may_change, test_drive=test_drive)),
    )


def maintenance_windows(cluster_id: str) -> list[Window]:
    """When automatic work on the cluster that can wait may be done (windows.py). None: always."""
    return [window_of(row) for row in MaintenanceWindow.objects.filter(cluster_id=cluster_id).order_by("id")]


def window_of(row: MaintenanceWindow) -> Window:
    return Window(
        weekdays=frozenset(row.weekdays),
        starts_at=row.starts_at,
        minutes=row.minutes,
        time_zone=row.time_zone,
        excluded_dates=frozenset(row.excluded_dates),
    )


def get_maintenance_windows(who: Identity, cluster_id: str) -> dict[str, Any]:
    """The windows in the order they were given. Raises NotFound."""
    require_cluster(who, cluster_id)
    read = maintenance_windows(cluster_id)
    now = datetime.now(UTC)
    return _openings(read, now) | {"windows": [_window(window) for window in read], "openings": openings(read, now)}


def openings(read: Sequence[Window], now: datetime) -> list[dict[str, datetime]]:
    """Of the next two weeks, as the API tells them."""
    found = windows.openings(read, now, timedelta(days=14))
    return [{"starts_at": begin, "ends_at": end} for begin, end in found]


def _window(window: Window) -> dict[str, Any]:
    return {
        "weekdays": [list(Weekday)[number] for number in sorted(window.weekdays)],
        "starts_at": f"{window.starts_at:%H:%M}",
        "minutes": window.minutes,
        "time_zone": window.time_zone,
        "excluded_dates": [day.isoformat() for day in sorted(window.excluded_dates)],
    }


def list_nodes(who: Identity, cluster_id: str, query: PageQuery) -> dict[str, Any]:
    """The living nodes in their order. Raises NotFound. Three statements."""
    against_all = _against_all_node_actions(who, cluster_id)
    living = Node.objects.filter(cluster_id=cluster_id, deleted_at=None)
    found = living
    if query.cursor is not None:
        after = Node.objects.filter(cluster_id=cluster_id, id=query.cursor).values("position")
        found = found.filter(position__gt=Subquery(after))
    rows = list(_node_rows(found.order_by("position"))[: query.limit + 1])
    more = len(rows) > query.limit
    del rows[query.limit :]
    down = [quorum.Place(*place) for place in _not_up(living)]
    return {
        "items": [_node(row, against_all, down) for row in rows],
        "next_cursor": rows[-1]["id"] if more else None,
    }


def get_node(who: Identity, cluster_id: str, node_id: str) -> dict[str, Any]:
    """A node, also one that has ended: its history stays. Raises NotFound. Three statements."""
    against_all = _against_all_node_actions(who, cluster_id)
    of_cluster = Node.objects.filter(cluster_id=cluster_id)
    row = _node_rows(of_cluster.filter(id=node_id)).first()
    if row is None:
        raise node_not_found()
    return _node(row, against_all, [quorum.Place(*place) for place in _not_up(of_cluster.filter(deleted_at=None))])


def node_not_found() -> NotFound:
    return NotFound("node_not_found", "There is no such node.", hint="List the cluster's nodes to see their ids.")


def _node_rows(found: QuerySet[Node]) -> QuerySet[Node, dict[str, Any]]:
    tokens = Func(F("tokens"), function="cardinality", output_field=IntegerField())
    rows: QuerySet[Node, dict[str, Any]] = found.annotate(tokens_count=tokens).values(
        *_NODE_COLUMNS, "datacenter_id", "datacenter__zones", "tokens_count"
    )
    return rows


def _against_all_node_actions(who: Identity, cluster_id: str) -> str | None:
    """Why no node of the cluster can be changed now, if so. Raises NotFound."""
    cluster = (
        clusters(who).filter(id=cluster_id).annotate(busy_kind=_open_kind_of_row()).values("state", "busy_kind").first()
    )
    if cluster is None:
        raise cluster_not_found()
    return reason_against_changing(
        ClusterState(cluster["state"]),
        may=Permission.CLUSTERS_WRITE in who.permissions,
        busy_kind=cluster["busy_kind"],
    )


def _open_kind_of_row() -> Subquery:
    open_ones = Operation.objects.filter(~Q(cluster_id=""), cluster_id=OuterRef("id"), exclusive=True, state__in=OPEN)
    return Subquery(open_ones.order_by().values("kind")[:1])


def _not_up(living: QuerySet[Node]) -> Iterable[tuple[str, str, str]]:
    return living.exclude(state=NodeState.UP).order_by().values_list("id", "datacenter_id", "zone")


def _node(row: dict[str, Any], against_all: str | None, down: Sequence[quorum.Place]) -> dict[str, Any]:
    place = quorum.Place(row["id"], row.pop("datacenter_id"), row["zone"])
    zones = row.pop("datacenter__zones")
    row["allowed_actions"] = [
        allowed(action, against_all or _against_node_action(action, row, place, len(zones), down))
        for action in NODE_ACTIONS
    ]
    for unknown_until_seen in ("image", "host_id", "engine_version", "agent_version", "machine_id"):
        row[unknown_until_seen] = row[unknown_until_seen] or None
    row["configuration_in_force"] = row.pop("config_revision") == row.pop("running_revision")
    row["replaces"] = row.pop("replaces_id") or None
    return row | {"rack": row["zone"], "datacenter": row.pop("datacenter__name")}


def _against_node_action(
    action: str, row: dict[str, Any], place: quorum.Place, replicas: int, down: Sequence[quorum.Place]
) -> str | None:
    found = reason_against_node_action(
        action, name=row["name"], state=NodeState(row["state"]), stop_wanted=row["stop_wanted"]
    )
    if found is None and action in ("restart_node", "stop_node", "measure_disks"):
        found = quorum.reason_against_taking_down(
            place, row["name"], replicas=replicas, down=down, for_good=action == "stop_node"
        )
    return found


def get_connection(who: Identity, cluster_id: str) -> dict[str, Any]:
    """How to reach a cluster, without snippets (snippets.py). Raises NotFound."""
    cluster = clusters(who).filter(id=cluster_id).first()
    if cluster is None:
        raise cluster_not_found()
    living = Node.objects.filter(cluster_id=cluster_id, deleted_at=None, address__isnull=False)
    addresses = [address for address in living.order_by("position").values_list("address", flat=True) if address]
    return {
        "name": cluster.name,
        "ready": cluster.state in SERVING,
        "contact_points": addresses,
        "port": CQL_PORT,
        # Drivers of the first data centre; those near another one name it themselves.
        "datacenter": cluster.datacenters.order_by("deleted_at", "position").values_list("name", flat=True)[0],
        "username": cluster.admin_username,
        "tls": True,
        "ca_certificate": cluster.ca_certificate,
        "password_revealed": cluster.admin_revealed_at is not None,
        "dynamodb": _dynamodb(cluster, addresses),
    }


def _dynamodb(cluster: Cluster, addresses: Sequence[str]) -> dict[str, Any] | None:
    """By the settings of engines that have that API; None for all others, and while it is off."""
    isolation = cluster.settings.get("alternator_write_isolation", "off")
    if isolation == "off":
        return None
    port = cluster.settings.get("alternator_port", DYNAMODB_PORT)
    hosts = (f"[{address}]" if ":" in address else address for address in addresses)
    return {
        "endpoints": [f"https://{host}:{port}" for host in hosts],
        "write_isolation": isolation,
        "access_key": cluster.admin_username,
    }


def used_memory_mib() -> dict[str, int]:
    """MiB that living nodes use, by region id. Two queries."""
    sizes = {(row[0], row[1]): row[2] for row in MachineType.objects.values_list("provider_id", "name", "memory_mib")}
    counted = (
        Node.objects.filter(deleted_at=None)
        .order_by()
        .values_list("cluster__provider", "datacenter__region", "machine_type")
        .annotate(n=Count("id"))
    )
    used: dict[str, int] = {}
    for provider, region, machine_type, number in counted:
        region_id = f"{provider}/{region}"
        used[region_id] = used.get(region_id, 0) + number * sizes.get((provider, machine_type), 0)
    return used


def room_in(provider: str, region: str, account: CloudAccount | None) -> Room:
    """What the account has room for, with what was accepted since its cloud told. Two statements."""
    room = recorded_room(f"{provider}/{region}", account)
    if room.answered_at is None:
        return room
    # A machine made since is counted although the cloud may count it by now: a minute of too little room, not too much.
    coming = Node.objects.filter(
        Q(machine_id="") | Q(created_at__gt=room.answered_at),
        deleted_at=None,
        cluster__provider=provider,
        cluster__cloud_account=account,
        datacenter__region=region,
    )
    counted = coming.order_by().values_list("machine_type").annotate(n=Count("id"))
    return replace(room, promised=dict(counted))


def get_capacity(who: Identity, *, provider: str, region: str, cloud_account: str | None) -> dict[str, Any]:
    """Raises NotFound."""
    account = None if cloud_account is None else find_account(who, cloud_account)
    if find_region(provider, region) is None or (account is not None and account.provider != provider):
        raise NotFound("unknown_region", f"There is no region {region} of {provider}.", hint="See get_catalog.")
    room = room_in(provider, region, account)
    return {
        "answered_at": room.answered_at,
        "warning": room_warning(provider, room),
        "quotas": [
            {"name": quota.name, "limit": quota.limit, "used": quota.used, "promised": room.promised_of(quota)}
            for quota in room.quotas
        ],
        "machine_types": [
            {
                "name": name,
                "nodes_that_fit": room.nodes_that_fit(name),
                "zones_without": room.zones_without(name),
            }
            for name in machine_type_names(provider)
        ],
    }


def room_warning(provider: str, room: Room) -> str | None:
    """How sure it is; of providers that have limits of their own."""
    return room.warning(datetime.now(UTC)) if provider in CLOUDS else None


def get_catalog() -> dict[str, Any]:
    """What can be ordered, and how much of it still fits."""
    return catalog(used_memory_mib())


# For the provisioner


def agent_client_material() -> AgentClientMaterial:
    """What agents are spoken to with. Raises SecretMissing before ``manage.py bootstrap`` has run."""
    return authorities.agent_client_material()


def secret(owner: str, purpose: SecretPurpose) -> bytes:
    """Raises SecretMissing."""
    return vault.read(owner, purpose)
