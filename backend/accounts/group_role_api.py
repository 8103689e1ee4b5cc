"""Identity providers and the roles that their groups give, over HTTP."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status

from backend.accounts import group_role_actions, group_role_queries
from backend.accounts import group_role_schemas as schemas
from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import PageQuery, prepared

router = Router()


@router.get(
    "/session/identity-providers",
    auth=None,
    operation_id="list_identity_providers",
    tags=["session"],
    response=schemas.IdentityProviders,
)
def list_identity_providers(request: HttpRequest) -> Any:
    """Who people can sign in through. Public: the sign-in page has a button for each."""
    return group_role_queries.list_identity_providers()


@router.get(
    "/organisation/group-roles", operation_id="list_group_roles", tags=["roles"], response=schemas.GroupRolePage
)
def list_group_roles(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Groups of identity providers whose people are members of the organisation, newest first."""
    who = identity(request)
    require(who, Permission.MEMBERS_READ)
    return prepared(group_role_queries.list_group_roles(who, page))


@router.post(
    "/organisation/group-roles",
    operation_id="create_group_role",
    tags=["roles"],
    response={201: schemas.GroupRole},
)
def create_group_role(request: HttpRequest, order: schemas.GroupRoleOrder) -> Any:
    """Makes people of a group members, with their next sign-in. Nobody gives what they do not hold."""
    made = group_role_actions.create_group_role(
        identity(request),
        provider_id=order.identity_provider_id,
        group=order.group,
        role=order.role,
        custom_role_id=order.custom_role_id,
        rank=order.rank,
    )
    return Status(201, made)


@router.patch(
    "/organisation/group-roles/{group_role_id}",
    operation_id="update_group_role",
    tags=["roles"],
    response=schemas.GroupRole,
)
def update_group_role(request: HttpRequest, group_role_id: str, change: schemas.GroupRoleChange) -> Any:
    """Gives a group another role or rank. It counts at once for those who are members by it."""
    return group_role_actions.update_group_role(
        identity(request),
        group_role_id,
        role=change.role,
        custom_role_id=change.custom_role_id,
        rank=change.rank,
    )


@router.delete(
    "/organisation/group-roles/{group_role_id}",
    operation_id="delete_group_role",
    tags=["roles"],
    response={204: None},
)
def delete_group_role(request: HttpRequest, group_role_id: str) -> Any:
    """Takes a group's role away. Who is a member by it only is none any more, and their API tokens end."""
    group_role_actions.delete_group_role(identity(request), group_role_id)
    return Status(204, None)
