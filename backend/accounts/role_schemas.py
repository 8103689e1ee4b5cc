"""Roles of an organisation on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.accounts.schemas import Scope
from backend.accounts.states import Permission, Role
from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody

# As clusters carry them (backend/clusters/schemas.py).
_Key = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]
_Values = Annotated[list[Annotated[Line, StringConstraints(max_length=128)]], Field(min_length=1, max_length=20)]
RoleTags = Annotated[
    dict[_Key, _Values],
    Field(
        min_length=1,
        max_length=5,
        description='Only for clusters that have one of the values of each key: {"env": ["dev", "test"]}',
    ),
]
_Name = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]
_Permissions = Annotated[list[Scope], Field(min_length=1, max_length=len(Permission))]


class BuiltInRole(Schema):
    role: Role = Field(description="owner, admin, operator or viewer")
    description: str = Field(description="What it is for, a sentence for people")
    permissions: list[Permission] = Field(description="What it holds; sorted")


class PermissionChoice(Schema):
    permission: Permission = Field(description="Noun and verb: clusters:read")
    by_tags: bool = Field(description="Whether a role that is limited by tags can hold it")
    reason: str | None = Field(description="Why not; null when it can")


class RoleChoices(Schema):
    built_in: list[BuiltInRole] = Field(
        description="The roles that every organisation has: what they hold is the same everywhere"
    )
    permissions: list[PermissionChoice] = Field(description="What a role can be made of")


class OrganisationRole(Schema):
    id: str = Field(description="rol_…; members, invitations and service accounts take it as custom_role_id")
    name: str = Field(description="Unique in the organisation")
    description: str = Field(description="What it is for, in the words of who made it; may be empty")
    permissions: list[Permission] = Field(description="What its holders may do; sorted")
    tags: dict[str, list[str]] | None = Field(
        description="It is only for clusters that have one of the values of each of these tags; null: for all"
    )
    created_by: str = Field(
        description="Who made it: e-mail address or service account, with the API token's name in brackets if "
        "one was used"
    )
    created_at: datetime = Field(description="When it was made, UTC")
    members: int = Field(description="How many people hold it")
    service_accounts: int = Field(description="How many service accounts hold it")
    invitations: int = Field(description="How many open invitations offer it")
    group_roles: int = Field(description="How many groups of identity providers give it (list_group_roles)")
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may update_organisation_role and delete_organisation_role, and why not"
    )


class OrganisationRolePage(Schema):
    items: list[OrganisationRole] = Field(description="Those that the organisation made, newest first")
    next_cursor: NextCursor


class OrganisationRoleOrder(RequestBody):
    name: _Name = Field(
        description="Unique in the organisation, whatever its case, and none of a built-in role",
        examples=["Developers"],
    )
    description: Line = Field("", max_length=300, description="What it is for, one line of 300 characters at most")
    permissions: _Permissions = Field(
        description="What its holders may do, of those that get_role_choices lists; nothing that the caller does "
        "not hold",
        examples=[["clusters:read", "clusters:write", "operations:write"]],
    )
    tags: RoleTags | None = Field(
        None,
        description="It is only for clusters that have one of the values of each of these tags; null: for all",
        examples=[{"env": ["dev", "test"]}],
    )


class OrganisationRoleChange(RequestBody):
    """What is left out stays as it is."""

    name: _Name | None = Field(
        None, description="Unique in the organisation, whatever its case, and none of a built-in role; null: stays"
    )
    description: Line | None = Field(
        None, max_length=300, description="What it is for, one line of 300 characters at most; null: stays"
    )
    permissions: _Permissions | None = Field(
        None,
        description="In the place of those before; nothing that the caller does not hold; null: stays",
        examples=[["clusters:read", "operations:write"]],
    )
    tags: RoleTags | None = Field(
        None,
        description="In the place of those before; left out: stays; null: for all clusters",
        examples=[{"env": ["dev", "test"]}],
    )
