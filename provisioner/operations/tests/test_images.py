"""Which image machines are made from: the pin, else the default of the catalogue, else what is found by its tags."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models.functions import Now

from backend.catalog.models import MachineType
from backend.clusters.models import Cluster, Node
from backend.findings.models import Finding
from backend.images.models import MachineImage
from backend.operations.models import Operation
from provisioner import runner
from provisioner.operations import registry
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import Image, ImageState
from provisioner.reconcile.images import tell_of_deprecated

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[ClusterWorld]:
    """Its machines have an architecture, as those of clouds do."""
    with cluster_world(ClusterWorld.create) as made:
        MachineType.objects.filter(provider_id="fake").update(architecture="x86_64")
        yield made


def register(build: str, **columns: Any) -> MachineImage:
    facts = {"region": "fake-1", "architecture": "x86_64", "engine": "cassandra", "engine_version": "5.0.5"}
    return MachineImage.objects.create(
        provider="fake", cloud_id=f"image-{build}", build_id=build, registered_by="test", **(facts | columns)
    )


def images_of_nodes() -> set[str]:
    return set(Node.objects.filter(deleted_at=None).values_list("image", flat=True))


def begun(world: ClusterWorld, *, pinned: str = "") -> Operation:
    operation = world.start()
    Cluster.objects.filter(id=world.cluster_id).update(image_build=pinned)
    while runner.run(operation.id, find_code=registry.find).again_in is not None:
        operation.refresh_from_db()
        if operation.attempt > 3:
            break
    operation.refresh_from_db()
    return operation


def test_without_a_catalogue_the_image_is_found_by_its_tags_and_noted(world: ClusterWorld) -> None:
    assert begun(world).state == "succeeded"
    assert images_of_nodes() == {"cassandra-5.0.5"}


def test_the_default_stands_before_what_is_found_by_tags(world: ClusterWorld) -> None:
    register("old")
    register("new", is_default=True)
    register("arm", architecture="arm64", is_default=True)
    register("elsewhere", region="fake-2", is_default=True)
    assert begun(world).state == "succeeded"
    assert images_of_nodes() == {"image-new"}


def test_the_pin_stands_before_the_default(world: ClusterWorld) -> None:
    register("new", is_default=True)
    register("old", deprecated_at=Now())
    assert begun(world, pinned="old").state == "succeeded"
    assert images_of_nodes() == {"image-old"}


def test_a_pin_to_what_is_not_there_waits_for_a_person_and_makes_nothing(world: ClusterWorld) -> None:
    register("new", is_default=True)
    operation = begun(world, pinned="lost")
    assert (operation.state, operation.reason_code) == ("blocked", "pinned-image-missing")
    assert "build lost" in operation.reason
    assert world.provider.list_machines(region="fake-1") == []


def test_a_new_cluster_does_not_begin_with_a_deprecated_image_found_by_tags(
    world: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("old", deprecated_at=Now(), deprecation_reason="CVE-2026-1")
    found = Image(id="image-old", state=ImageState.READY, by_architecture={"x86_64": "image-old"})
    monkeypatch.setattr(world.provider, "find_image", lambda **wanted: found)
    operation = begun(world)
    assert (operation.state, operation.reason_code) == ("blocked", "image-deprecated")
    assert "CVE-2026-1" in operation.reason


def test_a_running_cluster_is_told_when_its_image_is_deprecated_and_when_that_is_over(world: ClusterWorld) -> None:
    image = register("new", is_default=True)
    begun(world)
    assert tell_of_deprecated() == 0
    MachineImage.objects.update(is_default=False, deprecated_at=Now(), deprecation_reason="CVE-2026-1")
    assert tell_of_deprecated() == tell_of_deprecated() == 1
    finding = Finding.objects.get(code="image-deprecated")
    assert (finding.cluster_id, finding.state) == (world.cluster_id, "open")
    assert finding.sentence == "3 of 3 nodes run from a machine image that is deprecated. Build new: CVE-2026-1"
    MachineImage.objects.filter(id=image.id).update(deprecated_at=None)
    assert tell_of_deprecated() == 0
    finding.refresh_from_db()
    assert finding.state == "closed"
