"""Access on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.access.checks import ENTRIES_LIMIT
from backend.access.states import ROLE_NAME
from backend.core.schemas import AllowedAction, Line, RequestBody
from backend.operations.schemas import Operation

RoleName = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=rf"^{ROLE_NAME}$")]
Resource = Annotated[str, StringConstraints(min_length=1, max_length=460, pattern=r"^[A-Za-z0-9_.@/*-]+$")]
Permission = Annotated[str, StringConstraints(max_length=16, pattern=r"^[A-Z_]+$")]


class AllowlistEntry(RequestBody):
    cidr: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[0-9A-Fa-f.:/]+$")] = Field(
        description="10.0.0.0/8, 192.0.2.7/32, 2001:db8::/32"
    )
    description: Annotated[Line, StringConstraints(max_length=100)] = ""


class AllowlistOrder(RequestBody):
    entries: list[AllowlistEntry] = Field(
        max_length=ENTRIES_LIMIT,
        description="Empty: from everywhere; where networks have a firewall, from within the cluster's network only",
    )


class PendingOperation(Schema):
    id: str
    kind: str
    state: str


class Allowlist(Schema):
    entries: list[AllowlistEntry] = Field(description="From where roles may sign in; empty: see effect")
    firewall: bool = Field(
        description="The provider's networks have a firewall: an empty list lets nobody in from outside of the network"
    )
    effect: str = Field(description="Who reaches the database with these entries, in one sentence")
    in_force: bool = Field(description="The database goes by exactly these entries")
    changed_at: datetime | None
    changed_by: str | None
    applied_at: datetime | None = Field(description="Since when entries are in force; null: never were any")
    pending_operation: PendingOperation | None = Field(description="Which is taking a list over")
    allowed_actions: list[AllowedAction]


class AllowlistStarted(Schema):
    allowlist: Allowlist
    operation: Operation


class Granted(Schema):
    resource: str = Field(description="data, data/KEYSPACE, data/KEYSPACE/TABLE, roles, roles/ROLE, functions ...")
    permission: str = Field(description="SELECT, MODIFY, CREATE ...")


class EffectivePermission(Granted):
    sources: list[str] = Field(description="The roles that hold it: this one, or those it is a member of")


class RolePassword(Schema):
    """A password that was made here."""

    set_at: datetime | None = Field(description="Since when the database has it; null: not yet")
    revealed_at: datetime | None = Field(description="When it was shown, which is done once")


class DatabaseRole(Schema):
    name: str
    can_login: bool
    is_superuser: bool
    superuser_through: str | None = Field(description="The role that makes it a superuser, who may do everything")
    is_administrator: bool = Field(description="The one whose password reveal_credentials shows")
    member_of: list[str]
    cidrs: list[str] = Field(description="From where it may sign in; empty: from everywhere")
    permissions: list[Granted] = Field(description="Its own")
    effective: list[EffectivePermission] = Field(description="With those it has through other roles")
    password: RolePassword | None
    expires_at: datetime | None = Field(description="When it is taken away by itself; null: it stays")
    allowed_actions: list[AllowedAction]


class DatabaseRoles(Schema):
    read_at: datetime | None = Field(description="When the database told this; null: it has not been asked yet")
    items: list[DatabaseRole] = Field(description="By name")
    pending_operation: PendingOperation | None = Field(description="Which is changing or reading roles")
    allowed_actions: list[AllowedAction]


class Grant(RequestBody):
    resource: Resource
    permissions: list[Permission] = Field(min_length=1, max_length=16)


class RoleOrder(RequestBody):
    name: RoleName
    can_login: bool = Field(True, description="Then a password is made, to be revealed once")
    permissions: list[Grant] = Field(default=[], max_length=100)
    member_of: list[RoleName] = Field(default=[], max_length=50)
    lifetime_minutes: int | None = Field(
        None,
        ge=5,
        le=7 * 24 * 60,
        description="It is taken away by itself after so many minutes, 5 to 10080; null: it stays",
    )


class RoleUpdate(RequestBody):
    can_login: bool


class GrantOrder(RequestBody):
    """Permissions on a resource, or membership of another role: one of the two."""

    resource: Resource | None = None
    permissions: list[Permission] = Field(default=[], max_length=16)
    member_of: RoleName | None = None


class Revocation(Schema):
    """The query parameters of revoke_role: what a grant_role said."""

    resource: Resource | None = None
    permissions: list[Permission] = Field(default=[], max_length=16, description="Repeat the parameter for several")
    member_of: RoleName | None = None


class RoleChangeStarted(Schema):
    operation: Operation


class RoleCredentials(Schema):
    username: str
    password: str = Field(description="Shown once")
