"""`ringmaster tf export`: what exists is taken over, and nothing is to be done about it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.terraform.conftest import Product
from e2e.terraform.programs import Terraform
from e2e.terraform.test_cluster import DATACENTERS, WINDOWS, cluster
from e2e.terraform.test_everything_else import AROUND

MORE = """
resource "ringmaster_role" "ours" {
  name        = "exported $${x}"
  permissions = ["clusters:read"]
  tags        = { team = ["shop"] }
}
resource "ringmaster_service_account" "ours" {
  name           = "exported"
  contact        = "ops@example.org"
  role           = "custom"
  custom_role_id = ringmaster_role.ours.id
}
data "ringmaster_identity_providers" "all" {}
resource "ringmaster_group_role" "ours" {
  identity_provider_id = data.ringmaster_identity_providers.all.identity_providers[0].id
  group                = "CN=exported \\"people\\", $${x}"
  role                 = "custom"
  custom_role_id       = ringmaster_role.ours.id
  rank                 = 7
}
"""
TWO = DATACENTERS.replace(
    "}]", '}, { region = "fake-2", zones = ["fake-2a"], machine_type = "fake.small", nodes_per_zone = 1 }]'
)


def test_what_exists_is_exported_and_a_plan_of_it_has_nothing_to_do(
    product: Product, terraform: Terraform, tmp_path_factory: pytest.TempPathFactory
):
    wanted = {
        "termination_protection": "false",
        "tags": '{ team = "shop" }',
        "settings": "{ read_timeout_ms = 7000, concurrent_reads = 64 }",
        "healing": '{ mode = "tell" }',
        "maintenance_windows": WINDOWS,
    }
    terraform.write(cluster("exported", datacenters=TWO, **wanted) + AROUND + MORE)
    assert (applied := terraform.apply()).code == 0, applied.text

    other = Terraform(tmp_path_factory.mktemp("export"), terraform.environment)
    other.write("")
    (other.folder / "main.tf").unlink()
    program = Path(sys.executable).with_name("ringmaster")
    command = (program, "tf", "export", "--out", str(other.folder / "ringmaster.tf"))
    done = subprocess.run(command, env=dict(terraform.environment), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written = (other.folder / "ringmaster.tf").read_text()
    for kind in (
        "cluster",
        "allowlist_entry",
        "cql_role",
        "cql_grant",
        "backup_schedule",
        "repair_schedule",
        "log_archive",
        "vpc_peering",
        "private_endpoint",
    ):
        assert f'resource "ringmaster_{kind}"' in written
    for kind in (
        "alert_rule",
        "budget",
        "cloud_account",
        "member",
        "role",
        "group_role",
        "service_account",
        "drill_schedule",
        "access_settings",
    ):
        assert f'resource "ringmaster_{kind}"' in written
    assert "# Not exported: the receiver programs" in written

    planned = other.plan()
    lines = [json.loads(line) for line in planned.text.splitlines()]
    assert not planned.errors, planned.error()
    [told] = [one["changes"] for one in lines if one["type"] == "change_summary"]
    assert (told["add"], told["change"], told["remove"]) == (0, 0, 0), planned.text
    assert told["import"] == written.count("\nimport {")

    # A file that is there is not written over.
    assert subprocess.run(command, env=dict(terraform.environment), capture_output=True).returncode != 0
    # All of it goes, with the networks of both data centres.
    assert (gone := terraform.destroy()).code == 0, gone.text
