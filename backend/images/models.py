"""The images that the machines of nodes are made from. One row per image, region and processor architecture."""

from django.db import models

from backend.core import ids
from backend.images.states import ImageState


class MachineImage(models.Model):
    """Made by images/machine; one bake (`build_id`) may have several rows: regions and architectures."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_image_id)
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64, blank=True, help_text="Empty: usable in all regions, as at Google")
    architecture = models.CharField(max_length=16, help_text="x86_64 or arm64")
    engine = models.CharField(max_length=32)
    engine_version = models.CharField(max_length=32)
    cloud_id = models.CharField(max_length=200, help_text="ami-0123…, projects/<project>/global/images/<name>")
    build_id = models.CharField(max_length=64, help_text="Names the bake")
    agent_version = models.CharField(max_length=32, blank=True)
    base = models.CharField(max_length=64, blank=True, help_text="debian-12")
    sbom = models.CharField(max_length=300, blank=True, help_text="Where the SPDX document is; may be a path inside it")
    is_default = models.BooleanField(default=False)
    registered_by = models.CharField(max_length=200)
    registered_at = models.DateTimeField(auto_now_add=True)
    deprecated_at = models.DateTimeField(null=True)
    deprecated_by = models.CharField(max_length=200, blank=True)
    deprecation_reason = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "region", "cloud_id"], name="image_once"),
            models.UniqueConstraint(
                fields=["provider", "region", "architecture", "engine", "engine_version", "build_id"],
                name="image_build_once",
            ),
            models.UniqueConstraint(
                fields=["provider", "region", "architecture", "engine", "engine_version"],
                condition=models.Q(is_default=True),
                name="image_default_once",
            ),
            models.CheckConstraint(
                condition=models.Q(is_default=False) | models.Q(deprecated_at=None), name="image_default_not_deprecated"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cloud_id} {self.id}"

    @property
    def state(self) -> ImageState:
        if self.deprecated_at is not None:
            return ImageState.DEPRECATED
        return ImageState.DEFAULT if self.is_default else ImageState.AVAILABLE
