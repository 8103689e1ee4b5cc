"""Accounts on the wire."""

from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import EmailStr, Field, StringConstraints

from backend.accounts.states import Permission, Role
from backend.core.schemas import AllowedAction, Line, RequestBody

# Enumerations arrive as JSON strings, which exact types would refuse.
RoleWord = Annotated[Role, Field(strict=False)]
Scope = Annotated[Permission, Field(strict=False)]
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


class Session(Schema):
    authenticated: bool
    user: SessionUser | None = Field(description="null when nobody is signed in")
    organisation: OrganisationRef | None = Field(description="The one this request is about")
    role: Role | None
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
    created_at: datetime
    allowed_actions: list[AllowedAction]


class MemberPage(Schema):
    items: list[Member]
    next_cursor: str | None


class MemberChange(RequestBody):
    role: RoleWord


class Invitation(Schema):
    id: str
    email: str
    role: Role
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


class InvitationOrder(RequestBody):
    email: EmailStr = Field(max_length=254)
    role: RoleWord


class InvitationCreated(Invitation):
    url: str = Field(description="The link to send to the person. Shown once")


class InvitationOffer(Schema):
    email: str
    role: Role
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
    user_id: str
    user_email: str
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
    expires_in_days: int | None = Field(None, ge=1, le=3650, description="Days; null: never expires")


class TokenCreated(Schema):
    token: Token
    secret: str = Field(description="The token itself, rmt_... Shown once")
