"""Accounts on the wire."""

import ipaddress
from datetime import datetime
from typing import Annotated, Literal, Self

from ninja import Schema
from pydantic import AfterValidator, EmailStr, Field, StringConstraints, model_validator

from backend.accounts.states import Permission, Role
from backend.core.schemas import AllowedAction, Line, RequestBody

# Enumerations arrive as JSON strings, which exact types would refuse.
RoleWord = Annotated[Role, Field(strict=False)]
Scope = Annotated[Permission, Field(strict=False)]


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as problem:
        raise ValueError(f"must be a range of addresses such as 203.0.113.0/24 ({problem})") from None


Network = Annotated[str, StringConstraints(max_length=64), AfterValidator(_network)]
RoleId = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[a-z0-9_]+$")]
Secret = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{20,100}$")]
# Not a Line: a password may be anything but absurdly long; NUL is refused because Postgres would.
Password = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]


class SessionUser(Schema):
    id: str
    email: str
    name: str


class OrganisationRef(Schema):
    id: str
    name: str
    slug: str


class SessionOrganisation(Schema):
    id: str
    name: str
    role: Role


class ServiceAccountRef(Schema):
    id: str
    name: str


class CustomRoleRef(Schema):
    id: str
    name: str


_CUSTOM_ROLE = Field(description="Which one, where the role is custom; null for the built-in roles")
_TAGS = Field(description="It is only for clusters that have one of the values of each of these tags; null: for all")


class Session(Schema):
    authenticated: bool
    user: SessionUser | None = Field(description="null when nobody is signed in")
    service_account: ServiceAccountRef | None = Field(
        description="Whose API token it is, where it is no person's; user is null then"
    )
    organisation: OrganisationRef | None = Field(description="The one this request is about")
    role: Role | None
    custom_role: CustomRoleRef | None = _CUSTOM_ROLE
    tags: dict[str, list[str]] | None = _TAGS
    permissions: list[Permission]
    organisations: list[SessionOrganisation] = Field(description="Every organisation the user belongs to")
    csrf_token: str = Field(description="Send it in X-CSRFToken with every write of this session")


class Organisation(Schema):
    id: str
    name: str
    slug: str
    created_at: datetime


class Member(Schema):
    id: str
    user_id: str
    email: str
    name: str
    role: Role
    custom_role: CustomRoleRef | None = _CUSTOM_ROLE
    created_at: datetime
    allowed_actions: list[AllowedAction]


class MemberPage(Schema):
    items: list[Member]
    next_cursor: str | None


class RoleChoice(RequestBody):
    role: RoleWord
    custom_role_id: RoleId | None = Field(None, description="Needed for the role custom, and only for it")

    @model_validator(mode="after")
    def _custom_is_named(self) -> Self:
        if (self.role is Role.CUSTOM) is (self.custom_role_id is None):
            raise ValueError("custom_role_id is needed for the role custom, and only for it")
        return self


class MemberChange(RoleChoice):
    pass


class Invitation(Schema):
    id: str
    email: str
    role: Role
    custom_role: CustomRoleRef | None = _CUSTOM_ROLE
    state: Literal["open", "accepted", "revoked", "expired"]
    created_by: str | None
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None
    revoked_at: datetime | None
    allowed_actions: list[AllowedAction]


class InvitationPage(Schema):
    items: list[Invitation]
    next_cursor: str | None


class InvitationOrder(RoleChoice):
    email: EmailStr = Field(max_length=254)


class InvitationCreated(Invitation):
    url: str = Field(description="The link to send to the person. Shown once")


class InvitationOffer(Schema):
    email: str
    role: Role
    custom_role: CustomRoleRef | None = _CUSTOM_ROLE
    organisation_name: str
    expires_at: datetime
    has_account: bool = Field(description="true: accept with the password of the existing account")


class InvitationAcceptance(RequestBody):
    secret: Secret = Field(description="The part of the link after '#'")
    name: Line = Field("", max_length=100, description="Only used when the account is new")
    password: Password = Field(description="12 characters or more for a new account, else the account's password")


class OrganisationName(Schema):
    id: str
    name: str


class InvitationAccepted(Schema):
    email: str
    organisation: OrganisationName


class Token(Schema):
    id: str
    name: str
    hint: str = Field(description="The last characters of the token, to recognise it by")
    scopes: list[Permission]
    state: Literal["active", "expired", "revoked"]
    source_ranges: list[str] = Field(description="Addresses it may be used from, as CIDRs; empty: any")
    user_id: str | None = Field(description="Whose it is; null for a service account's")
    user_email: str | None
    service_account: ServiceAccountRef | None = Field(description="Whose it is; null for a person's")
    made_by: str | None = Field(description="Who made it; null: before this was written down")
    created_at: datetime
    expires_at: datetime | None = Field(description="null: never")
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute")
    allowed_actions: list[AllowedAction]


class TokenPage(Schema):
    items: list[Token]
    next_cursor: str | None


class TokenOrder(RequestBody):
    name: Line = Field(min_length=1, max_length=100)
    scopes: list[Scope] = Field(min_length=1, max_length=len(Permission))
    expires_in_days: int | None = Field(
        None, ge=1, le=3650, description="Days; null: never. Left out: as the organisation's access settings say"
    )
    source_ranges: list[Network] = Field(
        [], max_length=20, description="Addresses it may be used from, as CIDRs: 203.0.113.0/24; empty: any"
    )
    service_account_id: RoleId | None = Field(None, description="Whose it is to be; null: the caller's own")


class TokenCreated(Schema):
    token: Token
    secret: str = Field(description="The token itself, rmt_... Shown once")
