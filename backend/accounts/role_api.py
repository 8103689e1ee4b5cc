"""Roles of an organisation over HTTP. Roles of a database are in backend/access."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status

from backend.accounts import role_actions, role_queries, role_schemas
from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["roles"])


@router.get("/organisation/role-choices", operation_id="get_role_choices", response=role_schemas.RoleChoices)
def get_role_choices(request: HttpRequest) -> Any:
    """What the built-in roles hold, and what a role can be made of."""
    require(identity(request), Permission.MEMBERS_READ)
    return role_queries.get_role_choices()


@router.get("/organisation/roles", operation_id="list_organisation_roles", response=role_schemas.OrganisationRolePage)
def list_organisation_roles(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """The roles that the organisation made, newest first."""
    who = identity(request)
    require(who, Permission.MEMBERS_READ)
    return prepared(role_queries.list_roles(who, page))


@router.post(
    "/organisation/roles", operation_id="create_organisation_role", response={201: role_schemas.OrganisationRole}
)
def create_organisation_role(request: HttpRequest, order: role_schemas.OrganisationRoleOrder) -> Any:
    """Makes a role: permissions, for all clusters or those with certain tags. Nobody gives what they do not hold."""
    made = role_actions.create_role(
        identity(request),
        name=order.name,
        description=order.description,
        permissions=order.permissions,
        tags=order.tags,
    )
    return Status(201, made)


@router.get(
    "/organisation/roles/{role_id}", operation_id="get_organisation_role", response=role_schemas.OrganisationRole
)
def get_organisation_role(request: HttpRequest, role_id: str) -> Any:
    """A role, with how many hold it."""
    who = identity(request)
    require(who, Permission.MEMBERS_READ)
    return role_queries.get_role(who, role_id)


@router.patch(
    "/organisation/roles/{role_id}", operation_id="update_organisation_role", response=role_schemas.OrganisationRole
)
def update_organisation_role(request: HttpRequest, role_id: str, change: role_schemas.OrganisationRoleChange) -> Any:
    """Changes a role for everybody who holds it, at once. What is left out stays; `tags: null` means all clusters."""
    return role_actions.update_role(
        identity(request),
        role_id,
        name=change.name,
        description=change.description,
        permissions=change.permissions,
        tags=change.tags,
        for_all="tags" in change.model_fields_set and change.tags is None,
    )


@router.delete("/organisation/roles/{role_id}", operation_id="delete_organisation_role", response={204: None})
def delete_organisation_role(request: HttpRequest, role_id: str) -> Any:
    """Deletes a role that nobody holds."""
    role_actions.delete_role(identity(request), role_id)
    return Status(204, None)
