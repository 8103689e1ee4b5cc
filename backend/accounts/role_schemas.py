"""Roles of an organisation on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.accounts.schemas import Scope
from backend.accounts.states import Permission, Role
from backend.core.schemas import AllowedAction, Line, RequestBody

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
    role: Role
    description: str
    permissions: list[Permission]


class PermissionChoice(Schema):
    permission: Permission
    by_tags: bool = Field(description="Whether a role that is limited by tags can hold it")
    reason: str | None = Field(description="Why not; null when it can")


class RoleChoices(Schema):
    built_in: list[BuiltInRole]
    permissions: list[PermissionChoice] = Field(description="What a role can be made of")


class OrganisationRole(Schema):
    id: str
    name: str
    description: str
    permissions: list[Permission]
    tags: dict[str, list[str]] | None = Field(
        description="It is only for clusters that have one of the values of each of these tags; null: for all"
    )
    created_by: str
    created_at: datetime
    members: int = Field(description="How many people hold it")
    service_accounts: int = Field(description="How many service accounts hold it")
    invitations: int = Field(description="How many open invitations offer it")
    allowed_actions: list[AllowedAction]


class OrganisationRolePage(Schema):
    items: list[OrganisationRole]
    next_cursor: str | None


class OrganisationRoleOrder(RequestBody):
    name: _Name = Field(description="Unique in the organisation")
    description: Line = Field("", max_length=300)
    permissions: _Permissions
    tags: RoleTags | None = None


class OrganisationRoleChange(RequestBody):
    """What is left out stays as it is."""

    name: _Name | None = None
    description: Line | None = Field(None, max_length=300)
    permissions: _Permissions | None = None
    tags: RoleTags | None = Field(None, description="null: for all clusters")
