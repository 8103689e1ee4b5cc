"""Reading machine images, and choosing from them."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, cut
from backend.core.schemas import allowed
from backend.images.models import MachineImage
from backend.images.states import (
    reason_against_deprecating,
    reason_against_making_default,
    reason_against_restoring,
)


def list_images(who: Identity, query: PageQuery, **wanted: str | None) -> dict[str, Any]:
    """Newest first. They are the installation's: every organisation sees the same."""
    rows = MachineImage.objects.filter(**{name: value for name, value in wanted.items() if value is not None})
    if query.cursor is not None:
        rows = rows.filter(id__lt=query.cursor)
    return cut([_image(who, row) for row in rows.order_by("-id")[: query.limit + 1]], query, lambda row: row)


def get_image(who: Identity, image_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = MachineImage.objects.filter(id=image_id).first()
    if row is None:
        raise image_not_found()
    return _image(who, row)


def image_not_found() -> NotFound:
    return NotFound("image_not_found", "There is no such image.", hint="List the images to see their ids.")


def chosen(
    *, provider: str, region: str, engine: str, version: str, architectures: Collection[str], build: str = ""
) -> dict[str, MachineImage]:
    """By architecture: the image of this build, or the default if none is named. Those that there are."""
    rows = _for(provider, region, engine, version).filter(architecture__in=architectures)
    rows = rows.filter(build_id=build) if build else rows.filter(is_default=True)
    # One of the very region stands before one for all regions.
    return {row.architecture: row for row in rows.order_by("region", "id")}


def missing_of_build(
    build: str, *, provider: str, engine: str, version: str, places: Iterable[tuple[str, str]], deprecated_too: bool
) -> str | None:
    """Why a cluster cannot be made from a build: a sentence. `places`: region and architecture of its machines."""
    for region, architecture in places:
        rows = _for(provider, region, engine, version).filter(architecture=architecture, build_id=build)
        row = rows.first()
        if row is None:
            machines = f" for {architecture}" if architecture else ""
            return f"There is no image of build {build} with {engine} {version}{machines} in {region}."
        if row.deprecated_at is not None and not deprecated_too:
            return f"Build {build} is deprecated: {row.deprecation_reason}"
    return None


def deprecated() -> Mapping[str, MachineImage]:
    """By what their cloud calls them."""
    return {row.cloud_id: row for row in MachineImage.objects.exclude(deprecated_at=None)}


def _for(provider: str, region: str, engine: str, version: str) -> QuerySet[MachineImage]:
    here = Q(region=region) | Q(region="")
    return MachineImage.objects.filter(here, provider=provider, engine=engine, engine_version=version)


def _image(who: Identity, row: MachineImage) -> dict[str, Any]:
    may = Permission.IMAGES_WRITE in who.permissions
    return {
        "id": row.id,
        "state": row.state,
        "provider": row.provider,
        "region": row.region or None,
        "architecture": row.architecture,
        "engine": row.engine,
        "engine_version": row.engine_version,
        "cloud_id": row.cloud_id,
        "build_id": row.build_id,
        "agent_version": row.agent_version,
        "base": row.base,
        "sbom": row.sbom,
        "registered_by": row.registered_by,
        "registered_at": row.registered_at,
        "deprecated_at": row.deprecated_at,
        "deprecated_by": row.deprecated_by,
        "deprecation_reason": row.deprecation_reason,
        "allowed_actions": [
            allowed("make_image_default", reason_against_making_default(row.state, may=may)),
            allowed("deprecate_image", reason_against_deprecating(row.state, may=may)),
            allowed("restore_image", reason_against_restoring(row.state, may=may)),
        ],
    }
