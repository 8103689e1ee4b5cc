from typing import Any

import pytest

from backend.accounts.states import Role
from backend.catalog.models import Provider
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import _catalog, active, api, creating, deleted, foreign
from backend.conftest import ApiClient, Tenant
from backend.connections import actions
from backend.connections.models import NetworkConnection
from backend.connections.states import ConnectionState

__all__ = ["_catalog", "active", "api", "creating", "deleted", "foreign"]

PEERING: dict[str, Any] = {
    "kind": "peering",
    "name": "shop",
    "peer_network": "vpc-0123",
    "cidrs": ["172.20.0.0/16"],
}
ENDPOINT = {"kind": "endpoint", "name": "keys", "service": "com.amazonaws.vpce.eu-west-1.vpce-svc-0123"}


@pytest.fixture
def connectable(active: Cluster) -> Cluster:
    """An active cluster whose provider's networks can be connected."""
    Provider.objects.filter(id="local").update(connections=["peering", "endpoint"], firewall=True)
    return active


def path(cluster: Cluster, rest: str = "") -> str:
    return f"/clusters/{cluster.id}/network-connections{rest}"


def finish(connection_id: str, state: ConnectionState = ConnectionState.WAITING_FOR_YOU, message: str = "") -> None:
    actions.looked_at(connection_id, state=state, message=message, provider_id="pcx-1", addresses=[])


def test_an_order_is_stored_and_started(api: ApiClient, connectable: Cluster):
    answer = api.post(path(connectable), PEERING)
    assert answer.status_code == 202, answer.content
    started = answer.json()
    assert started["operation"]["kind"] == "create_connection"
    connection = started["connection"]
    assert (connection["state"], connection["name"], connection["cidrs"]) == ("creating", "shop", ["172.20.0.0/16"])
    assert connection["datacenter"] == "local-local-1"
    assert api.get(path(connectable)).json()["items"] == [connection]
    assert api.get(path(connectable, f"/{connection['id']}")).json() == connection


def test_what_is_to_be_done_is_shown(api: ApiClient, connectable: Cluster):
    connection = api.post(path(connectable), ENDPOINT).json()["connection"]
    finish(connection["id"], message="Accept the endpoint vpce-1.")
    shown = api.get(path(connectable, f"/{connection['id']}")).json()
    assert (shown["state"], shown["message"]) == ("waiting_for_you", "Accept the endpoint vpce-1.")
    assert shown["allowed_actions"] == [{"action": "delete_network_connection", "allowed": True, "reason": None}]


def test_it_is_deleted_and_can_still_be_read(api: ApiClient, connectable: Cluster):
    connection = api.post(path(connectable), PEERING).json()["connection"]
    one = path(connectable, f"/{connection['id']}")
    assert api.delete(one).json()["error"]["code"] == "connection_cannot_be_deleted"
    finish(connection["id"])
    deleted = api.delete(one)
    assert (deleted.status_code, deleted.json()["connection"]["state"]) == (202, "deleting")
    assert api.delete(one).status_code == 409
    actions.gone(connection["id"])
    # Late news change nothing.
    finish(connection["id"])
    assert api.get(one).json()["state"] == "deleted"
    assert api.get(path(connectable)).json()["items"] == []
    assert api.post(path(connectable), PEERING).status_code == 202


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"cidrs": ["172.20.0.1/16"]}, 422, "cidrs.0"),
        ({"cidrs": []}, 422, None),
        ({"peer_network": ""}, 422, None),
        ({"name": "Shop"}, 422, None),
        ({"kind": "tunnel"}, 422, None),
        ({"datacenter": "local-2"}, 422, "datacenter"),
        ({"service": "x"}, 422, None),
    ],
)
def test_bad_orders_change_nothing(
    api: ApiClient, connectable: Cluster, change: dict[str, Any], status: int, field: str | None
):
    answer = api.post(path(connectable), PEERING | change)
    assert answer.status_code == status, answer.content
    if field is not None:
        assert answer.json()["error"]["field"] == field
    assert not NetworkConnection.objects.exists()


def test_a_name_is_used_once(api: ApiClient, connectable: Cluster):
    assert api.post(path(connectable), PEERING).status_code == 202
    answer = api.post(path(connectable), ENDPOINT | {"name": "shop"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "connection_exists")
    assert NetworkConnection.objects.count() == 1


def test_a_provider_without_connections_says_so(api: ApiClient, active: Cluster):
    answer = api.post(path(active), PEERING)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cannot_connect")
    network = api.get(f"/clusters/{active.id}/network").json()
    assert (network["connection_kinds"], network["firewall"]) == ([], False)
    assert network["allowed_actions"][0]["reason"] == "Networks of this provider have no connections to others."


def test_a_cluster_that_does_not_serve_is_not_connected(api: ApiClient, creating: Cluster):
    Provider.objects.filter(id="local").update(connections=["peering"])
    assert api.post(path(creating), PEERING).status_code == 409


def test_the_network_is_shown(api: ApiClient, connectable: Cluster):
    connectable.datacenters.update(network_id="vpc-1", network_cidr="10.1.0.0/16")
    network = api.get(f"/clusters/{connectable.id}/network").json()
    assert network["datacenters"] == [
        {
            "datacenter": "local-local-1",
            "region": "local-1",
            "zones": ["local-1a", "local-1b", "local-1c"],
            "network_id": "vpc-1",
            "cidr": "10.1.0.0/16",
        }
    ]


def test_strangers_see_nothing_and_viewers_change_nothing(
    tenant: Tenant, api: ApiClient, foreign: ApiClient, connectable: Cluster
):
    connection = api.post(path(connectable), PEERING).json()["connection"]
    finish(connection["id"])
    one = path(connectable, f"/{connection['id']}")
    for refused in (
        foreign.get(path(connectable)),
        foreign.get(one),
        foreign.post(path(connectable), ENDPOINT),
        foreign.delete(one),
        foreign.get(f"/clusters/{connectable.id}/network"),
    ):
        assert refused.status_code == 404
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.get(one).json()["allowed_actions"][0]["allowed"] is False
    assert viewer.post(path(connectable), ENDPOINT).status_code == 403
    assert viewer.delete(one).status_code == 403
    assert NetworkConnection.objects.count() == 1
