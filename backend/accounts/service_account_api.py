"""Service accounts and an organisation's access settings over HTTP."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status

from backend.accounts import service_account_actions as actions
from backend.accounts import service_account_queries as queries
from backend.accounts import service_account_schemas as schemas
from backend.accounts import settings
from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import PageQuery, prepared

router = Router()


@router.get(
    "/service-accounts",
    operation_id="list_service_accounts",
    tags=["service accounts"],
    response=schemas.ServiceAccountPage,
)
def list_service_accounts(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Identities that are no person, newest first."""
    who = identity(request)
    require(who, Permission.MEMBERS_READ)
    return prepared(queries.list_accounts(who, page))


@router.post(
    "/service-accounts",
    operation_id="create_service_account",
    tags=["service accounts"],
    response={201: schemas.ServiceAccount},
)
def create_service_account(request: HttpRequest, order: schemas.ServiceAccountOrder) -> Any:
    """Makes an identity that is no person. Its tokens (create_token) outlive whoever makes them."""
    made = actions.create_account(
        identity(request),
        name=order.name,
        description=order.description,
        contact=order.contact,
        role=order.role,
        custom_role_id=order.custom_role_id,
    )
    return Status(201, made)


@router.get(
    "/service-accounts/{service_account_id}",
    operation_id="get_service_account",
    tags=["service accounts"],
    response=schemas.ServiceAccount,
)
def get_service_account(request: HttpRequest, service_account_id: str) -> Any:
    """A service account, with how many tokens of it work."""
    who = identity(request)
    require(who, Permission.MEMBERS_READ)
    return queries.get_account(who, service_account_id)


@router.patch(
    "/service-accounts/{service_account_id}",
    operation_id="update_service_account",
    tags=["service accounts"],
    response=schemas.ServiceAccount,
)
def update_service_account(request: HttpRequest, service_account_id: str, change: schemas.ServiceAccountChange) -> Any:
    """Changes a service account. Disabling it ends its tokens at once and for good."""
    return actions.update_account(
        identity(request),
        service_account_id,
        name=change.name,
        description=change.description,
        contact=change.contact,
        role=None if change.role is None else (change.role, change.custom_role_id),
        disabled=change.disabled,
    )


@router.get(
    "/organisation/access-settings",
    operation_id="get_access_settings",
    tags=["organisation"],
    response=schemas.AccessSettings,
)
def get_access_settings(request: HttpRequest) -> Any:
    """What holds for API tokens and sign-ins of the organisation, and whether deletes take two people."""
    return settings.get_settings(identity(request))


@router.patch(
    "/organisation/access-settings",
    operation_id="update_access_settings",
    tags=["organisation"],
    response=schemas.AccessSettings,
)
def update_access_settings(request: HttpRequest, change: schemas.AccessSettingsChange) -> Any:
    """Changes what holds for API tokens that are made from now on, for sign-ins, and whether deletes take two people.

    What is left out stays; null takes a limit away.
    """
    return settings.update_settings(identity(request), change.model_dump(exclude_unset=True))
