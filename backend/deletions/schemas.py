"""Deletion requests on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.accounts.states import DeletionRequestState, DeletionTarget
from backend.core.schemas import AllowedAction, NextCursor, RequestBody

TargetId = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}_[0-9a-hjkmnp-tv-z]{26}$")]


class DeletionRequestOrder(RequestBody):
    target_type: DeletionTarget = Field(
        strict=False,
        description="What is to go for good: a cluster, a backup, or, as access_settings, the rule that it takes two",
        examples=["cluster"],
    )
    target_id: TargetId = Field(
        description="Id of the cluster or backup; of the organisation for access_settings",
        examples=["clu_01hzy6q3v8k2m4n5p7r9s0t1w2"],
    )


class DeletionRequestFilter(Schema):
    target_id: TargetId | None = Field(None, description="Only those about this cluster, backup or organisation")
    open: bool = Field(False, description="true: only those that wait, or are confirmed and not used yet")


class DeletionRequest(Schema):
    id: str = Field(description="dlr_…; confirm_deletion_request and withdraw_deletion_request take it")
    target_type: DeletionTarget = Field(
        description="cluster or backup; access_settings: that deletes do not need two people any more"
    )
    target_id: str = Field(description="Id of the cluster or backup; of the organisation for access_settings")
    target_name: str = Field(
        description="Name of the cluster, also of the one that a backup is of; of the organisation"
    )
    state: DeletionRequestState = Field(
        description="pending: somebody else has to confirm it. confirmed: the delete goes through when it is sent, "
        "once. done: it was sent, or the target has gone otherwise. withdrawn, expired: nothing came of it"
    )
    requested_by: str = Field(
        description="Who asked: e-mail address, with the API token's name in brackets if one was used"
    )
    confirmed_by: str | None = Field(description="Who confirmed it; null: nobody yet")
    created_at: datetime = Field(description="When it was asked for, UTC")
    expires_at: datetime = Field(description="24 hours later, UTC: until then it has to be confirmed and used")
    confirmed_at: datetime | None = Field(description="UTC; null: not confirmed")
    closed_at: datetime | None = Field(description="When it was used or withdrawn, UTC; null: neither")
    closed_by: str | None = Field(description="Who used or withdrew it; null: nobody")
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may confirm_deletion_request and withdraw_deletion_request, and why not"
    )


class DeletionRequestPage(Schema):
    items: list[DeletionRequest] = Field(description="Those that the caller may see, newest first")
    next_cursor: NextCursor
