"""Registering machine images and saying what they are for. Nothing is changed in a cloud."""

from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.catalog import queries as catalog
from backend.core.errors import Conflict, Invalid
from backend.images.models import MachineImage
from backend.images.queries import get_image, image_not_found
from backend.images.schemas import ImageOrder
from backend.images.states import (
    ImageState,
    reason_against_deprecating,
    reason_against_making_default,
    reason_against_restoring,
)


@transaction.atomic
def register(who: Identity, order: ImageOrder) -> dict[str, Any]:
    """Raises Forbidden, Invalid, Conflict."""
    require(who, Permission.IMAGES_WRITE)
    image = insert(order, registered_by=who.actor)
    _record(who, image, "image.register", after=order.model_dump())
    return get_image(who, image.id)


@transaction.atomic
def insert(order: ImageOrder, *, registered_by: str) -> MachineImage:
    """A new image, the default in the place of the one before if it is to be. Raises Invalid, Conflict."""
    if order.engine_version not in catalog.engine_version_names(order.engine):
        raise Invalid(
            "unknown_engine_version",
            f"There is no version {order.engine_version} of {order.engine} in the catalogue.",
            hint="Choose from what get_catalog lists.",
            field="engine_version",
        )
    columns = order.model_dump(exclude={"is_default"})
    try:
        with transaction.atomic():
            image = MachineImage.objects.create(**columns, registered_by=registered_by)
    except IntegrityError as error:
        if "image_once" not in str(error) and "image_build_once" not in str(error):
            raise
        raise Conflict(
            "image_known",
            f"The image {order.cloud_id}, or another one of build {order.build_id} for such machines, is registered.",
            hint="List the images. An image never changes: what was baked anew has another build id.",
            field="cloud_id",
        ) from error
    if order.is_default:
        _become_default(image)
    return image


@transaction.atomic
def make_default(who: Identity, image_id: str) -> dict[str, Any]:
    """New machines are made from it. Raises Forbidden, NotFound, Conflict."""
    image = _locked(who, image_id, reason_against_making_default)
    _become_default(image)
    _record(who, image, "image.make_default")
    return get_image(who, image_id)


@transaction.atomic
def deprecate(who: Identity, image_id: str, *, reason: str) -> dict[str, Any]:
    """No new cluster is made from it. Raises Forbidden, NotFound, Conflict."""
    image = _locked(who, image_id, reason_against_deprecating)
    MachineImage.objects.filter(id=image_id).update(
        is_default=False, deprecated_at=Now(), deprecated_by=who.actor, deprecation_reason=reason
    )
    _record(who, image, "image.deprecate", before={"state": image.state}, after={"reason": reason})
    return get_image(who, image_id)


@transaction.atomic
def restore(who: Identity, image_id: str) -> dict[str, Any]:
    """It may be used again; it is not the default. Raises Forbidden, NotFound, Conflict."""
    image = _locked(who, image_id, reason_against_restoring)
    MachineImage.objects.filter(id=image_id).update(deprecated_at=None, deprecated_by="", deprecation_reason="")
    _record(who, image, "image.restore", before={"reason": image.deprecation_reason})
    return get_image(who, image_id)


def _become_default(image: MachineImage) -> None:
    same = MachineImage.objects.filter(
        provider=image.provider,
        region=image.region,
        architecture=image.architecture,
        engine=image.engine,
        engine_version=image.engine_version,
    )
    # Two who want another default at once take turns.
    list(same.select_for_update().order_by("id").values_list("id", flat=True))
    same.exclude(id=image.id).filter(is_default=True).update(is_default=False)
    MachineImage.objects.filter(id=image.id).update(is_default=True)


def _locked(who: Identity, image_id: str, reason_against: Callable[..., str | None]) -> MachineImage:
    require(who, Permission.IMAGES_WRITE)
    image = MachineImage.objects.select_for_update().filter(id=image_id).first()
    if image is None:
        raise image_not_found()
    state: ImageState = image.state
    if reason := reason_against(state, may=True):
        raise Conflict("image_state", reason, hint="Look at the image's state.")
    return image


def _record(
    who: Identity,
    image: MachineImage,
    action: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        who,
        action=action,
        target_type="image",
        target_id=image.id,
        target_name=image.cloud_id,
        before=before,
        after=after,
    )
