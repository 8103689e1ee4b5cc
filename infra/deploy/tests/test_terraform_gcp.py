"""The module for Google Cloud, checked and planned by Terraform with a real provider.

The provider is one of 2021, built from its source; what it does not know is taken out of a copy of the module first.
It is not applied: our emulator of Compute Engine has no balancers, groups, databases or service accounts.
"""

import json
import os
from typing import Any

import pytest
import yaml

from e2e.terraform.programs import Said, Terraform
from infra.deploy.terraform import providers
from infra.local.layout import CHECKOUT

pytestmark = pytest.mark.slow

State = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    settings = providers.settings("gcp")
    folder = tmp_path_factory.mktemp("gcp")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TF_CLI_CONFIG_FILE": str(settings),
        "TF_IN_AUTOMATION": "1",
        "CHECKPOINT_DISABLE": "1",
        # Nobody is asked.
        "GOOGLE_OAUTH_ACCESS_TOKEN": "none",
        "TF_VAR_certificate": "projects/example/global/sslCertificates/console",
        "TF_VAR_machine_image": "projects/debian-cloud/global/images/debian-12-bookworm-v20250910",
    }
    made = Terraform(providers.older_copy("gcp", folder), environment, seconds=300)
    made.do("get")
    return made


@pytest.fixture(scope="module")
def planned(terraform: Terraform) -> State:
    """What a first plan says, by kind: the attributes of each resource, as far as they are known."""
    terraform.do("validate")
    said = terraform.plan("-out=first")
    assert said.code == 2, said.error()
    assert set(said.changes.values()) == {"create"}
    found: State = {}
    document = json.loads(terraform.do("show", "-json", "first"))["planned_values"]["root_module"]
    for module in document["child_modules"]:
        for each in module.get("resources", []):
            found.setdefault(each["type"], []).append(each["values"])
    return found


def with_argument(terraform: Terraform, line: str) -> Said:
    main = terraform.folder / "main.tf"
    before = main.read_text()
    name = line.split()[0]
    kept = [each for each in before.splitlines() if each.split()[:1] != [name]]
    main.write_text("\n".join(kept).replace("  source =", f"  {line}\n  source ="))
    try:
        return terraform.plan()
    finally:
        main.write_text(before)


def test_machines_have_no_address_outside_and_boot_what_is_signed(planned: State):
    assert len(planned["google_compute_instance_template"]) == 2
    for template in planned["google_compute_instance_template"]:
        assert template["network_interface"][0]["access_config"] == []
        assert set(template["shielded_instance_config"][0].values()) == {True}
        assert template["labels"] == {"ringmaster": "ringmaster", "team": "databases"}


def test_nothing_but_the_balancers_is_reached_from_outside(planned: State):
    open_to = {
        rule["name"]: (rule["allow"][0]["ports"], set(rule["source_ranges"]))
        for rule in planned["google_compute_firewall"]
    }
    google = {"35.191.0.0/16", "130.211.0.0/22"}
    checks = google | {"209.85.152.0/22", "209.85.204.0/22"}
    assert open_to == {
        "ringmaster-console": (["8000"], google),
        "ringmaster-enrol": (["8444"], {"0.0.0.0/0"} | checks),
        "ringmaster-shells": (["22"], {"35.235.240.0/20"}),
    }
    rules = {rule["action"]: rule["match"] for rule in planned["google_compute_security_policy"][0]["rule"]}
    assert rules["allow"][0]["config"][0]["src_ip_ranges"] == ["192.0.2.0/24"]
    assert rules["deny(403)"][0]["config"][0]["src_ip_ranges"] == ["*"]


def test_the_database_is_private_in_several_zones_and_kept(planned: State):
    (database,) = planned["google_sql_database_instance"]
    settings = database["settings"][0]
    assert database["deletion_protection"] is True
    assert settings["availability_type"] == "REGIONAL"
    assert settings["ip_configuration"][0]["ipv4_enabled"] is False
    assert settings["backup_configuration"][0]["point_in_time_recovery_enabled"] is True


def test_only_workers_speak_to_clouds(planned: State):
    (role,) = planned["google_project_iam_custom_role"]
    own = yaml.safe_load((CHECKOUT / "infra" / "gcp" / "role.yaml").read_text())
    assert sorted(role["permissions"]) == sorted(own["includedPermissions"])
    members = [each["role"] for each in planned["google_project_iam_member"] if "role" in each]
    assert sorted(members) == ["roles/logging.logWriter", "roles/logging.logWriter"]
    assert len(planned["google_project_iam_member"]) == 3
    assert len(planned["google_secret_manager_secret_iam_member"]) == 10


def test_groups_are_spread_and_rolled_without_a_loss(planned: State):
    for group in planned["google_compute_region_instance_group_manager"]:
        assert group["distribution_policy_zones"] == ["europe-west1-b", "europe-west1-c"]
        assert group["update_policy"][0]["max_unavailable_fixed"] == 0
        assert group["target_size"] == 2


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('console_from = ["everybody"]', "one to ten CIDR blocks"),
        ('machine_image = "projects/debian-cloud/global/images/family/debian-12"', "not of a family"),
        ('zones = ["europe-west1-b"]', "two or three different zones"),
        ('environment = { RINGMASTER_METRICS_TOKEN = "x" }', "are secrets"),
        ('name = "Ring Master"', "A name has 3 to 20"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_planned(terraform: Terraform, line: str, complaint: str):
    if line.startswith("environment"):
        main = terraform.folder / "main.tf"
        before = main.read_text()
        main.write_text(before.replace("RINGMASTER_GCP_PUBLIC_ADDRESSES", "RINGMASTER_METRICS_TOKEN"))
        said = terraform.plan()
        main.write_text(before)
    else:
        said = with_argument(terraform, line)
    assert said.code == 1
    assert complaint in said.error()
