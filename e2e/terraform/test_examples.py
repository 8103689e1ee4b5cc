"""Every example is well formed, valid and can be planned against the product."""

import shutil
from pathlib import Path

import pytest

from e2e.terraform.conftest import Product
from e2e.terraform.programs import Terraform
from e2e.terraform.test_cluster import cluster
from infra.local.layout import layout

EXAMPLES = layout().checkout / "infra" / "terraform-provider" / "examples"
NEEDS_AN_ENGINE = {"schema": "simulated machines speak no CQL; test_schema.py applies the like"}


@pytest.mark.parametrize("example", sorted(EXAMPLES.iterdir()), ids=lambda one: one.name)
def test_an_example_is_well_formed_and_planned(product: Product, tmp_path: Path, terraform: Terraform, example: Path):
    if product.cluster_named("examples") is None:
        terraform.write(cluster("examples", termination_protection="false"))
        assert terraform.apply().code == 0
    folder = tmp_path / "example"
    shutil.copytree(example, folder)
    settings = {
        "TF_VAR_cloud": "fake",
        "TF_VAR_machine_type": "fake.small",
        "TF_VAR_cluster": "examples",
        "TF_VAR_cluster_id": "clu_01j00000000000000000000000",
    }
    there = Terraform(folder, {**terraform.environment, **settings})
    there.do("init", "-input=false")
    there.do("fmt", "-check", "-diff")
    there.do("validate")
    planned = there.plan()
    if example.name in NEEDS_AN_ENGINE:
        assert planned.code == 1
        assert "no database role" in planned.error()
        return
    assert planned.code == 2, planned.error()
    assert set(planned.changes.values()) <= {"create", "read"}
