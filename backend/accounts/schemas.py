"""Accounts on the wire."""

import ipaddress
from datetime import datetime
from typing import Annotated, Literal, Self

from ninja import Schema
from pydantic import AfterValidator, EmailStr, Field, StringConstraints, model_validator

from backend.accounts.states import MemberSource, Permission, Role
from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody

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
    id: str = Field(description="usr_…; the same in all organisations of the person")
    email: str = Field(description="Address that they sign in with")
    name: str = Field(description="As they wrote it themselves; may be empty")


class OrganisationRef(Schema):
    id: str = Field(description="org_…; the header Ringmaster-Organisation takes it")
    name: str = Field(description="For people; need not be unique")
    slug: str = Field(description="Short name without spaces, 63 characters at most; unique in the installation")


class SessionOrganisation(Schema):
    id: str = Field(description="org_…; the header Ringmaster-Organisation takes it")
    name: str = Field(description="For people; need not be unique")
    role: Role = Field(description="What the user is there; custom: a role that the organisation made")


class ServiceAccountRef(Schema):
    id: str = Field(description="sva_…; get_service_account takes it")
    name: str = Field(description="Unique in the organisation")


class IdentityProviderRef(Schema):
    id: str = Field(description="idp_…; create_group_role takes it")
    name: str = Field(description="On its button of the sign-in page; unique in the installation")


class CustomRoleRef(Schema):
    id: str = Field(description="rol_…; get_organisation_role takes it")
    name: str = Field(description="Unique in the organisation")


_CUSTOM_ROLE = Field(description="Which one, where the role is custom; null for the built-in roles")
_TAGS = Field(description="It is only for clusters that have one of the values of each of these tags; null: for all")


class Session(Schema):
    authenticated: bool = Field(description="false: nobody is signed in, and all but csrf_token is null or empty")
    user: SessionUser | None = Field(description="null when nobody is signed in")
    service_account: ServiceAccountRef | None = Field(
        description="Whose API token it is, where it is no person's; user is null then"
    )
    without_organisation: SessionUser | None = Field(
        description="Who signed in and belongs to no organisation: authenticated is false then, and user null"
    )
    organisation: OrganisationRef | None = Field(description="The one this request is about")
    role: Role | None = Field(description="In this organisation; null when nobody is signed in")
    custom_role: CustomRoleRef | None = _CUSTOM_ROLE
    tags: dict[str, list[str]] | None = _TAGS
    permissions: list[Permission] = Field(
        description="What this request may do: what the role holds and, with an API token, its scopes allow; sorted"
    )
    organisations: list[SessionOrganisation] = Field(description="Every organisation the user belongs to")
    second_factor: bool = Field(
        description="Whether a second factor was proved in this console session; false for API tokens"
    )
    second_factor_needed: bool = Field(
        description="true: the organisation requires a second factor, so that all else answers this session 403 "
        "second_factor_needed until one is set up"
    )
    csrf_token: str = Field(description="Send it in X-CSRFToken with every write of this session")


class Organisation(Schema):
    id: str = Field(description="org_…; the header Ringmaster-Organisation takes it")
    name: str = Field(description="For people; need not be unique")
    slug: str = Field(description="Short name without spaces, 63 characters at most; unique in the installation")
    created_at: datetime = Field(description="When it was made, UTC")


class Member(Schema):
    id: str = Field(description="mem_…, of the membership; change_member_role and remove_member take it")
    user_id: str = Field(description="usr_…, of the person; the same in all their organisations")
    email: str = Field(description="Address that they sign in with")
    name: str = Field(description="As they wrote it themselves; may be empty")
    role: Role = Field(description="owner, admin, operator, viewer, or custom: one that the organisation made")
    custom_role: CustomRoleRef | None = _CUSTOM_ROLE
    source: MemberSource = Field(
        description="invitation: a person invited them. groups: their role follows their groups at an identity "
        "provider, at each sign-in (list_group_roles)"
    )
    identity_provider: IdentityProviderRef | None = Field(
        description="Whose groups the membership follows; null where it is by invitation"
    )
    second_factor: bool = Field(
        description="Whether they have set one up here; what an identity provider asks of them is not known"
    )
    active: bool = Field(
        description="false: the directory of their identity provider deactivated the account. It signs in nowhere and "
        "its API tokens are refused, until the directory activates it, or the operator unlinks it from the provider"
    )
    created_at: datetime = Field(description="When they joined, UTC")
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may change_member_role, remove_member and reset_member_second_factor, and "
        "why not"
    )


class MemberFilter(Schema):
    """The query parameters of list_members."""

    active: bool | None = Field(
        None, description="true: only members who can sign in; false: only those whose account is deactivated"
    )


class MemberPage(Schema):
    items: list[Member] = Field(description="Newest first")
    next_cursor: NextCursor


class RoleChoice(RequestBody):
    role: RoleWord = Field(
        description="A built-in role, or custom with custom_role_id. Nobody gives a role that holds more than "
        "they do; only owners make owners, and service accounts are none"
    )
    custom_role_id: RoleId | None = Field(
        None, description="Needed for the role custom, and only for it", examples=["rol_01hzy6q3v8k2m4n5p7r9s0t1w2"]
    )

    @model_validator(mode="after")
    def _custom_is_named(self) -> Self:
        if (self.role is Role.CUSTOM) is (self.custom_role_id is None):
            raise ValueError("custom_role_id is needed for the role custom, and only for it")
        return self


