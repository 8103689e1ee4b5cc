"""Identity providers and the roles of their groups on the wire."""

from datetime import datetime
from typing import Annotated, Self

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from backend.accounts.schemas import CustomRoleRef, IdentityProviderRef, RoleChoice, RoleId, RoleWord
from backend.accounts.states import Role
from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody

_Group = Annotated[Line, StringConstraints(min_length=1, max_length=255)]
_RANK = "Who is in several groups has the role of the smallest rank, of those alike of the one that was made first"


class IdentityProviders(Schema):
    items: list[IdentityProviderRef] = Field(description="Those that people can sign in through, by name")


class GroupRole(Schema):
    id: str = Field(description="grl_…; update_group_role and delete_group_role take it")
    identity_provider: IdentityProviderRef = Field(description="Whose group it is")
    group: str = Field(description="As the provider calls it in the claim of groups; upper and lower case count")
    role: Role = Field(description="What its people are: owner, admin, operator, viewer, or custom")
    custom_role: CustomRoleRef | None = Field(
        description="Which one, where the role is custom; null for the built-in roles"
    )
    rank: int = Field(description=_RANK)
    created_by: str = Field(
        description="Who made it: e-mail address or service account, with the API token's name in brackets if one was "
        "used"
    )
    created_at: datetime = Field(description="When it was made, UTC")
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may update_group_role and delete_group_role, and why not"
    )


class GroupRolePage(Schema):
    items: list[GroupRole] = Field(description="Newest first")
    next_cursor: NextCursor


class GroupRoleOrder(RoleChoice):
    identity_provider_id: RoleId = Field(
        description="Whose group it is, of those that list_identity_providers lists",
        examples=["idp_01hzy6q3v8k2m4n5p7r9s0t1w2"],
    )
    group: _Group = Field(
        description="As the provider calls it in the claim of groups: a name or an id; upper and lower case count",
        examples=["database-team"],
    )
    rank: int = Field(100, ge=1, le=10_000, description=_RANK)


class GroupRoleChange(RequestBody):
    """What is left out stays as it is."""

    role: RoleWord | None = Field(
        None,
        description="A built-in role, or custom with custom_role_id; nothing that holds more than the caller does; "
        "null: stays",
    )
    custom_role_id: RoleId | None = Field(
        None, description="Needed for the role custom, and only for it", examples=["rol_01hzy6q3v8k2m4n5p7r9s0t1w2"]
    )
    rank: int | None = Field(None, ge=1, le=10_000, description=f"{_RANK}; null: stays")

    @model_validator(mode="after")
    def _custom_is_named(self) -> Self:
        if (self.role is Role.CUSTOM) is (self.custom_role_id is None):
            raise ValueError("custom_role_id is needed for the role custom, and only for it")
        return self
