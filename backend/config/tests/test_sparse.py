"""Who wants three fields of a thing gets three fields."""

import pytest

from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import _catalog, active, api, budget, creating
from backend.conftest import ApiClient, Tenant, described_api

__all__ = ["_catalog", "active", "api", "budget", "creating"]


def test_a_thing_has_the_fields_that_were_chosen(api: ApiClient, active: Cluster):
    whole = api.get(f"/clusters/{active.id}").json()
    some = api.get(f"/clusters/{active.id}?fields=name,id,maintenance").json()
    assert some == {name: whole[name] for name in ("id", "name", "maintenance")}


def test_dots_lead_into_lists_and_objects(api: ApiClient, active: Cluster):
    whole = api.get(f"/clusters/{active.id}").json()
    some = api.get(
        f"/clusters/{active.id}?fields=datacenters.name,allowed_actions.action,allowed_actions.allowed"
    ).json()
    assert some == {
        "datacenters": [{"name": one["name"]} for one in whole["datacenters"]],
        "allowed_actions": [{"action": one["action"], "allowed": one["allowed"]} for one in whole["allowed_actions"]],
    }


def test_all_of_a_field_is_more_than_a_part_of_it(api: ApiClient, active: Cluster):
    whole = api.get(f"/clusters/{active.id}").json()
    for chosen in ("datacenters.name,datacenters", "datacenters,datacenters.name"):
        assert api.get(f"/clusters/{active.id}?fields={chosen}").json() == {"datacenters": whole["datacenters"]}


def test_of_a_list_it_chooses_in_the_items_and_pages_go_on(api: ApiClient, active: Cluster):
    answer = api.get("/clusters?fields=id,name&limit=1").json()
    assert answer == {"items": [{"id": active.id, "name": active.name}], "next_cursor": None}


def test_what_is_null_stays_null(api: ApiClient, active: Cluster):
    assert api.get(f"/clusters/{active.id}?fields=current_operation.id").json() == {"current_operation": None}


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        ("id,colour", "'colour'"),
        ("datacenters.colour", "'datacenters.colour'"),
        ("name.first", "'name.first'"),
        ("items.id", "'items.id'"),
        ("", "''"),
        ("id,", "''"),
        ("id,,name", "''"),
        (",".join(["id"] * 101), "101 fields"),
    ],
)
def test_what_is_no_field_is_named(api: ApiClient, active: Cluster, chosen: str, named: str):
    for path in (f"/clusters/{active.id}", "/clusters"):
        answer = api.get(f"{path}?fields={chosen}")
        error = answer.json()["error"]
        assert (answer.status_code, error["field"]) == (422, "fields")
        assert named in error["message"]


def test_keys_of_a_map_can_be_chosen(api: ApiClient, active: Cluster):
    active.options = {**active.options, "tags": {"team": "shop", "env": "dev"}}
    active.save()
    answer = api.get(f"/clusters/{active.id}?fields=options.tags.team").json()
    assert answer == {"options": {"tags": {"team": "shop"}}}


def test_a_tag_is_of_the_whole_thing(api: ApiClient, active: Cluster):
    tag = api.get(f"/clusters/{active.id}?fields=id")["ETag"]
    assert api.get(f"/clusters/{active.id}")["ETag"] == tag
    assert api.patch(f"/clusters/{active.id}", {"name": "renamed"}, **{"If-Match": tag}).status_code == 200


def test_a_stranger_gets_no_fields_either(active: Cluster, stranger: Tenant):
    assert stranger.api().get(f"/clusters/{active.id}?fields=name").status_code == 404
    assert stranger.api().get(f"/clusters/{active.id}?fields=colour").status_code == 404


def test_every_answer_in_json_can_be_cut():
    for path, methods in described_api()["paths"].items():
        if "get" not in methods:
            continue
        content = methods["get"]["responses"].get("200", {}).get("content", {})
        takes = {"$ref": "#/components/parameters/Fields"} in methods["get"]["parameters"]
        # The export of costs has columns instead.
        assert takes == ("$ref" in content.get("application/json", {}).get("schema", {})), path


def test_a_file_has_no_fields(api: ApiClient, active: Cluster):
    for path in (f"/clusters/{active.id}/connection/ca", "/costs/export?format=json"):
        answer = api.get(f"{path}{'&' if '?' in path else '?'}fields=id")
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "fields_not_possible"), path
