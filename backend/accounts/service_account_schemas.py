"""Service accounts and access settings on the wire."""

from datetime import datetime
from typing import Annotated, Self

from ninja import Schema
from pydantic import EmailStr, Field, StringConstraints, model_validator

from backend.accounts.schemas import CustomRoleRef, RoleChoice, RoleId, RoleWord
from backend.accounts.states import Role
from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody

_Name = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class ServiceAccount(Schema):
    id: str = Field(description="sva_…; create_token takes it as service_account_id")
    name: str = Field(description="Unique in the organisation")
    description: str = Field(description="What it is for, in the words of who made it; may be empty")
    contact: str = Field(description="E-mail address of whoever answers for it")
    role: Role = Field(description="admin, operator, viewer, or custom: one that the organisation made; never owner")
    custom_role: CustomRoleRef | None = Field(description="Which one, where the role is custom")
    created_by: str = Field(
        description="Who made it: e-mail address or service account, with the API token's name in brackets if "
        "one was used"
    )
    created_at: datetime = Field(description="When it was made, UTC")
    disabled_at: datetime | None = Field(description="null: it is not")
    tokens: int = Field(description="How many API tokens of it work")
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may update_service_account and create_token for it, and why not"
    )


class ServiceAccountPage(Schema):
    items: list[ServiceAccount] = Field(description="Disabled ones, too; newest first")
    next_cursor: NextCursor


class ServiceAccountOrder(RoleChoice):
    name: _Name = Field(description="Unique in the organisation, whatever its case", examples=["deployer"])
    description: Line = Field("", max_length=300, description="What it is for, one line of 300 characters at most")
    contact: EmailStr = Field(
        max_length=254, description="E-mail address of whoever answers for it", examples=["platform@example.com"]
    )


class ServiceAccountChange(RequestBody):
    """What is left out stays as it is."""

    name: _Name | None = Field(None, description="Unique in the organisation, whatever its case; null: stays")
    description: Line | None = Field(
        None, max_length=300, description="What it is for, one line of 300 characters at most; null: stays"
    )
    contact: EmailStr | None = Field(
        None,
        max_length=254,
        description="E-mail address of whoever answers for it, kept in lower case; null: stays",
        examples=["platform@example.com"],
    )
    role: RoleWord | None = Field(
        None,
        description="A built-in role but owner, or custom with custom_role_id; none that holds more than the "
        "caller does. null: stays",
    )
    custom_role_id: RoleId | None = Field(
        None, description="Needed for the role custom, and only for it", examples=["rol_01hzy6q3v8k2m4n5p7r9s0t1w2"]
    )
    disabled: bool | None = Field(None, description="true: its tokens end, for good")

    @model_validator(mode="after")
    def _custom_is_named(self) -> Self:
        if (self.role is Role.CUSTOM) is (self.custom_role_id is None):
            raise ValueError("custom_role_id is needed for the role custom, and only for it")
        return self


class AccessSettings(Schema):
    token_days_default: int | None = Field(
        description="Days that an API token lives when its order does not say; null: token_days_max, or for ever "
        "where that is null, too"
    )
    token_days_max: int | None = Field(description="Days that API tokens may live at most; null: for ever")
    deletes_need_two: bool = Field(
        description="Whether clusters and backups are deleted only when a second person has confirmed it "
        "(create_deletion_request)"
    )
    password_sign_in: bool = Field(
        description="Whether members use the organisation signed in by password, too; false: only owners do, everybody "
        "else through an identity provider"
    )
    second_factor_required: bool = Field(
        description="Whether console sessions without a second factor get 403 second_factor_needed"
    )


class AccessSettingsChange(RequestBody):
    """What is left out stays as it is."""

    token_days_default: int | None = Field(
        None,
        ge=1,
        le=3650,
        description="Days that an API token lives when its order does not say, not more than token_days_max; "
        "null: as long as that, or for ever",
        examples=[90],
    )
    token_days_max: int | None = Field(
        None,
        ge=1,
        le=3650,
        description="Days that API tokens may live at most; null: for ever. Those that are there keep their time",
        examples=[365],
    )
    deletes_need_two: bool = Field(
        False,
        description="true: clusters and backups are deleted only when a second person has confirmed it. false again "
        "takes a second person, too: create_deletion_request with target_type access_settings; left out: stays",
    )
    password_sign_in: bool = Field(
        True,
        description="false: members have to sign in through an identity provider, from their next request on; owners "
        "may sign in by password all the same, and API tokens go on. Left out: stays",
    )
    second_factor_required: bool = Field(
        False,
        description="true: console sessions in which no second factor was proved get 403 second_factor_needed, at "
        "once; who turns it on must have one. API tokens go on; left out: stays",
    )
