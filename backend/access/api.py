"""Access over HTTP: the IP allowlist, and the roles of a cluster's database."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.access import actions, queries, schemas
from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import prepared

router = Router(tags=["access"])
STARTED = {202: schemas.RoleChangeStarted}


@router.get("/clusters/{cluster_id}/allowlist", operation_id="get_allowlist", response=schemas.Allowlist)
def get_allowlist(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """From where roles may sign in to the database."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_allowlist(who, cluster_id))


@router.put(
    "/clusters/{cluster_id}/allowlist", operation_id="replace_allowlist", response={202: schemas.AllowlistStarted}
)
def replace_allowlist(request: HttpRequest, cluster_id: str, order: schemas.AllowlistOrder) -> HttpResponse:
    """Puts a list in the place of the one before, on every node. Open connections stay open."""
    return prepared(actions.replace_allowlist(identity(request), cluster_id, order), status=202)


@router.get("/clusters/{cluster_id}/roles", operation_id="list_roles", response=schemas.DatabaseRoles)
def list_roles(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """The roles of the database as it told them last, with all they may do and through which role."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_roles(who, cluster_id))


@router.post("/clusters/{cluster_id}/roles", operation_id="create_role", response=STARTED)
def create_role(request: HttpRequest, cluster_id: str, order: schemas.RoleOrder) -> HttpResponse:
    """Makes a role. If it can sign in, its password can be revealed once when the operation has succeeded."""
    return prepared(actions.create_role(identity(request), cluster_id, order), status=202)


@router.post("/clusters/{cluster_id}/roles/refresh", operation_id="refresh_roles", response=STARTED)
def refresh_roles(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Reads roles and permissions anew, for example after they were changed with CQL."""
    return prepared(actions.refresh_roles(identity(request), cluster_id), status=202)


@router.patch("/clusters/{cluster_id}/roles/{role}", operation_id="update_role", response=STARTED)
def update_role(request: HttpRequest, cluster_id: str, role: str, change: schemas.RoleUpdate) -> HttpResponse:
    """Lets a role sign in, or not any more. Open connections stay open."""
    return prepared(actions.update_role(identity(request), cluster_id, role, can_login=change.can_login), status=202)


@router.delete("/clusters/{cluster_id}/roles/{role}", operation_id="delete_role", response=STARTED)
def delete_role(request: HttpRequest, cluster_id: str, role: str) -> HttpResponse:
    """Takes a role away with all it was granted. A cancel does not bring it back."""
    return prepared(actions.delete_role(identity(request), cluster_id, role), status=202)


@router.post("/clusters/{cluster_id}/roles/{role}/grants", operation_id="grant_role", response=STARTED)
def grant_role(request: HttpRequest, cluster_id: str, role: str, order: schemas.GrantOrder) -> HttpResponse:
    """Gives a role permissions on a resource, or makes it a member of another role."""
    return prepared(actions.grant_role(identity(request), cluster_id, role, order), status=202)


@router.delete("/clusters/{cluster_id}/roles/{role}/grants", operation_id="revoke_role", response=STARTED)
def revoke_role(request: HttpRequest, cluster_id: str, role: str, what: Query[schemas.Revocation]) -> HttpResponse:
    """Takes permissions on a resource, or a membership, away from a role."""
    order = schemas.GrantOrder(**what.dict())
    return prepared(actions.revoke_role(identity(request), cluster_id, role, order), status=202)


@router.post(
    "/clusters/{cluster_id}/roles/{role}/rotate-password", operation_id="rotate_role_password", response=STARTED
)
def rotate_role_password(request: HttpRequest, cluster_id: str, role: str) -> HttpResponse:
    """Sets a new password. When the operation has succeeded it can be revealed once."""
    return prepared(actions.rotate_password(identity(request), cluster_id, role), status=202)


@router.post(
    "/clusters/{cluster_id}/roles/{role}/reveal",
    operation_id="reveal_role_password",
    response=schemas.RoleCredentials,
)
def reveal_role_password(request: HttpRequest, cluster_id: str, role: str) -> HttpResponse:
    """The password that was made for a role, once."""
    answer = prepared(actions.reveal_password(identity(request), cluster_id, role))
    answer["Cache-Control"] = "no-store"
    return answer
