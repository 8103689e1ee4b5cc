"""Machine images over HTTP: everybody sees them, the team that runs the installation changes them."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import PageQuery, prepared
from backend.images import actions, queries, schemas

router = Router(tags=["images"])


@router.get("/images", operation_id="list_images", response=schemas.ImagePage)
def list_images(request: HttpRequest, wanted: Query[schemas.ImageFilter], page: Query[PageQuery]) -> HttpResponse:
    """The images that machines are made from, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_images(who, page, **wanted.dict()))


@router.post("/images", operation_id="register_image", response={201: schemas.Image})
def register_image(request: HttpRequest, order: schemas.ImageOrder) -> HttpResponse:
    """Makes an image known that was baked. An image never changes."""
    return prepared(actions.register(identity(request), order), status=201)


@router.get("/images/{image_id}", operation_id="get_image", response=schemas.Image)
def get_image(request: HttpRequest, image_id: str) -> HttpResponse:
    """One image. Deprecated ones can still be read."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_image(who, image_id))


@router.post("/images/{image_id}/default", operation_id="make_image_default", response=schemas.Image)
def make_image_default(request: HttpRequest, image_id: str) -> HttpResponse:
    """New machines of its engine version, region and architecture are made from it."""
    return prepared(actions.make_default(identity(request), image_id))


@router.post("/images/{image_id}/deprecate", operation_id="deprecate_image", response=schemas.Image)
def deprecate_image(request: HttpRequest, image_id: str, why: schemas.ImageDeprecation) -> HttpResponse:
    """No new cluster is made from it; clusters that run from it are told."""
    return prepared(actions.deprecate(identity(request), image_id, reason=why.reason))


@router.post("/images/{image_id}/restore", operation_id="restore_image", response=schemas.Image)
def restore_image(request: HttpRequest, image_id: str) -> HttpResponse:
    """Takes a deprecation back."""
    return prepared(actions.restore(identity(request), image_id))
