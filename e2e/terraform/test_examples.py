"""Every example is well formed, valid and can be planned against the product."""

import shutil
from pathlib import Path

import pytest

from e2e.terraform.conftest import Product
from e2e.terraform.programs import Terraform
from e2e.terraform.test_cluster import cluster
from infra.local.layout import layout

EXAMPLES = layout().checkout / "infra" / "terraform-provider" / "examples"


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
    }
    there = Terraform(folder, {**terraform.environment, **settings})
    there.do("init", "-input=false")
    there.do("fmt", "-check", "-diff")
    there.do("validate")
    planned = there.plan()
    assert planned.code == 2, planned.error()
    assert set(planned.changes.values()) <= {"create", "read"}
