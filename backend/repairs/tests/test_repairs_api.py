from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster, Node
from backend.clusters.states import ClusterState
from backend.clusters.tests.conftest import _catalog, active, api, creating, foreign
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation
from backend.repairs import actions, progress
from backend.repairs.models import RepairRun, RepairSchedule, RepairSegment, RepairTable
from backend.repairs.planning import tokens
from backend.repairs.planning.modes import DAY, RepairMode, TableFacts
from backend.repairs.planning.pace import GIB
from backend.repairs.planning.segments import Table, Work
from backend.repairs.queries import due_schedules
from backend.repairs.states import RepairRunState, RepairSegmentState

__all__ = ["_catalog", "active", "api", "creating", "foreign"]

WINDOW: dict[str, Any] = {
    "weekdays": ["monday"],
    "starts_at": "02:00",
    "minutes": 120,
    "time_zone": "Europe/Vienna",
    "excluded_dates": [],
}


def path(cluster: Cluster, rest: str = "") -> str:
    return f"/clusters/{cluster.id}/repairs{rest}"


def seen(cluster: Cluster, *names: str, **more: Any) -> None:
    """The nodes told of these tables."""
    name = cluster.datacenters.get().name
    found = []
    for each in names:
        facts = TableFacts(
            **{
                "keyspace": "shop",
                "name": each,
                "bytes": GIB,
                "unrepaired_bytes": GIB // 4,
                "replicas": 3,
                "gc_grace": 10 * DAY,
                "replication": {name: 3},
            }
            | more
        )
        found.append((f"id-{each}", facts))
    progress.tables_seen(cluster.id, found)


@pytest.fixture
def repaired(active: Cluster) -> Cluster:
    """A cluster of three nodes that serves, with a schedule and two tables."""
    progress.make_missing_schedules()
    for at, node in enumerate(active.nodes.all()):
        node.tokens = [at * 10**18, -(at + 1) * 10**18]
        node.save()
    seen(active, "orders", "people")
    return active


def run_with(
    cluster: Cluster, *done: tuple[int, int], mode: RepairMode = RepairMode.FULL, began: datetime | None = None
) -> str:
    run = RepairRun.objects.create(cluster=cluster, reason="order")
    work = Work(table=Table("shop", "orders"), mode=mode, bytes=GIB, deadline=0)
    progress.planned(run.id, [work], [], segments=2)
    for start, end in done:
        RepairSegment.objects.create(
            run=run,
            keyspace="shop",
            tables=["orders"],
            mode=mode,
            ranges=[[start, end]],
            nodes=list(cluster.nodes.values_list("id", flat=True)),
            coordinator=cluster.nodes.all()[0].id,
            state=RepairSegmentState.DONE,
            started_at=began or datetime.now(UTC),
        )
    return run.id


# Schedule


def test_every_serving_cluster_gets_a_schedule_once(active: Cluster):
    Cluster.objects.create(id="clu_new", organisation=active.organisation, name="new", state=ClusterState.CREATING)
    assert progress.make_missing_schedules() == 1
    assert progress.make_missing_schedules() == 0
    row = RepairSchedule.objects.get()
    assert (row.cluster_id, row.enabled, row.every_hours, row.intensity) == (active.id, True, 24, 50)
    assert timedelta(minutes=59) < row.due_at - datetime.now(UTC) < timedelta(hours=24)
    assert due_schedules(10) == []


def test_intensity_and_windows_are_changed_and_kept(api: ApiClient, repaired: Cluster):
    answer = api.patch(path(repaired, "/schedule"), {"intensity": 80, "windows": [WINDOW]})
    assert answer.status_code == 200, answer.content
    shown = api.get(path(repaired)).json()["schedule"]
    assert (shown["intensity"], shown["windows"], shown["every_hours"]) == (80, [WINDOW], 24)
    record = AuditRecord.objects.get(action="repair.set_schedule")
    assert (record.before["intensity"], record.after["intensity"]) == (50, 80)
    api.patch(path(repaired, "/schedule"), {"intensity": 80})
    assert AuditRecord.objects.filter(action="repair.set_schedule").count() == 1


