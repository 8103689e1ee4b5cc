"""Service accounts and access settings on the wire."""

from datetime import datetime
from typing import Annotated, Self

from ninja import Schema
from pydantic import EmailStr, Field, StringConstraints, model_validator

from backend.accounts.schemas import CustomRoleRef, RoleChoice, RoleId, RoleWord
from backend.accounts.states import Role
from backend.core.schemas import AllowedAction, Line, RequestBody

_Name = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class ServiceAccount(Schema):
    id: str
    name: str
    description: str
    contact: str = Field(description="E-mail address of whoever answers for it")
    role: Role
    custom_role: CustomRoleRef | None = Field(description="Which one, where the role is custom")
    created_by: str
    created_at: datetime
    disabled_at: datetime | None = Field(description="null: it is not")
    tokens: int = Field(description="How many API tokens of it work")
    allowed_actions: list[AllowedAction]


class ServiceAccountPage(Schema):
    items: list[ServiceAccount]
    next_cursor: str | None


class ServiceAccountOrder(RoleChoice):
    name: _Name = Field(description="Unique in the organisation")
    description: Line = Field("", max_length=300)
    contact: EmailStr = Field(max_length=254, description="E-mail address of whoever answers for it")


class ServiceAccountChange(RequestBody):
    """What is left out stays as it is."""

    name: _Name | None = None
    description: Line | None = Field(None, max_length=300)
    contact: EmailStr | None = Field(None, max_length=254)
    role: RoleWord | None = None
    custom_role_id: RoleId | None = None
    disabled: bool | None = Field(None, description="true: its tokens end, for good")

    @model_validator(mode="after")
    def _custom_is_named(self) -> Self:
        if (self.role is Role.CUSTOM) is (self.custom_role_id is None):
            raise ValueError("custom_role_id is needed for the role custom, and only for it")
        return self


class AccessSettings(Schema):
    token_days_default: int | None = Field(description="Days that an API token lives when its order does not say")
    token_days_max: int | None = Field(description="Days that API tokens may live at most; null: for ever")


class AccessSettingsChange(RequestBody):
    """What is left out stays as it is."""

    token_days_default: int | None = Field(None, ge=1, le=3650)
    token_days_max: int | None = Field(None, ge=1, le=3650)
