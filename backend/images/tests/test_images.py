import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.catalog import actions as catalog
from backend.cloud_accounts.tests.test_cloud_accounts import ORDER
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.images.models import MachineImage

IMAGE: dict[str, Any] = {
    "provider": "aws",
    "region": "eu-west-1",
    "architecture": "x86_64",
    "engine": "cassandra",
    "engine_version": "5.0.5",
    "cloud_id": "ami-0123456789abcdef0",
    "build_id": "20261121",
    "agent_version": "0.1.0",
    "base": "debian-12",
    "sbom": "/opt/ringmaster/sbom.spdx.json",
}
NEWER = {**IMAGE, "cloud_id": "ami-0123456789abcdef1", "build_id": "20261122"}


@pytest.fixture
def _catalog(db: None) -> None:
    catalog.load(with_tests=True, clouds={"aws": ["eu-west-1"], "gcp": None})


@pytest.fixture
def admin(tenant: Tenant, _catalog: None) -> ApiClient:
    """A platform administrator."""
    tenant.owner.platform_admin = True
    tenant.owner.save()
    return tenant.api()


def registered(admin: ApiClient, order: dict[str, Any] = IMAGE) -> str:
    answer = admin.post("/images", order)
    assert answer.status_code == 201, answer.content
    image: str = answer.json()["id"]
    return image


def test_an_image_is_registered_and_everybody_sees_it(admin: ApiClient, stranger: Tenant) -> None:
    image = registered(admin)
    shown = stranger.api().get("/images").json()["items"][0]
    assert (shown["id"], shown["state"], shown["cloud_id"]) == (image, "available", IMAGE["cloud_id"])
    assert {each["allowed"] for each in shown["allowed_actions"]} == {False}
    assert stranger.api().get(f"/images/{image}").json()["sbom"] == IMAGE["sbom"]
    assert AuditRecord.objects.get(action="image.register").target_name == IMAGE["cloud_id"]


def test_only_platform_administrators_change_images(admin: ApiClient, tenant: Tenant, stranger: Tenant) -> None:
    image = registered(admin)
    others = [stranger.api(), tenant.api(tenant.member(Role.ADMIN))]
    for api in others:
        writes: list[Callable[[], Any]] = [
            lambda api=api: api.post("/images", NEWER),  # type: ignore[misc]
            lambda api=api: api.post(f"/images/{image}/default"),  # type: ignore[misc]
            lambda api=api: api.post(f"/images/{image}/deprecate", {"reason": "x"}),  # type: ignore[misc]
            lambda api=api: api.post(f"/images/{image}/restore"),  # type: ignore[misc]
        ]
        assert {write().status_code for write in writes} == {403}
    # A token can have the scope only while its person runs the installation.
    scoped = tenant.api(scopes=[Permission.IMAGES_WRITE])
    assert scoped.post(f"/images/{image}/default").status_code == 200
    call_command("platform_admin", tenant.owner.email, "--revoke")
    assert scoped.post(f"/images/{image}/deprecate", {"reason": "x"}).status_code == 403
    call_command("platform_admin", tenant.owner.email)
    assert scoped.post(f"/images/{image}/deprecate", {"reason": "x"}).status_code == 200
    with pytest.raises(CommandError, match="no person"):
        call_command("platform_admin", "nobody@example.com")


@pytest.mark.parametrize(
    "wrong",
    [
        {"cloud_id": "projects/p/global/images/x"},
        {"region": ""},
        {"provider": "gcp"},
        {"provider": "gcp", "region": ""},
        {"architecture": "sparc"},
        {"engine_version": "9.9.9"},
        {"build_id": "two words"},
    ],
)
def test_what_cannot_be_is_refused(admin: ApiClient, wrong: dict[str, Any]) -> None:
    assert admin.post("/images", {**IMAGE, **wrong}).status_code == 422
    assert not MachineImage.objects.exists()


def test_an_image_is_registered_once(admin: ApiClient) -> None:
    registered(admin)
    for again in (IMAGE, {**IMAGE, "build_id": "other"}, {**NEWER, "build_id": IMAGE["build_id"]}):
        assert admin.post("/images", again).json()["error"]["code"] == "image_known"


def test_one_is_the_default_and_another_takes_its_place(admin: ApiClient) -> None:
    registered(admin, {**IMAGE, "is_default": True})
    newer = registered(admin, NEWER)
    arm = registered(admin, {**NEWER, "cloud_id": "ami-00000000", "architecture": "arm64", "is_default": True})
    assert MachineImage.objects.filter(is_default=True).count() == 2
    assert admin.post(f"/images/{newer}/default").json()["state"] == "default"
    assert not MachineImage.objects.get(build_id="20261121").is_default
    assert MachineImage.objects.get(id=arm).is_default
    assert admin.post(f"/images/{newer}/default").json()["error"]["code"] == "image_state"


