"""What fits, from what the cloud told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.cloud_accounts import actions
from backend.cloud_accounts.models import CloudAccount, RegionCapacity
from backend.cloud_accounts.room import QuotaFacts, Room
from backend.cloud_accounts.tests.conftest import AWS, bring, found
from backend.cloud_accounts.tests.test_cloud_accounts import ORDER
from backend.clusters.models import Cluster, Node
from backend.conftest import ApiClient, Tenant

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
VCPUS = QuotaFacts(name="vCPUs", limit=64, used=40, per_machine={"small": 2, "big": 16})
ROOM = Room(whose="The cloud account Shop", region="eu-west-1", quotas=(VCPUS,), answered_at=NOW)
ZONES = ("a", "b", "c")


def test_what_is_used_and_what_is_promised_is_not_free() -> None:
    assert ROOM.nodes_that_fit("small") == 12
    promised = replace(ROOM, promised={"small": 3, "big": 1, "unknown": 9})
    assert promised.nodes_that_fit("small") == 1
    assert promised.nodes_that_fit("big") == 0
    assert promised.nodes_that_fit("unknown") is None


def test_an_order_that_just_fits_is_taken_and_one_node_more_is_refused_with_the_arithmetic() -> None:
    assert ROOM.shortage("small", dict.fromkeys(ZONES, 4)) is None
    short = replace(ROOM, promised={"big": 1}).shortage("small", dict.fromkeys(ZONES, 2))
    assert short is not None
    assert (short.code, short.field) == ("quota_exceeded", "nodes_per_zone")
    assert short.sentence == (
        "The cloud account Shop has 64 of the quota vCPUs in eu-west-1: 40 are used, 16 are promised to nodes being "
        "made, 8 are left; this needs 12."
    )


def test_a_type_that_a_zone_does_not_offer_is_refused_and_says_where_it_is_offered() -> None:
    room = replace(ROOM, offered={"a": frozenset({"small"}), "b": frozenset({"small", "big"}), "c": frozenset({"big"})})
    short = room.shortage("small", dict.fromkeys(ZONES, 1))
    assert short is not None
    assert (short.code, short.sentence, short.hint) == (
        "machine_type_not_offered",
        "c does not offer small.",
        "It is offered in a, b.",
    )
    assert room.shortage("small", {"a": 1, "b": 1}) is None


def test_moving_nodes_needs_room_for_one_beside_the_others_and_for_what_they_grow() -> None:
    assert ROOM.shortage_of_moving(["small"], "big") is None
    # The second one comes when the first has taken 14 more than what it gave back.
    short = ROOM.shortage_of_moving(["small", "small"], "big")
    assert short is not None
    assert "moving 2 nodes one by one needs 30" in short.sentence
    assert ROOM.shortage_of_moving(["big"] * 9, "small") is None


def test_how_sure_it_is_is_said() -> None:
    assert ROOM.warning(NOW + timedelta(minutes=1)) is None
    never = replace(ROOM, answered_at=None)
    assert never.warning(NOW) == "The cloud account Shop could not be asked what it has room for in eu-west-1 yet."
    assert "No credentials" in str(replace(never, problem="No credentials").warning(NOW))
    assert "was told at 2026-11-21 12:00 UTC" in str(ROOM.warning(NOW + timedelta(hours=1)))
    assert "Throttled" in str(replace(ROOM, problem="Throttled").warning(NOW))


# Orders.

QUOTA: dict[str, Any] = {
    "name": "vCPUs",
    "limit": 16,
    "used": 8,
    "per_machine": {"i4i.large": 2, "i4i.xlarge": 4},
    "hint": "Ask AWS.",
}
REGION = "aws/eu-west-1"


def told(account: CloudAccount | None = None, **quota: Any) -> None:
    actions.record_capacity(REGION, account, quotas=[{**QUOTA, **quota}], offered=None)


def test_an_order_that_the_quota_has_no_room_for_is_refused_before_it_is_accepted(api: ApiClient) -> None:
    told()
    big = {**ORDER, "nodes_per_zone": 2}
    for path in ("/clusters", "/clusters/check"):
        error = api.post(path, big).json()["error"]
        assert (error["code"], error["field"], error["hint"]) == ("quota_exceeded", "nodes_per_zone", "Ask AWS.")
        assert error["message"] == (
            "The installation's account has 16 of the quota vCPUs in eu-west-1: 8 are used, 8 are left; this needs 12."
        )
    assert not Cluster.objects.exists()


def test_what_was_accepted_and_is_not_made_yet_is_not_ordered_twice(api: ApiClient) -> None:
    told()
    assert api.post("/clusters/check", ORDER).json()["nodes_that_fit"] == 4
    assert api.post("/clusters", ORDER).status_code == 202
    error = api.post("/clusters", {**ORDER, "name": "second"}).json()["error"]
    assert "8 are used, 6 are promised to nodes being made, 2 are left; this needs 6." in error["message"]
    # The machines are there, and the cloud counts them.
    Node.objects.update(machine_id="i-1")
    told(used=14)
    error = api.post("/clusters", {**ORDER, "name": "second"}).json()["error"]
    assert "14 are used, 2 are left; this needs 6." in error["message"]


def test_each_account_has_room_of_its_own(api: ApiClient, account: CloudAccount) -> None:
    told(used=16)
    told(account)
    assert api.post("/clusters", ORDER).status_code == 409
    assert api.post("/clusters", {**ORDER, "cloud_account": account.id}).status_code == 202


def test_what_could_not_be_asked_is_a_warning_and_stops_no_order(api: ApiClient) -> None:
    check = api.post("/clusters/check", ORDER).json()
    assert "could not be asked what it has room for in eu-west-1 yet" in check["warnings"][0]
    actions.record_no_answer(REGION, None, "No AWS credentials were found.")
    assert "No AWS credentials" in api.post("/clusters/check", ORDER).json()["warnings"][0]
    told()
    assert api.post("/clusters/check", ORDER).json()["warnings"] == []
    assert api.post("/clusters", ORDER).status_code == 202


def test_a_cloud_that_stops_answering_leaves_what_it_told_before(api: ApiClient) -> None:
    told()
    actions.record_no_answer(REGION, None, "Throttled.")
    capacity = api.get("/capacity?provider=aws&region=eu-west-1").json()
    assert capacity["quotas"] == [{"name": "vCPUs", "limit": 16, "used": 8, "promised": 0}]
    assert "Throttled." in capacity["warning"]
    assert RegionCapacity.objects.count() == 1


def test_capacity_is_shown_by_machine_type(api: ApiClient, account: CloudAccount) -> None:
    actions.record_capacity(REGION, account, quotas=[QUOTA], offered={"eu-west-1a": ["i4i.large"], "eu-west-1b": []})
    capacity = api.get(f"/capacity?provider=aws&region=eu-west-1&cloud_account={account.id}").json()
    by_name = {each["name"]: each for each in capacity["machine_types"]}
    assert by_name["i4i.large"] == {"name": "i4i.large", "nodes_that_fit": 4, "zones_without": ["eu-west-1b"]}
    assert by_name["i4i.xlarge"]["nodes_that_fit"] == 2
    assert by_name["i4i.xlarge"]["zones_without"] == ["eu-west-1a", "eu-west-1b"]
    assert capacity["warning"] is None


def test_nobody_sees_the_room_of_another_organisation_s_account(
    api: ApiClient, stranger: Tenant, account: CloudAccount
) -> None:
    path = f"/capacity?provider=aws&region=eu-west-1&cloud_account={account.id}"
    assert stranger.api().get(path).status_code == 404
    assert api.get("/capacity?provider=aws&region=mars").status_code == 404
    assert api.get(f"/capacity?provider=local&region=local-1&cloud_account={account.id}").status_code == 404


@pytest.mark.parametrize(
    ("change", "fits", "field"),
    [
        ({"kind": "scale", "nodes_per_zone": 2}, {"limit": 22}, "nodes_per_zone"),
        ({"kind": "machine_type", "machine_type": "i4i.xlarge"}, {"limit": 22}, "machine_type"),
    ],
)
def test_a_change_that_the_quota_has_no_room_for_is_refused_in_plan_and_change(
    api: ApiClient, change: dict[str, Any], fits: dict[str, Any], field: str
) -> None:
    account = bring(api, AWS)
    found(account)
    told(account, used=0)
    started = api.post("/clusters", {**ORDER, "cloud_account": account.id}).json()
    cluster = Cluster.objects.get(id=started["cluster"]["id"])
    cluster.nodes.update(state="up", machine_id="i-1")
    Cluster.objects.update(state="active")
    cluster.organisation.operations.update(state="succeeded", due_at=None)
    told(account, used=14)
    (planned,) = api.post(f"/clusters/{cluster.id}/plan", change).json()["changes"]
    assert "14 are used, 2 are left" in planned["reason"]
    refused = api.post(f"/clusters/{cluster.id}/changes", change).json()["error"]
    assert (refused["code"], refused["field"]) == ("quota_exceeded", field)
    told(account, used=14, **fits)
    assert api.post(f"/clusters/{cluster.id}/plan", change).json()["possible"]
    # What is not known for sure is said in the plan.
    RegionCapacity.objects.update(problem="Throttled.")
    (planned,) = api.post(f"/clusters/{cluster.id}/plan", change).json()["changes"]
    assert any("Throttled." in warning for warning in planned["warnings"])
