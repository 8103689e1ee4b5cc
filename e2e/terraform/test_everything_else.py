"""What stands around a cluster: applied, planned again, changed, imported, seen when it drifts, taken away."""

import re
import time
from typing import Any

import pytest

from e2e.terraform.conftest import Product
from e2e.terraform.programs import Terraform
from e2e.terraform.test_cluster import cluster

AROUND = """
resource "ringmaster_allowlist_entry" "office" {
  cluster_id  = ringmaster_cluster.it.id
  cidr        = "192.0.2.0/24"
  description = "office"
}
resource "ringmaster_allowlist_entry" "home" {
  cluster_id = ringmaster_cluster.it.id
  cidr       = "198.51.100.7/32"
}
resource "ringmaster_cql_role" "app" {
  cluster_id = ringmaster_cluster.it.id
  name       = "app"
}
resource "ringmaster_cql_grant" "app" {
  cluster_id  = ringmaster_cluster.it.id
  role        = ringmaster_cql_role.app.name
  resource    = "data"
  permissions = ["SELECT", "MODIFY"]
}
resource "ringmaster_backup_schedule" "nightly" {
  cluster_id = ringmaster_cluster.it.id
  name       = "nightly"
  cron       = "30 2 * * *"
  time_zone  = "Europe/Vienna"
  keep_count = 7
}
resource "ringmaster_repair_schedule" "it" {
  cluster_id = ringmaster_cluster.it.id
  intensity  = 30
}
resource "ringmaster_vpc_peering" "analytics" {
  cluster_id   = ringmaster_cluster.it.id
  name         = "analytics"
  datacenter   = "fake-fake-1"
  peer_network = "net-analytics"
  cidrs        = ["10.20.0.0/16"]
}
resource "ringmaster_private_endpoint" "keys" {
  cluster_id = ringmaster_cluster.it.id
  name       = "keys"
  datacenter = "fake-fake-1"
  service    = "projects/theirs/regions/fake-1/serviceAttachments/keys"
}
resource "ringmaster_log_archive" "it" {
  cluster_id       = ringmaster_cluster.it.id
  interval_seconds = 120
}
resource "ringmaster_drill_schedule" "it" {
  cluster_id = ringmaster_cluster.it.id
  cron       = "0 5 * * 0"
  shape      = "one"
}
resource "ringmaster_alert_rule" "down" {
  cluster_id  = ringmaster_cluster.it.id
  rule        = "node-down"
  for_seconds = 300
}
resource "ringmaster_notification_channel" "ops" {
  name        = "ops"
  kind        = "email"
  addresses   = ["ops@example.org"]
  cluster_ids = [ringmaster_cluster.it.id]
}
resource "ringmaster_webhook" "programs" {
  name   = "programs"
  url    = "https://hooks.example.org/ringmaster"
  topics = ["operations", "alerts"]
}
resource "ringmaster_budget" "it" {
  name       = "around"
  micros     = 250 * 1000000
  cluster_id = ringmaster_cluster.it.id
}
resource "ringmaster_budget" "team" {
  name           = "team"
  micros         = 900 * 1000000
  tag_key        = "team"
  tag_value      = "shop"
  spent_percents = [90]
}
resource "ringmaster_cloud_account" "theirs" {
  name     = "theirs"
  cloud    = "aws"
  role_arn = "arn:aws:iam::123456789012:role/ringmaster-control"
}
data "ringmaster_connection" "it" { cluster_id = ringmaster_cluster.it.id }
data "ringmaster_regions" "fake" { cloud = "fake" }
data "ringmaster_machine_types" "fake" { cloud = "fake" }
data "ringmaster_engine_versions" "cassandra" { engine = "cassandra" }
data "ringmaster_images" "aws" { cloud = "aws" }
"""

