"""The module for AWS, checked, planned and applied by Terraform with a real provider, against an emulated AWS (moto).

The provider is one of 2021, built from its source; what it does not know is taken out of a copy of the module first.
Redis is planned only, as moto forgets most of what it is asked for a group.
"""

import base64
import gzip
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
import yaml
from moto.server import ThreadedMotoServer

from backend.clusters import pki
from e2e.terraform.programs import Terraform
from infra.deploy.terraform import providers
from infra.local.layout import CHECKOUT

pytestmark = pytest.mark.slow

REGION = "eu-west-1"
CREDENTIALS = {"aws_access_key_id": "emulated", "aws_secret_access_key": "emulated", "region_name": REGION}
PROVIDER = """
  access_key                  = "emulated"
  secret_key                  = "emulated"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  endpoints {{
    ec2 = "{url}"
    iam = "{url}"
    sts = "{url}"
    elb = "{url}"
    rds = "{url}"
    elasticache = "{url}"
    autoscaling = "{url}"
    cloudwatchlogs = "{url}"
  }}
"""


@dataclass(frozen=True)
class Cloud:
    url: str
    terraform: Terraform

    def client(self, service: str) -> Any:
        return boto3.client(service, endpoint_url=self.url, **CREDENTIALS)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    settings = providers.settings("aws")
    folder = tmp_path_factory.mktemp("aws")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    example = providers.older_copy("aws", folder)
    main = example / "main.tf"
    region = f'  region = "{REGION}"\n'
    assert main.read_text().count(region) == 1
    main.write_text(main.read_text().replace(region, region + PROVIDER.format(url=url)))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TF_CLI_CONFIG_FILE": str(settings),
        "TF_IN_AUTOMATION": "1",
        "CHECKPOINT_DISABLE": "1",
        "TF_VAR_machine_image": boto3.client("ec2", endpoint_url=url, **CREDENTIALS).describe_images()["Images"][0][
            "ImageId"
        ],
        "TF_VAR_certificate": _certificate(url),
    }
    try:
        terraform = Terraform(example, environment, seconds=900)
        terraform.do("get")
        yield Cloud(url, terraform)
    finally:
        server.stop()


def _certificate(url: str) -> str:
    authority = pki.new_ca("test")
    found = boto3.client("acm", endpoint_url=url, **CREDENTIALS).import_certificate(
        Certificate=authority.certificate_pem.encode(), PrivateKey=authority.key_pem
    )
    return str(found["CertificateArn"])


State = dict[str, list[dict[str, Any]]]


def _by_kind(values: dict[str, Any]) -> State:
    """The attributes of each resource, by kind."""
    found: State = {}
    for module in values["root_module"]["child_modules"]:
        for each in module.get("resources", []):
            found.setdefault(each["type"], []).append(each["values"])
    return found


@pytest.fixture(scope="module")
def planned(cloud: Cloud) -> State:
    """What a first plan of all of it says."""
    said = cloud.terraform.plan("-out=first")
    assert said.code == 2, said.error()
    assert set(said.changes.values()) == {"create"}
    return _by_kind(json.loads(cloud.terraform.do("show", "-json", "first"))["planned_values"])


@pytest.fixture(scope="module")
def state(cloud: Cloud, planned: State) -> State:
    """What apply made, without Redis, and without the templates' own tags, which moto gives to what is made of them."""
    module = cloud.terraform.folder.parents[1]
    stores, machines = module / "stores.tf", module / "machines.tf"
    redis = re.compile(r'^resource "aws_elasticache_.*?^}\n', re.MULTILINE | re.DOTALL)
    stores.write_text(redis.sub("", stores.read_text()))
    address = "${aws_elasticache_replication_group.this.primary_endpoint_address}"
    assert address in machines.read_text()
    of_template = "update_default_version = true\n  tags                   = local.tags"
    assert of_template in machines.read_text()
    machines.write_text(machines.read_text().replace(address, "redis.emulated").replace(of_template, ""))
    applied = cloud.terraform.apply()
    assert applied.code == 0, applied.error()
    return _by_kind(json.loads(cloud.terraform.do("show", "-json"))["values"])


def test_a_second_plan_is_empty(cloud: Cloud, state: State):
    planned = cloud.terraform.plan()
    assert (planned.code, planned.changes) == (0, {}), planned.error()


def test_the_groups_have_their_machines_and_all_zones_to_put_them_in(cloud: Cloud, state: State):
    groups = cloud.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    assert {each["AutoScalingGroupName"] for each in groups} == {"ringmaster-api", "ringmaster-worker"}
    subnets = {each["id"] for each in state["aws_subnet"] if "-machines-" in each["tags"]["Name"]}
    for group in groups:
        assert len(group["Instances"]) == 2
        # moto puts all into the first of them.
        assert set(group["VPCZoneIdentifier"].split(",")) == subnets


def test_machines_ask_for_a_session_before_their_metadata(cloud: Cloud, state: State):
    for template in state["aws_launch_template"]:
        assert template["metadata_options"][0]["http_tokens"] == "required"
        assert template["block_device_mappings"][0]["ebs"][0]["encrypted"] == "true"