@pytest.mark.parametrize(
    ("wish", "code", "field"),
    [
        ({"intensity": 0}, "invalid_field", "intensity"),
        ({"intensity": 101}, "invalid_field", "intensity"),
        ({"parallelism": -1}, "invalid_field", "parallelism"),
        ({"windows": [WINDOW | {"minutes": 5}]}, "invalid_field", "windows.0.minutes"),
        ({"windows": [WINDOW | {"time_zone": "Mars/Base"}]}, "invalid_field", "windows.0.time_zone"),
        ({"surprise": 1}, "invalid_field", "surprise"),
    ],
)
def test_a_wrong_schedule_changes_nothing(api: ApiClient, repaired: Cluster, wish, code, field):
    answer = api.patch(path(repaired, "/schedule"), wish)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == code
    assert field in str(answer.json()["error"])
    assert RepairSchedule.objects.get().intensity == 50


def test_windows_in_which_it_never_fits_are_refused(api: ApiClient, repaired: Cluster):
    seen(repaired, "orders", bytes=20_000 * GIB)
    answer = api.patch(path(repaired, "/schedule"), {"windows": [WINDOW], "intensity": 90})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "window_never_fits")
    assert "hours at full intensity" in answer.json()["error"]["message"]
    assert (RepairSchedule.objects.get().windows, RepairSchedule.objects.get().intensity) == ([], 50)
    every_day = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    enough = [WINDOW | {"weekdays": every_day, "minutes": 600}]
    assert api.patch(path(repaired, "/schedule"), {"windows": enough}).status_code == 200


def test_viewers_may_look_but_not_change(tenant: Tenant, repaired: Cluster):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    shown = viewer.get(path(repaired)).json()
    assert shown["allowed_actions"][0]["allowed"] is False
    assert viewer.patch(path(repaired, "/schedule"), {"intensity": 1}).status_code == 403
    assert viewer.post(path(repaired, "/runs"), {}).status_code == 403
    assert viewer.patch(path(repaired, "/tables/shop/orders"), {"mode": "full"}).status_code == 403


def test_repairs_of_others_do_not_exist(foreign: ApiClient, repaired: Cluster):
    run = RepairRun.objects.create(cluster=repaired, reason="order")
    for answer in (
        foreign.get(path(repaired)),
        foreign.get(path(repaired, "/tables")),
        foreign.get(path(repaired, "/runs")),
        foreign.get(path(repaired, f"/runs/{run.id}")),
        foreign.get(path(repaired, f"/runs/{run.id}/segments")),
        foreign.get(path(repaired, f"/runs/{run.id}/map")),
        foreign.post(path(repaired, "/runs"), {}),
        foreign.post(path(repaired, "/plan"), {}),
        foreign.patch(path(repaired, "/schedule"), {"intensity": 1}),
        foreign.patch(path(repaired, "/tables/shop/orders"), {"mode": "full"}),
    ):
        assert answer.status_code == 404


# Tables


def test_tables_tell_until_when_they_are_protected(api: ApiClient, repaired: Cluster):
    began = datetime.now(UTC) - timedelta(days=6)
    progress.ended(run_with(repaired, tokens.WHOLE[0], began=began), RepairRunState.DONE)
    page = api.get(path(repaired, "/tables")).json()
    orders, people = page["items"]
    assert (orders["table"], orders["protection"]) == ("orders", "amber")
    until = datetime.fromisoformat(orders["protected_until"])
    assert abs(until - began - timedelta(days=10)) < timedelta(seconds=2)
    assert (people["protection"], people["protected_until"]) == ("unknown", None)
    assert api.get(path(repaired)).json()["tables"]["amber"] == 1


def test_tables_come_page_by_page(api: ApiClient, repaired: Cluster):
    first = api.get(path(repaired, "/tables?limit=1")).json()
    second = api.get(path(repaired, f"/tables?limit=1&cursor={first['next_cursor']}")).json()
    assert [first["items"][0]["table"], second["items"][0]["table"]] == ["orders", "people"]
    assert second["next_cursor"] is None
    assert api.get(path(repaired, "/tables?keyspace=other")).json()["items"] == []


