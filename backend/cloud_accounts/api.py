"""Cloud accounts over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.cloud_accounts import actions, queries, schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["cloud accounts"])


@router.get("/cloud-accounts", operation_id="list_cloud_accounts", response=schemas.CloudAccountPage)
def list_cloud_accounts(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """The cloud accounts that the organisation brought, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_accounts(who, page))


@router.post("/cloud-accounts", operation_id="create_cloud_account", response={202: schemas.CloudAccountStarted})
def create_cloud_account(request: HttpRequest, order: schemas.CloudAccountOrder) -> HttpResponse:
    """Registers a cloud account and checks it. Its setup says what has to be done in the cloud."""
    return prepared(actions.create(identity(request), order), status=202)


@router.get("/cloud-accounts/{account_id}", operation_id="get_cloud_account", response=schemas.CloudAccountDetail)
def get_cloud_account(request: HttpRequest, account_id: str) -> HttpResponse:
    """One cloud account, with what its last check found and what has to be done in the cloud."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_account(who, account_id))


@router.patch("/cloud-accounts/{account_id}", operation_id="update_cloud_account", response=schemas.CloudAccountDetail)
def update_cloud_account(request: HttpRequest, account_id: str, wanted: schemas.CloudAccountUpdate) -> HttpResponse:
    """Gives it another name."""
    return prepared(actions.rename(identity(request), account_id, name=wanted.name))


@router.delete("/cloud-accounts/{account_id}", operation_id="delete_cloud_account", response={204: None})
def delete_cloud_account(request: HttpRequest, account_id: str) -> Status[None]:
    """Forgets a cloud account in which there are no clusters. Nothing is changed in the cloud."""
    actions.delete(identity(request), account_id)
    return Status(204, None)


@router.post(
    "/cloud-accounts/{account_id}/check",
    operation_id="check_cloud_account",
    response={202: schemas.CloudAccountStarted},
)
def check_cloud_account(request: HttpRequest, account_id: str) -> HttpResponse:
    """Tries everything that the control plane does there, without doing it."""
    return prepared(actions.check(identity(request), account_id), status=202)