CHANGES = [
    ('description = "office"', 'description = "headquarters"', "ringmaster_allowlist_entry.office", "update"),
    ('"198.51.100.7/32"', '"198.51.100.8/32"', "ringmaster_allowlist_entry.home", "replace"),
    ('["SELECT", "MODIFY"]', '["SELECT", "CREATE"]', "ringmaster_cql_grant.app", "update"),
    ('"30 2 * * *"', '"0 4 * * 1"', "ringmaster_backup_schedule.nightly", "update"),
    (
        "keep_count = 7",
        'keep_days = 30\n  keyspaces = ["shop", "web.pages"]',
        "ringmaster_backup_schedule.nightly",
        "update",
    ),
    ('["10.20.0.0/16"]', '["10.20.0.0/16", "10.30.0.0/16"]', "ringmaster_vpc_peering.analytics", "replace"),
    ("fake-1/serviceAttachments", "fake-2/serviceAttachments", "ringmaster_private_endpoint.keys", "replace"),
    ("intensity  = 30", "intensity  = 70", "ringmaster_repair_schedule.it", "update"),
    ("interval_seconds = 120", "interval_seconds = 300", "ringmaster_log_archive.it", "update"),
    (
        'shape      = "one"',
        'compare_live = false\n  keyspaces = ["shop"]',
        "ringmaster_drill_schedule.it",
        "update",
    ),
    ("for_seconds = 300", "enabled = false", "ringmaster_alert_rule.down", "update"),
    ('name        = "ops"', 'name        = "on-call"', "ringmaster_notification_channel.ops", "update"),
    ('["operations", "alerts"]', '["operations"]', "ringmaster_webhook.programs", "update"),
    ("250 *", "300 *", "ringmaster_budget.it", "update"),
    ("[90]", "[75, 95]", "ringmaster_budget.team", "update"),
    ('name     = "theirs"', 'name     = "renamed"', "ringmaster_cloud_account.theirs", "update"),
]


def test_what_stands_around_a_cluster_is_kept_as_written(product: Product, terraform: Terraform):
    head, around = cluster("around", termination_protection="false"), AROUND
    terraform.write(head + around)
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    again = terraform.plan()
    assert again.code == 0, again.text
    _data_is_there(terraform)
    expected: dict[str, str] = {}
    for before, after, address, action in CHANGES:
        assert before in around, before
        expected[address] = action
        around = around.replace(before, after)
        terraform.write(head + around)
        planned = terraform.plan()
        assert planned.changes == expected, (after, planned.text)
    assert (applied := terraform.apply()).code == 0, applied.text
    again = terraform.plan()
    assert again.code == 0, again.text
    _others_see_it(product, terraform)
    _imports(terraform, head + around)
    assert (gone := terraform.destroy()).code == 0, gone.text
    assert product.call("GET", "/budgets")["items"] == []


def _data_is_there(terraform: Terraform) -> None:
    connection = terraform.values("data.ringmaster_connection.it")
    assert connection["port"] > 0
    assert "BEGIN CERTIFICATE" in connection["ca_certificate"]
    regions = terraform.values("data.ringmaster_regions.fake")["regions"]
    assert [region["name"] for region in regions] == ["fake-1", "fake-2"]
    types = terraform.values("data.ringmaster_machine_types.fake")["machine_types"]
    assert {"fake.small", "fake.large"} <= {one["name"] for one in types}
    versions = terraform.values("data.ringmaster_engine_versions.cassandra")
    assert versions["default"] in versions["versions"]
    assert terraform.values("data.ringmaster_images.aws")["images"] == []