def test_a_policy_is_set_and_kept_when_tables_are_read_again(api: ApiClient, repaired: Cluster):
    answer = api.patch(
        path(repaired, "/tables/shop/orders"), {"mode": "full", "deadline_hours": 48, "priority": "high"}
    )
    assert answer.status_code == 200, answer.content
    assert (answer.json()["mode"], answer.json()["deadline_seconds"]) == ("full", 48 * 3600)
    seen(repaired, "orders")
    assert api.get(path(repaired, "/tables")).json()["items"][0]["policy"]["mode"] == "full"
    assert api.patch(path(repaired, "/tables/shop/orders"), {"deadline_hours": 0}).json()["deadline_seconds"] == 432_000
    assert (
        api.patch(path(repaired, "/tables/shop/nothing"), {"mode": "full"}).json()["error"]["code"] == "table_not_found"
    )


def test_a_table_of_the_same_name_is_another_table(repaired: Cluster):
    progress.ended(run_with(repaired, tokens.WHOLE[0]), RepairRunState.DONE)
    assert RepairTable.objects.get(name="orders").repaired_at is not None
    row = RepairTable.objects.get(name="orders")
    progress.tables_seen(repaired.id, [("another id", TableFacts(keyspace="shop", name="orders", **row.facts))])
    assert RepairTable.objects.get(name="orders").repaired_at is None
    assert not RepairTable.objects.filter(name="people").exists()


# Runs


def test_a_run_is_ordered_and_followed(api: ApiClient, repaired: Cluster):
    answer = api.post(path(repaired, "/runs"), {"tables": ["shop.orders"], "mode": "full"})
    assert answer.status_code == 202, answer.content
    run = answer.json()["run"]
    assert answer.json()["operation"]["kind"] == "repair"
    assert run["asked"] == {"tables": ["shop.orders"], "mode": "full", "node_id": None, "any_time": False}
    assert api.get(path(repaired)).json()["current_run"]["id"] == run["id"]
    assert api.get(path(repaired, "/runs")).json()["items"] == [run]
    again = api.post(path(repaired, "/runs"), {})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "cannot_repair")
    assert AuditRecord.objects.filter(action="repair.run").count() == 1


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ({"tables": ["shop.nothing"]}, "unknown_table"),
        ({"tables": ["shop"]}, "invalid_field"),
        ({"mode": "skip"}, "nothing_to_repair"),
        ({"mode": "all"}, "invalid_field"),
    ],
)
def test_a_wrong_order_starts_nothing(api: ApiClient, repaired: Cluster, order, code):
    answer = api.post(path(repaired, "/runs"), order)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
    assert not RepairRun.objects.exists()
    assert not Operation.objects.filter(kind="repair").exists()


def test_a_cluster_that_does_not_serve_is_not_repaired(api: ApiClient, repaired: Cluster):
    Cluster.objects.filter(id=repaired.id).update(state=ClusterState.DELETING)
    assert api.post(path(repaired, "/runs"), {}).status_code == 409


def test_a_plan_says_what_would_be_done(api: ApiClient, repaired: Cluster):
    seen(repaired, "orders", "people", "lonely")
    RepairTable.objects.filter(name="lonely").update(facts={**RepairTable.objects.all()[0].facts, "replicas": 1})
    answer = api.post(path(repaired, "/plan"), {})
    assert answer.status_code == 200, answer.content
    plan = answer.json()
    modes = {own["table"]: own["mode"] for own in plan["tables"]}
    assert modes == {"orders": "incremental", "people": "incremental"}
    assert [own["table"] for own in plan["skipped"]] == ["lonely"]
    assert plan["segments"] >= 1
    assert plan["bytes"] == pytest.approx(2 * GIB, rel=0.01)
    assert plan["seconds"] == pytest.approx(128, rel=0.05)
    assert plan["against"] is None
    assert not RepairRun.objects.exists()
    api.patch(path(repaired, "/schedule"), {"intensity": 100, "windows": [WINDOW]})
    faster = api.post(path(repaired, "/plan"), {}).json()
    assert faster["seconds"] < plan["seconds"]
    assert api.post(path(repaired, "/plan"), {"tables": ["shop.nothing"]}).json()["error"]["code"] == "unknown_table"


