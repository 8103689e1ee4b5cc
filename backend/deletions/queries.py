"""Reading deletion requests."""

from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from backend.accounts.models import DeletionRequest
from backend.accounts.queries import Identity, require
from backend.accounts.second_person import OPEN
from backend.accounts.states import DeletionRequestState, DeletionTarget, Permission
from backend.clusters.reach import of_clusters
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed
from backend.deletions.states import NEEDED, TO_SEE, reason_against_confirming, reason_against_withdrawing

_COLUMNS = (
    "id",
    "target_type",
    "target_id",
    "target_name",
    "state",
    "requested_by",
    "requested_by_user_id",
    "confirmed_by",
    "created_at",
    "expires_at",
    "confirmed_at",
    "closed_at",
    "closed_by",
)


def requests(who: Identity) -> QuerySet[DeletionRequest]:
    """Those that the caller may see: of clusters within reach, and of settings. Raises Forbidden."""
    seen = [target for target, permission in TO_SEE.items() if permission in who.permissions]
    if not seen:
        require(who, Permission.CLUSTERS_READ)
    return DeletionRequest.objects.filter(of_clusters(who), organisation_id=who.organisation_id, target_type__in=seen)


def deletion_request_not_found() -> NotFound:
    return NotFound(
        "deletion_request_not_found",
        "There is no such deletion request.",
        hint="List the deletion requests to see their ids.",
    )


def list_requests(who: Identity, query: PageQuery, *, target_id: str | None, only_open: bool) -> dict[str, Any]:
    """Newest first. Raises Forbidden."""
    rows = requests(who)
    if target_id is not None:
        rows = rows.filter(target_id=target_id)
    if only_open:
        rows = rows.filter(Q(state__in=OPEN, expires_at__gt=timezone.now()))
    return page(rows.values(*_COLUMNS), query, lambda row: _shape(who, row))


def get_request(who: Identity, request_id: str) -> dict[str, Any]:
    """Raises Forbidden, NotFound."""
    row = requests(who).filter(id=request_id).values(*_COLUMNS).first()
    if row is None:
        raise deletion_request_not_found()
    return _shape(who, row)


def _shape(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    state = state_now(row["state"], expired=row["expires_at"] <= timezone.now())
    may = NEEDED[DeletionTarget(row["target_type"])] in who.permissions
    own = row.pop("requested_by_user_id") == who.user_id
    person = who.service_account_id is None
    return row | {
        "state": state,
        "confirmed_by": row["confirmed_by"] or None,
        "closed_by": row["closed_by"] or None,
        "allowed_actions": [
            allowed(
                "confirm_deletion_request",
                reason_against_confirming(state, may=may, own=own, person=person),
            ),
            allowed("withdraw_deletion_request", reason_against_withdrawing(state, may=may)),
        ],
    }


def state_now(state: str, *, expired: bool) -> DeletionRequestState:
    """Rows that nobody came back to say what they were before they expired."""
    return DeletionRequestState.EXPIRED if expired and state in OPEN else DeletionRequestState(state)