def _others_see_it(product: Product, terraform: Terraform) -> None:
    path = f"/clusters/{terraform.values('ringmaster_cluster.it')['id']}"
    entries = product.call("GET", f"{path}/allowlist")["entries"]
    assert {entry["cidr"] for entry in entries} == {"192.0.2.0/24", "198.51.100.8/32"}
    role = next(one for one in product.call("GET", f"{path}/roles")["items"] if one["name"] == "app")
    assert {one["permission"] for one in role["permissions"]} == {"SELECT", "CREATE"}
    schedules = {one["name"]: one for one in product.call("GET", f"{path}/backup-schedules")["items"]}
    assert schedules["nightly"]["selection"] == [
        {"keyspace": "shop", "table": None},
        {"keyspace": "web", "table": "pages"},
    ]
    rules = {one["rule"]: one for one in product.call("GET", f"{path}/alert-rules")["items"]}
    assert (rules["node-down"]["enabled"], rules["node-down"]["for_seconds"]) == (
        False,
        rules["node-down"]["default_for_seconds"],
    )
    connections = {one["name"]: one for one in product.call("GET", f"{path}/network-connections")["items"]}
    assert connections["analytics"]["cidrs"] == ["10.20.0.0/16", "10.30.0.0/16"]
    assert "fake-2" in connections["keys"]["service"]
    archive = product.call("GET", f"{path}/log-archive")
    assert (archive["enabled"], archive["keep_days"], archive["interval_seconds"]) == (True, 7, 300)
    drills = product.call("GET", f"{path}/drills/overview")["schedule"]
    assert (drills["shape"], drills["compare_live"]) == ("zones", False)
    assert drills["selection"] == [{"keyspace": "shop", "table": None}]
    # What others change is a difference of the next plan.
    product.call("PATCH", f"{path}/repairs/schedule", {"intensity": 10})
    product.call("PUT", f"{path}/log-archive", {"enabled": False})
    product.call("DELETE", f"{path}/drill-schedule")
    deleted = product.call("DELETE", f"{path}/network-connections/{connections['keys']['id']}")
    _wait_for(product, deleted["operation"]["id"])
    assert terraform.plan().changes == {
        "ringmaster_repair_schedule.it": "update",
        "ringmaster_log_archive.it": "update",
        "ringmaster_drill_schedule.it": "create",
        "ringmaster_private_endpoint.keys": "create",
    }
    assert terraform.apply().code == 0


def _wait_for(product: Product, operation: str) -> None:
    for _ in range(300):
        if product.call("GET", f"/operations/{operation}")["state"] == "succeeded":
            return
        time.sleep(0.1)
    raise AssertionError("it does not end")


def _imports(terraform: Terraform, configuration: str) -> None:
    """Everything is forgotten by the state, brought back by its id, and then nothing is to be done."""
    ids = {address: _import_id(address, terraform.values(address)) for address in IMPORTED}
    for address in ids:
        terraform.do("state", "rm", address)
    blocks = "".join(f'import {{\n  to = {address}\n  id = "{one}"\n}}\n' for address, one in ids.items())
    terraform.write(configuration + blocks)
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    assert not {action for action in applied.changes.values() if action in ("create", "replace", "delete")}
    again = terraform.plan()
    assert again.code == 0, again.text
    terraform.write(configuration)


IMPORTED = {
    "ringmaster_cluster.it": "{id}",
    "ringmaster_allowlist_entry.office": "{cluster_id}/{cidr}",
    "ringmaster_cql_role.app": "{cluster_id}/{name}",
    "ringmaster_cql_grant.app": "{cluster_id}/{role}/{resource}",
    "ringmaster_backup_schedule.nightly": "{cluster_id}/{id}",
    "ringmaster_repair_schedule.it": "{cluster_id}",
    "ringmaster_vpc_peering.analytics": "{cluster_id}/{id}",
    "ringmaster_private_endpoint.keys": "{cluster_id}/{id}",
    "ringmaster_alert_rule.down": "{cluster_id}/{rule}",
    "ringmaster_log_archive.it": "{cluster_id}",
    "ringmaster_drill_schedule.it": "{cluster_id}",
    "ringmaster_budget.team": "{id}",
    "ringmaster_cloud_account.theirs": "{id}",
}


