"""What the page of API tokens shows."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from backend.accounts.models import ApiToken, Membership
from backend.accounts.queries import Identity
from backend.accounts.states import Permission, Role, reason_against_revoking_token
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed


def visible_tokens(who: Identity) -> QuerySet[ApiToken]:
    """Everybody sees their own tokens; who may change members sees those of the whole organisation."""
    own = Q(user_id=who.user_id) | Q(service_account_id=who.user_id)
    mine = Q() if Permission.MEMBERS_WRITE in who.permissions else own
    return ApiToken.objects.filter(mine, organisation_id=who.organisation_id)


def _tokens(who: Identity) -> QuerySet[ApiToken, Any]:
    role = Membership.objects.filter(organisation_id=OuterRef("organisation_id"), user_id=OuterRef("user_id"))
    return (
        visible_tokens(who)
        .annotate(owner_role=Subquery(role.values("role")[:1]))
        .values(
            "id",
            "name",
            "hint",
            "scopes",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
            "source_ranges",
            "made_by",
            "user_id",
            "service_account_id",
            "service_account__name",
            "owner_role",
            user_email=F("user__email"),
        )
    )


def _token(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    role = Role(row.pop("owner_role") or Role.VIEWER)
    account_id, account_name = row.pop("service_account_id"), row.pop("service_account__name")
    row["service_account"] = None if account_id is None else {"id": account_id, "name": account_name}
    row["made_by"] = row["made_by"] or None
    reason: str | None
    if row["revoked_at"]:
        state, reason = "revoked", "The token is already revoked."
    else:
        state = "expired" if row["expires_at"] and row["expires_at"] <= timezone.now() else "active"
        reason = reason_against_revoking_token(
            who.role, Permission.TOKENS_WRITE in who.permissions, role, who.user_id in (row["user_id"], account_id)
        )
    return row | {"state": state, "allowed_actions": [allowed("revoke_token", reason)]}


def list_tokens(who: Identity, query: PageQuery) -> dict[str, Any]:
    return page(_tokens(who), query, lambda row: _token(who, row))


def get_token(who: Identity, token_id: str) -> dict[str, Any]:
    row = _tokens(who).filter(id=token_id).first()
    if row is None:
        raise NotFound("token_not_found", "There is no such API token.", hint="List the tokens to see their ids.")
    return _token(who, row)


def token_use_is_stale(last_used_at: datetime | None) -> bool:
    """``last_used_at`` is written at most once a minute, so that reading does not mean writing."""
    return last_used_at is None or last_used_at < timezone.now() - timedelta(minutes=1)
