"""Data sources that tell what a list of the API holds: all of it, as the API does, and nothing of others."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from backend.connections.schemas import NetworkConnection
from e2e.terraform.conftest import Product
from e2e.terraform.programs import Terraform, environment
from e2e.terraform.test_cluster import cluster
from e2e.terraform.test_everything_else import AROUND, NO_CLUSTER

Item = Mapping[str, Any]

MORE = """
resource "ringmaster_role" "listed" {
  name        = "listed"
  permissions = ["clusters:read"]
  tags        = { team = ["shop"] }
}
resource "ringmaster_role" "everywhere" {
  name        = "everywhere"
  permissions = ["clusters:read"]
}
resource "ringmaster_member" "listed" {
  email          = "listed@example.org"
  role           = "custom"
  custom_role_id = ringmaster_role.listed.id
}
resource "ringmaster_service_account" "listed" {
  name           = "listed"
  contact        = "ops@example.org"
  role           = "custom"
  custom_role_id = ringmaster_role.listed.id
}
data "ringmaster_identity_providers" "before" {}
resource "ringmaster_group_role" "listed" {
  identity_provider_id = data.ringmaster_identity_providers.before.identity_providers[0].id
  group                = "listed"
  role                 = "custom"
  custom_role_id       = ringmaster_role.listed.id
}
resource "ringmaster_backup" "listed" {
  cluster_id          = ringmaster_cluster.it.id
  keyspaces           = ["shop"]
  deletion_protection = false
}
resource "ringmaster_restore" "listed" {
  backup_id = ringmaster_backup.listed.id
  mode      = "add"
}
"""


def _inner(*keys: str) -> Callable[[Item], Any]:
    def found(item: Item) -> Any:
        now: Any = item
        for key in keys:
            now = None if now is None else now[key]
        return now

    return found


def _names(key: str) -> Callable[[Item], Any]:
    return lambda item: [".".join(filter(None, (one["keyspace"], one["table"]))) for one in item[key]]


CUSTOM = {"custom_role_id": _inner("custom_role", "id")}
OF_A_CLUSTER: dict[str, tuple[str, str, dict[str, Callable[[Item], Any]]]] = {
    # Where the API tells it, under which key, and attributes that it calls otherwise.
    "alert_rules": ("alert-rules", "items", {}),
    "allowlist_entries": ("allowlist", "entries", {}),
    "backup_schedules": ("backup-schedules", "items", {"keyspaces": _names("selection")}),
    "restores": ("restores", "items", {"tables": _names("tables"), "repair": _inner("repair_wanted")}),
}
OF_ALL: dict[str, tuple[str, str, dict[str, Callable[[Item], Any]]]] = {
    "api_tokens": ("tokens", "items", {"service_account_id": _inner("service_account", "id")}),
    "backup_locations": ("backup-locations", "items", {}),
    "budgets": (
        "budgets",
        "items",
        {
            "cluster_id": _inner("cluster", "id"),
            "tag_key": _inner("tag", "key"),
            "tag_value": _inner("tag", "value"),
        },
    ),
    "cloud_accounts": (
        "cloud-accounts",
        "items",
        {
            "cloud": _inner("provider"),
            "state": _inner("check", "state"),
            **{name: _inner("settings", name) for name in ("public_addresses", "networks", "vpcs")},
        },
    ),
    "group_roles": (
        "organisation/group-roles",
        "items",
        {"identity_provider_id": _inner("identity_provider", "id"), **CUSTOM},
    ),
    "identity_providers": ("session/identity-providers", "items", {}),
    "members": ("members", "items", CUSTOM),
    "notification_channels": ("alert-receivers", "items", {}),
    "roles": ("organisation/roles", "items", {}),
    "service_accounts": (
        "service-accounts",
        "items",
        {"disabled": lambda item: item["disabled_at"] is not None, **CUSTOM},
    ),
}
BY_KIND = ("cql_grants", "private_endpoints", "repair_schedule", "vpc_peerings")
OURS = ("budgets", "cloud_accounts", "group_roles", "notification_channels", "roles", "service_accounts", "webhooks")


def _sources(names: tuple[str, ...], cluster_id: str = "") -> str:
    of = f'  cluster_id = "{cluster_id}"\n' if cluster_id else ""
    return "".join(f'data "ringmaster_{name}" "all" {{\n{of}}}\n' for name in names)


def test_every_list_is_told_as_the_api_tells_it(product: Product, terraform: Terraform):
    head = cluster("listed", termination_protection="false")
    terraform.write(head)
    assert (applied := terraform.apply()).code == 0, applied.text
    cluster_id = product.with_a_table("listed")
    everything = head + AROUND + MORE
    terraform.write(everything)
    assert (applied := terraform.apply()).code == 0, applied.text
    of_cluster, of_all = (*OF_A_CLUSTER, *BY_KIND), (*OF_ALL, "webhooks")
    sources = _sources(of_cluster, cluster_id) + _sources(of_all)
    terraform.write(everything + sources)
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text

    for name, (path, key, otherwise) in OF_A_CLUSTER.items():
        _same(product, terraform, name, f"/clusters/{cluster_id}/{path}", key, otherwise)
    for name, (path, key, otherwise) in OF_ALL.items():
        _same(product, terraform, name, f"/{path}", key, otherwise)
    _kinds_are_told_apart(product, terraform, cluster_id)
    _strangers_see_nothing(product, terraform, cluster_id, of_cluster)
    assert (gone := terraform.destroy()).code == 0, gone.text


def _same(
    product: Product, terraform: Terraform, name: str, path: str, key: str, otherwise: dict[str, Callable[[Item], Any]]
) -> None:
    items = product.call("GET", path + ("?limit=200" if key == "items" else ""))[key]
    told = terraform.values(f"data.ringmaster_{name}.all")[name]
    assert items, f"there are no {name} to compare"
    wanted = [{word: otherwise.get(word, _inner(word))(item) for word in told[0]} for item in items]
    for one in (*told, *wanted):
        one.pop(CHANGING.get(name, ""), None)
    assert told == wanted, name


CHANGING = {"api_tokens": "last_used_at", "cloud_accounts": "state"}
"""What may be another the next moment: this test uses a token, and accounts are checked when they are made."""


def _kinds_are_told_apart(product: Product, terraform: Terraform, cluster_id: str) -> None:
    def told(name: str) -> Any:
        return terraform.values(f"data.ringmaster_{name}.all")[name]

    assert [(one["name"], one["topics"]) for one in told("webhooks")] == [("programs", ["alerts", "operations"])]
    assert {one["kind"] for one in told("notification_channels")} == {"email", "webhook"}
    grants = [one for one in told("cql_grants") if one["role"] == "app"]
    assert grants == [{"role": "app", "resource": "data", "permissions": ["MODIFY", "SELECT"]}]
    assert [(one["name"], one["cidrs"]) for one in told("vpc_peerings")] == [("analytics", ["10.20.0.0/16"])]
    assert [(one["name"], one["datacenter"]) for one in told("private_endpoints")] == [("keys", "fake-fake-1")]
    schedule = terraform.values("data.ringmaster_repair_schedule.all")
    now = product.call("GET", f"/clusters/{cluster_id}/repairs")["schedule"]
    assert schedule["intensity"] == 30
    assert {word: schedule[word] for word in schedule if word in now} == {
        word: now[word] for word in schedule if word in now
    }
    assert "rmt_" not in (terraform.folder / "terraform.tfstate").read_text()


def _strangers_see_nothing(
    product: Product, terraform: Terraform, cluster_id: str, of_cluster: tuple[str, ...]
) -> None:
    folder = terraform.folder / "stranger"
    folder.mkdir()
    stranger = Terraform(folder, environment(product.url, product.stranger))
    stranger.write(_sources((*OURS, "api_tokens", "members")))
    assert (applied := stranger.apply()).code == 0, applied.text
    for name in OURS:
        assert stranger.values(f"data.ringmaster_{name}.all")[name] == [], name
    for name, at in (("members", "email"), ("api_tokens", "user_email")):
        told = stranger.values(f"data.ringmaster_{name}.all")[name]
        assert {one[at] for one in told} == {"owner@stranger.test"}
    # Another's cluster is none, in the same words.
    for one in (cluster_id, NO_CLUSTER):
        stranger.write(_sources(of_cluster, one))
        refused = stranger.plan()
        assert refused.code == 1
        assert len(refused.errors) == len(of_cluster), refused.error()
        assert all("There is no such cluster" in text for _, text in refused.errors), refused.error()


def test_an_empty_cluster_id_is_refused_where_it_stands(terraform: Terraform):
    terraform.write('data "ringmaster_restores" "all" {\n  cluster_id = ""\n}\n')
    assert [(where, text.partition("\n")[0]) for where, text in terraform.plan().errors] == [
        ("cluster_id", "No cluster")
    ]


def _connection(number: int, kind: str, **more: Any) -> Item:
    """As the API tells one: held to its own description."""
    connection = {
        "id": f"con_01j0000000000000000000000{number}",
        "kind": kind,
        "name": f"{kind}-{number}",
        "datacenter": "aws-eu-west-1",
        "peer_network": "",
        "peer_owner": "",
        "peer_region": "",
        "cidrs": [],
        "service": "",
        "addresses": [],
        "state": "active",
        "message": "",
        "provider_id": f"pcx-{number}",
        "created_by": "ann@example.org",
        "created_at": "2026-05-01T12:00:00Z",
        "checked_at": None,
        "deleted_at": None,
        "allowed_actions": [],
        **more,
    }
    return json.loads(NetworkConnection.model_validate(connection).model_dump_json())


CONNECTIONS = [
    _connection(1, "peering", peer_network="vpc-1", peer_owner="123456789012", cidrs=["10.9.0.0/16"]),
    _connection(2, "endpoint", service="com.amazonaws.vpce.eu-west-1.vpce-svc-1", addresses=["10.0.0.7"]),
    _connection(3, "peering", state="deleted", deleted_at="2026-05-02T12:00:00Z"),
    _connection(4, "peering", peer_network="vpc-4", state="waiting_for_you", provider_id=None),
]


@contextmanager
def _one_a_page(items: list[Item]) -> Iterator[str]:
    """Answers every list with these, one a page."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            number = int(parse_qs(urlsplit(self.path).query).get("cursor", ["0"])[0])
            after = str(number + 1) if number + 1 < len(items) else None
            body = json.dumps({"items": items[number : number + 1], "next_cursor": after}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def test_all_pages_are_read_and_connections_told_by_their_kind(terraform: Terraform):
    with _one_a_page(CONNECTIONS) as url:
        terraform.environment = environment(url, "rmt_nobody")
        terraform.write(_sources(("vpc_peerings", "private_endpoints"), NO_CLUSTER))
        assert (applied := terraform.apply()).code == 0, applied.text
    peerings = terraform.values("data.ringmaster_vpc_peerings.all")["vpc_peerings"]
    assert [(one["name"], one["state"], one["provider_id"]) for one in peerings] == [
        ("peering-1", "active", "pcx-1"),
        ("peering-4", "waiting_for_you", None),
    ]
    assert peerings[0]["cidrs"] == ["10.9.0.0/16"]
    [endpoint] = terraform.values("data.ringmaster_private_endpoints.all")["private_endpoints"]
    assert (endpoint["name"], endpoint["addresses"]) == ("endpoint-2", ["10.0.0.7"])