def _import_id(address: str, values: dict[str, Any]) -> str:
    return IMPORTED[address].format(**values)


BUCKET = """
variable "key" { ephemeral = true }
resource "ringmaster_backup_location" "ours" {
  name                = "ours"
  kind                = "s3"
  bucket              = "backups"
  prefix              = "ringmaster/production"
  region              = "eu-central-1"
  access_key_id       = "AKIDTERRAFORM"
  secret_access_key   = var.key
  credentials_version = 1
}
"""


def test_a_bucket_for_backups_is_kept_and_its_key_is_in_no_state(product: Product, terraform: Terraform):
    address = "ringmaster_backup_location.ours"
    terraform.environment = {**terraform.environment, "TF_VAR_key": "not-for-any-state"}
    written = BUCKET
    terraform.write(written)
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    there = terraform.values(address)
    assert (there["address"], there["secret_access_key"]) == ("s3://backups/ringmaster/production", None)

    for before, after, words in (
        ('"backups"', '"others"', "stays where it is"),
        ('prefix              = "ringmaster/production"', "", "stays where it is"),
        ('"eu-central-1"', '"eu-west-1"', "stays where it is"),
        ("  credentials_version = 1", '  object_lock = "compliance"', "stays where it is"),
    ):
        assert before in written, before
        terraform.write(written.replace(before, after))
        refused = terraform.plan()
        assert refused.code == 1, after
        assert words in refused.error(), refused.error()
    # Other credentials go when another number says so, and wrong ones are refused by the server.
    terraform.write(
        written.replace("credentials_version = 1", "credentials_version = 2").replace("access_key_id ", "#")
    )
    assert "access_key_id and secret_access_key" in terraform.apply().error()
    written = written.replace("credentials_version = 1", "credentials_version = 2").replace('"ours"\n', '"theirs"\n')
    terraform.write(written)
    assert terraform.plan().changes == {address: "update"}
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    records = product.call("GET", f"/audit?target_id={there['id']}")["items"]
    assert "new" in {(one["after"] or {}).get("credentials") for one in records}

    terraform.do("state", "rm", address)
    terraform.write(written + f'import {{\n  to = {address}\n  id = "{there["id"]}"\n}}\n')
    assert (applied := terraform.apply()).code == 0, applied.text
    assert applied.changes.get(address) in (None, "update", "no-op")
    terraform.write(written)
    assert (again := terraform.plan()).code == 0, again.text
    content = (terraform.folder / "terraform.tfstate").read_text()
    assert "not-for-any-state" not in content
    assert "AKIDTERRAFORM" not in content

    # The installation's is not taken over by mistake.
    [its] = [one for one in product.call("GET", "/backup-locations")["items"] if one["operators"]]
    terraform.do("state", "rm", address)
    terraform.write(written + f'import {{\n  to = {address}\n  id = "{its["id"]}"\n}}\n')
    assert "non-existent" in terraform.plan().error()
    terraform.write("")
    product.call("DELETE", f"/backup-locations/{there['id']}")


NO_CLUSTER = "clu_01j00000000000000000000000"
REFUSED = [
    ("alert_rule", f'cluster_id = "{NO_CLUSTER}", rule = "node-down"', "There is no such cluster"),
    (
        "backup_schedule",
        f'cluster_id = "{NO_CLUSTER}", name = "x", cron = "0 3 * * *", keep_days = 1',
        "There is no such cluster",
    ),
    (
        "vpc_peering",
        f'cluster_id = "{NO_CLUSTER}", name = "x", peer_network = "vpc-1", cidrs = ["10.0.0.0/8"]',
        "There is no such cluster",
    ),
    ("private_endpoint", f'cluster_id = "{NO_CLUSTER}", name = "x", service = "keys"', "There is no such cluster"),
    ("budget", 'name = "x", micros = 0', "micros"),
    ("notification_channel", 'name = "x", kind = "pigeon"', "kind"),
    ("webhook", 'name = "x", url = "http://10.0.0.1/"', "url"),
    ("cloud_account", 'name = "x", cloud = "aws"', "role_arn"),
    ("backup_location", 'name = "x", kind = "s3", bucket = "b"', "access_key_id"),
    ("backup_location", 'name = "x", kind = "folder", bucket = "b"', "kind"),
    ("log_archive", f'cluster_id = "{NO_CLUSTER}"', "There is no such cluster"),
    ("drill_schedule", f'cluster_id = "{NO_CLUSTER}", cron = "0 3 * * *"', "There is no such cluster"),
]