def test_a_deprecated_image_is_no_default_and_can_come_back(admin: ApiClient) -> None:
    image = registered(admin, {**IMAGE, "is_default": True})
    deprecated = admin.post(f"/images/{image}/deprecate", {"reason": "CVE-2026-1"}).json()
    assert (deprecated["state"], deprecated["deprecation_reason"]) == ("deprecated", "CVE-2026-1")
    assert admin.post(f"/images/{image}/default").json()["error"]["message"] == "It is deprecated."
    assert admin.post(f"/images/{image}/deprecate", {"reason": ""}).status_code == 422
    assert admin.post(f"/images/{image}/restore").json()["state"] == "available"
    assert admin.post("/images/img_none/restore").status_code == 404


# Clusters.


def test_a_cluster_is_pinned_to_a_build_that_there_is_for_its_machines(admin: ApiClient) -> None:
    registered(admin)
    error = admin.post("/clusters", {**ORDER, "image_build": "other"}).json()["error"]
    assert (error["code"], error["field"]) == ("image_build_unusable", "image_build")
    assert "no image of build other with cassandra 5.0.5 for x86_64 in eu-west-1" in error["message"]
    order = {**ORDER, "image_build": "20261121"}
    assert admin.post("/clusters/check", order).status_code == 200
    cluster = admin.post("/clusters", order).json()["cluster"]
    assert cluster["image_build"] == "20261121"
    path = f"/clusters/{cluster['id']}"
    Cluster.objects.update(state="active")
    assert admin.patch(path, {"image_build": "other"}).json()["error"]["code"] == "image_build_unusable"
    assert admin.patch(path, {"image_build": ""}).json()["image_build"] is None
    assert admin.patch(path, {"image_build": "20261121"}).json()["image_build"] == "20261121"


def test_no_new_cluster_is_pinned_to_a_deprecated_build_and_one_that_runs_may_keep_it(admin: ApiClient) -> None:
    image = registered(admin)
    cluster = admin.post("/clusters", ORDER).json()["cluster"]
    admin.post(f"/images/{image}/deprecate", {"reason": "CVE-2026-1"})
    for path in ("/clusters", "/clusters/check"):
        answer = admin.post(path, {**ORDER, "name": "new", "image_build": "20261121"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "image_build_unusable")
    Cluster.objects.update(state="active")
    assert admin.patch(f"/clusters/{cluster['id']}", {"image_build": "20261121"}).status_code == 200


# What Packer built.

DATA = {name: IMAGE[name] for name in ("architecture", "engine", "engine_version", "build_id", "base", "sbom")}
MANIFEST: dict[str, Any] = {
    "builds": [
        {
            "builder_type": "amazon-ebs",
            "artifact_id": "eu-west-1:ami-0123456789abcdef0,us-east-1:ami-0123456789abcdef1",
            "packer_run_uuid": "second",
            "custom_data": {**DATA, "agent_version": "0.1.0", "gcp_project": "unset"},
        },
        {
            "builder_type": "googlecompute",
            "artifact_id": "ringmaster-cassandra-5-0-5",
            "packer_run_uuid": "second",
            "custom_data": {**DATA, "agent_version": "0.1.0", "gcp_project": "acme-images"},
        },
        {"builder_type": "qemu", "artifact_id": "VM", "packer_run_uuid": "second", "custom_data": {}},
        {"builder_type": "amazon-ebs", "artifact_id": "eu-west-1:ami-1", "packer_run_uuid": "first"},
    ],
    "last_run_uuid": "second",
}


@pytest.mark.usefixtures("_catalog")
def test_what_packer_built_last_is_registered_once(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(MANIFEST))
    for _ in range(2):
        call_command("register_images", str(manifest), "--default")
    found = {(row.provider, row.region, row.cloud_id, row.state) for row in MachineImage.objects.all()}
    assert found == {
        ("aws", "eu-west-1", "ami-0123456789abcdef0", "default"),
        ("aws", "us-east-1", "ami-0123456789abcdef1", "default"),
        ("gcp", "", "projects/acme-images/global/images/ringmaster-cassandra-5-0-5", "default"),
    }


@pytest.mark.usefixtures("_catalog")
@pytest.mark.parametrize(
    "text", ["", "{}", '{"builds": [], "last_run_uuid": "x"}', json.dumps(MANIFEST | {"last_run_uuid": "first"})]
)
def test_a_manifest_that_says_nothing_of_use_registers_nothing(tmp_path: Path, text: str) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(text)
    with pytest.raises(CommandError, match="Nothing was registered"):
        call_command("register_images", str(manifest))
    assert not MachineImage.objects.exists()