def test_nothing_but_the_balancers_is_reached_from_outside(cloud: Cloud, state: State):
    open_to = {
        group["name"]: sorted((rule["from_port"], *rule["cidr_blocks"]) for rule in group["ingress"])
        for group in state["aws_security_group"]
    }
    assert open_to == {
        "ringmaster-console": [(443, "192.0.2.0/24")],
        "ringmaster-enrol": [(8444, "0.0.0.0/0")],
        "ringmaster-api": [(8000,), (8444,)],
        "ringmaster-worker": [],
        "ringmaster-database": [(5432,)],
        "ringmaster-redis": [(6379,)],
    }
    assert not any(each["map_public_ip_on_launch"] for each in state["aws_subnet"])
    assert state["aws_db_instance"][0]["publicly_accessible"] is False


def test_stores_are_encrypted_in_several_zones_and_kept(planned: State, state: State):
    database = state["aws_db_instance"][0]
    for name in ("storage_encrypted", "multi_az", "deletion_protection", "copy_tags_to_snapshot"):
        assert database[name] is True
    assert database["backup_retention_period"] == 14
    assert database["skip_final_snapshot"] is False
    redis = planned["aws_elasticache_replication_group"][0]
    for name in ("transit_encryption_enabled", "at_rest_encryption_enabled", "automatic_failover_enabled"):
        assert redis[name] is True


def test_only_workers_speak_to_clouds(cloud: Cloud, state: State):
    policies = {(each["role"], each["name"]): json.loads(each["policy"]) for each in state["aws_iam_role_policy"]}
    of_workers = {name for role, name in policies if role == "ringmaster-control-plane-worker"}
    of_api = {name for role, name in policies if role == "ringmaster-control-plane-api"}
    assert of_workers == {"machine", "ready", "clouds", "prices"}
    assert of_api == {"machine", "ready"}
    own = json.loads((CHECKOUT / "infra" / "aws" / "policy.json").read_text())
    assert policies["ringmaster-control-plane-worker", "clouds"] == own
    for statement in policies["ringmaster-control-plane-api", "machine"]["Statement"]:
        if statement["Resource"] == ["*"]:
            assert statement["Sid"] in {"Shells", "SignInToRegistry"}


def test_a_machine_is_told_its_stores_and_no_secret(cloud: Cloud, state: State):
    for template in state["aws_launch_template"]:
        packed = base64.b64decode(template["user_data"])
        assert len(packed) < 16384, "EC2 takes 16 KiB"
        files = {each["path"]: each["content"] for each in yaml.safe_load(gzip.decompress(packed))["write_files"]}
        environment = dict(line.split("=", 1) for line in files["/etc/ringmaster/environment"].splitlines())
        assert re.fullmatch(
            r"postgresql://ringmaster@[^:@]+:5432/ringmaster\?sslmode=verify-full&.*", environment["DATABASE_URL"]
        )
        assert environment["REDIS_URL"].startswith("rediss://")
        outside = {f"{each['public_ip']}/32" for each in state["aws_eip"]}
        assert set(environment["RINGMASTER_AWS_AGENTS_FROM"].split(",")) == outside | {"172.20.0.0/20"}


def test_everything_that_takes_tags_has_ours(cloud: Cloud, state: State):
    made = {**state, "aws_launch_template": []}
    tagged = [each["tags"] for kind in made.values() for each in kind if "tags_all" in each]
    assert len(tagged) > 30
    for tags in tagged:
        assert tags["ringmaster"] == "ringmaster"
        assert tags["team"] == "databases"


def test_another_image_rolls_machines_and_replaces_nothing(cloud: Cloud, state: State):
    main = cloud.terraform.folder / "main.tf"
    before = main.read_text()
    main.write_text(before.replace("ringmaster:0.1.0", "ringmaster:0.2.0"))
    try:
        planned = cloud.terraform.plan()
        assert planned.code == 2, planned.error()
        assert set(planned.changes.values()) == {"update"}
        assert {name.split(".")[2] for name in planned.changes} == {"aws_launch_template", "aws_autoscaling_group"}
    finally:
        main.write_text(before)


def test_the_database_is_not_destroyed_and_all_else_is_when_that_is_wanted(cloud: Cloud, state: State):
    refused = cloud.terraform.destroy()
    assert refused.code == 1
    assert "prevent_destroy" in refused.error()
    stores = cloud.terraform.folder.parents[1] / "stores.tf"
    stores.write_text(stores.read_text().replace("prevent_destroy = true", "prevent_destroy = false"))
    main = cloud.terraform.folder / "main.tf"
    main.write_text(main.read_text().replace("  zones  ", "  deletion_protection = false\n  zones  "))
    assert cloud.terraform.apply().code == 0
    destroyed = cloud.terraform.destroy()
    assert destroyed.code == 0, destroyed.error()
    assert cloud.client("rds").describe_db_instances()["DBInstances"] == []
    assert cloud.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"] == []