def test_a_run_that_ends_counts_what_it_repaired(repaired: Cluster):
    began = datetime.now(UTC) - timedelta(hours=1)
    progress.ended(run_with(repaired, (tokens.FIRST, 0), began=began), RepairRunState.STOPPED)
    row = RepairTable.objects.get(name="orders")
    assert (row.repaired_at, row.checked_at) == (None, None)
    progress.ended(run_with(repaired, (0, tokens.LAST)), RepairRunState.DONE)
    row.refresh_from_db()
    assert row.repaired_at is not None
    assert abs(row.repaired_at - began) < timedelta(seconds=2)
    assert row.checked_at is None
    assert len(row.coverage) == 2


def test_a_pull_protects_nothing(repaired: Cluster):
    progress.ended(run_with(repaired, tokens.WHOLE[0], mode=RepairMode.PULL), RepairRunState.DONE)
    assert RepairTable.objects.get(name="orders").repaired_at is None


def test_a_map_shows_what_is_done_where(api: ApiClient, repaired: Cluster):
    run_id = run_with(repaired, (tokens.FIRST, 0))
    RepairSegment.objects.create(
        run_id=run_id,
        keyspace="shop",
        tables=["orders"],
        mode="full",
        ranges=[[0, tokens.LAST // 2]],
        nodes=[repaired.nodes.all()[0].id],
        coordinator=repaired.nodes.all()[0].id,
    )
    found = api.get(path(repaired, f"/runs/{run_id}/map")).json()
    cells = found["tables"][0]["cells"]
    assert cells[0] == {"done": 1.0}
    assert cells[60] == {"running": 1.0}
    assert cells[90] == {}
    assert [len(node["segments"]) for node in found["nodes"]] == [1, 0, 0]
    segments = api.get(path(repaired, f"/runs/{run_id}/segments?limit=1")).json()
    assert segments["items"][0]["state"] == "running"
    assert (
        len(api.get(path(repaired, f"/runs/{run_id}/segments?cursor={segments['next_cursor']}")).json()["items"]) == 1
    )
    detail = api.get(path(repaired, f"/runs/{run_id}")).json()
    assert detail["tables"] == [{"keyspace": "shop", "table": "orders", "mode": "full", "bytes": GIB}]


# Schedules that are due


def test_a_due_schedule_starts_one_run(repaired: Cluster):
    RepairSchedule.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=1))
    assert [row.cluster_id for row in due_schedules(10)] == [repaired.id]
    operation = actions.start_due(repaired.id)
    assert operation is not None
    assert RepairRun.objects.get().reason == "schedule"
    assert due_schedules(10) == []
    assert actions.start_due(repaired.id) is None
    RepairSchedule.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=1))
    # One that is still open: not beside it, but not never.
    assert actions.start_due(repaired.id) is None
    row = RepairSchedule.objects.get()
    assert timedelta(minutes=55) < row.due_at - datetime.now(UTC) < timedelta(minutes=61)


def test_a_cluster_of_one_node_and_a_switched_off_schedule_are_left_alone(repaired: Cluster):
    RepairSchedule.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=1))
    Node.objects.filter(id__in=[node.id for node in repaired.nodes.all()[1:]]).update(deleted_at=datetime.now(UTC))
    assert actions.start_due(repaired.id) is None
    RepairSchedule.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=1), enabled=False)
    assert due_schedules(10) == []
    assert not RepairRun.objects.exists()


def test_due_schedules_are_found_by_one_statement(repaired: Cluster, django_assert_num_queries):
    with django_assert_num_queries(1):
        due_schedules(100)