@pytest.mark.parametrize(("kind", "attributes", "words"), REFUSED, ids=[kind for kind, _, _ in REFUSED])
def test_bad_input_is_refused_with_the_servers_words(terraform: Terraform, kind: str, attributes: str, words: str):
    lines = "\n".join(f"  {one.strip()}" for one in attributes.split(","))
    terraform.write(f'resource "ringmaster_{kind}" "x" {{\n{lines}\n}}\n')
    refused = terraform.apply()
    assert refused.code == 1
    assert words in refused.error()
    assert "request req_" in refused.error()


def test_a_token_lives_for_the_time_of_a_run_and_is_in_no_state(product: Product, terraform: Terraform):
    terraform.write(
        'ephemeral "ringmaster_api_token" "run" {\n  name = "run"\n  scopes = ["clusters:read"]\n}\n'
        'provider "ringmaster" {\n  alias = "other"\n  token = ephemeral.ringmaster_api_token.run.secret\n}\n'
        'data "ringmaster_regions" "fake" {\n  provider = ringmaster.other\n  cloud = "fake"\n}\n'
    )
    assert (applied := terraform.apply()).code == 0, applied.text
    assert "rmt_" not in (terraform.folder / "terraform.tfstate").read_text()
    tokens = [one for one in product.call("GET", "/tokens")["items"] if one["name"] == "run"]
    assert tokens
    assert {one["state"] for one in tokens} == {"revoked"}


def test_a_database_role_lives_for_the_time_of_a_run_and_is_in_no_state(product: Product, terraform: Terraform):
    around = cluster("briefly")
    terraform.write(around)
    assert (applied := terraform.apply()).code == 0, applied.text
    found = product.cluster_named("briefly")
    assert found is not None
    connection = 'ephemeral "ringmaster_connection" "run" {{\n  cluster_id = ringmaster_cluster.it.id\n  {}\n}}\n'
    uses = 'resource "terraform_data" "kept" {\n  input = ephemeral.ringmaster_connection.run.username\n}\n'
    terraform.write(around + connection.format('access = "all"'))
    assert "It is read, write or schema" in terraform.apply().error()
    terraform.write(around + connection.format("minutes = 1"))
    assert "lifetime_minutes" in terraform.apply().error()
    terraform.write(around + connection.format('access = "write"') + uses)
    assert "ephemeral" in terraform.apply().error().lower(), "it would be in the state"

    terraform.write(around + connection.format('access = "write"'))
    assert (applied := terraform.apply()).code == 0, applied.text
    assert not re.search("terraform_[0-9a-f]{16}", (terraform.folder / "terraform.tfstate").read_text())
    kinds = [each["kind"] for each in product.call("GET", f"/operations?cluster_id={found['id']}&limit=100")["items"]]
    assert kinds.count("change_access") >= 2, kinds
    # Dropping is ordered, not waited for.
    until = time.monotonic() + 30
    while time.monotonic() < until and _roles_of_runs(product, found["id"]):
        time.sleep(0.2)
    assert _roles_of_runs(product, found["id"]) == []


def _roles_of_runs(product: Product, cluster_id: str) -> list[str]:
    roles = product.call("GET", f"/clusters/{cluster_id}/roles")["items"]
    return [each["name"] for each in roles if each["name"].startswith("terraform_")]