class MemberChange(RoleChoice):
    pass


class Invitation(Schema):
    id: str = Field(description="inv_…; revoke_invitation takes it")
    email: str = Field(description="Whom it is for, in lower case")
    role: Role = Field(
        description="What they become: owner, admin, operator, viewer, or custom: one that the organisation made"
    )
    custom_role: CustomRoleRef | None = _CUSTOM_ROLE
    state: Literal["open", "accepted", "revoked", "expired"] = Field(
        description="open: the link works. expired: its time is over. accepted and revoked: it ended before"
    )
    created_by: str | None = Field(
        description="E-mail address of who invited; null: a service account did, or the person is gone"
    )
    created_at: datetime = Field(description="When the link was made, UTC")
    expires_at: datetime = Field(description="Until when the link works, UTC: seven days")
    accepted_at: datetime | None = Field(description="When they joined, UTC; null: they did not by this link")
    revoked_at: datetime | None = Field(
        description="When the link was made useless, UTC: by somebody, or, where it had expired, by a newer one; "
        "null: it was not"
    )
    allowed_actions: list[AllowedAction] = Field(description="Whether the caller may revoke_invitation, and why not")


class InvitationPage(Schema):
    items: list[Invitation] = Field(description="Open and closed ones, newest first")
    next_cursor: NextCursor


class InvitationOrder(RoleChoice):
    email: EmailStr = Field(
        max_length=254,
        description="Of the person, who must be no member and have no open invitation yet; kept in lower case",
        examples=["jane@example.com"],
    )


class InvitationCreated(Invitation):
    url: str = Field(description="The link to send to the person. Shown once")


class InvitationOffer(Schema):
    email: str = Field(description="Whom it is for: the address of the account that joins")
    role: Role = Field(
        description="What they become: owner, admin, operator, viewer, or custom: one that the organisation made"
    )
    custom_role: CustomRoleRef | None = _CUSTOM_ROLE
    organisation_name: str = Field(description="Which organisation they join")
    expires_at: datetime = Field(description="Until when the link works, UTC")
    has_account: bool = Field(description="true: accept with the password of the existing account")


class InvitationAcceptance(RequestBody):
    secret: Secret = Field(description="The part of the link after '#'")
    name: Line = Field("", max_length=100, description="Only used when the account is new")
    password: Password | None = Field(
        None,
        description="12 characters or more for a new account, else the account's password; null: whom it is for is "
        "signed in",
    )


class OrganisationName(Schema):
    id: str = Field(description="org_…; the header Ringmaster-Organisation takes it")
    name: str = Field(description="For people; need not be unique")


class InvitationAccepted(Schema):
    email: str = Field(description="Of the account that joined: the one to sign in with")
    organisation: OrganisationName = Field(description="Which they are a member of now")


class Token(Schema):
    id: str = Field(description="tok_…; revoke_token takes it")
    name: str = Field(
        description="As whoever made it called it; need not be unique. The audit log has it beside the holder"
    )
    hint: str = Field(description="The last characters of the token, to recognise it by")
    scopes: list[Permission] = Field(description="What it may do as far as its holder's role holds it, too; sorted")
    state: Literal["active", "expired", "revoked"] = Field(
        description="active, expired (its time is over) or revoked; only active ones work"
    )
    source_ranges: list[str] = Field(description="Addresses it may be used from, as CIDRs; empty: any")
    user_id: str | None = Field(description="Whose it is; null for a service account's")
    user_email: str | None = Field(description="E-mail address of that person; null for a service account's")
    service_account: ServiceAccountRef | None = Field(description="Whose it is; null for a person's")
    made_by: str | None = Field(description="Who made it; null: before this was written down")
    created_at: datetime = Field(description="When it was made, UTC")
    expires_at: datetime | None = Field(description="null: never")
    revoked_at: datetime | None = Field(
        description="When it was ended, UTC: by somebody, or with the membership or service account; null: it was not"
    )
    last_used_at: datetime | None = Field(description="To the minute")
    allowed_actions: list[AllowedAction] = Field(description="Whether the caller may revoke_token, and why not")


class TokenPage(Schema):
    items: list[Token] = Field(description="Newest first")
    next_cursor: NextCursor


class TokenOrder(RequestBody):
    name: Line = Field(
        min_length=1,
        max_length=100,
        description="To recognise it by, here and in the audit log; need not be unique",
        examples=["ci"],
    )
    scopes: list[Scope] = Field(
        min_length=1,
        max_length=len(Permission),
        description="What it may do as far as its holder's role holds it, too; nothing that the caller may not",
        examples=[["clusters:read", "operations:write"]],
    )
    expires_in_days: int | None = Field(
        None, ge=1, le=3650, description="Days; null: never. Left out: as the organisation's access settings say"
    )
    source_ranges: list[Network] = Field(
        [],
        max_length=20,
        description="Addresses it may be used from, as CIDRs: 203.0.113.0/24; empty: any",
        examples=[["203.0.113.0/24"]],
    )
    service_account_id: RoleId | None = Field(
        None, description="Whose it is to be; null: the caller's own", examples=["sva_01hzy6q3v8k2m4n5p7r9s0t1w2"]
    )


class TokenCreated(Schema):
    token: Token = Field(description="What is known of it from now on, without the secret")
    secret: str = Field(description="The token itself, rmt_... Shown once")
