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
        description="10.0.0.0/8, 192.0.2.7/32, 2001:db8::/32", examples=["192.0.2.7/32"]
    )
    description: Annotated[Line, StringConstraints(max_length=100)] = Field(
        "", description="Whose network it is, for people; may be empty", examples=["Office in Vienna"]
    )


class AllowlistOrder(RequestBody):
    entries: list[AllowlistEntry] = Field(
        max_length=ENTRIES_LIMIT,
        description="Empty: from everywhere; where networks have a firewall, from within the cluster's network only",
    )


class PendingOperation(Schema):
    id: str = Field(description="Id of the operation: op_…")
    kind: str = Field(description="change_allowlist, change_access or read_access")
    state: str = Field(description="pending, running, blocked, paused or cancelling")


class Allowlist(Schema):
    entries: list[AllowlistEntry] = Field(description="From where roles may sign in; empty: see effect")
    firewall: bool = Field(
        description="The provider's networks have a firewall: an empty list lets nobody in from outside of the network"
    )
    effect: str = Field(description="Who reaches the database with these entries, in one sentence")
    in_force: bool = Field(description="The database goes by exactly these entries")
    changed_at: datetime | None = Field(description="When these entries were ordered; null: none were ever")
    changed_by: str | None = Field(
        description=(
            "Who ordered them: e-mail address or name of a service account, with the API token's name in "
            "brackets if one was used; null: none were ever"
        )
    )
    applied_at: datetime | None = Field(description="Since when entries are in force; null: never were any")
    pending_operation: PendingOperation | None = Field(description="Which is taking a list over")
    allowed_actions: list[AllowedAction] = Field(description="What the caller may do now: replace_allowlist")


class AllowlistStarted(Schema):
    allowlist: Allowlist = Field(description="As it was ordered")
    operation: Operation = Field(description="The operation that tells the nodes and firewalls")


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
    name: str = Field(description="As the database has it")
    can_login: bool = Field(description="Whether it can sign in")
    is_superuser: bool = Field(description="Itself; see superuser_through for what it is through other roles")
    superuser_through: str | None = Field(
        description=(
            "The role that makes it a superuser, who may do everything: itself or one that it is a member of; "
            "null: it is none"
        )
    )
    is_administrator: bool = Field(description="The one whose password reveal_credentials shows")
    member_of: list[str] = Field(
        description="Roles of which it is a member directly, by name; what it holds through them is in effective"
    )
    cidrs: list[str] = Field(description="From where it may sign in; empty: from everywhere")
    permissions: list[Granted] = Field(description="Its own")
    effective: list[EffectivePermission] = Field(description="With those it has through other roles")
    password: RolePassword | None = Field(description="null: its password was not made here, so it is not known")
    expires_at: datetime | None = Field(description="When it is taken away by itself; null: it stays")
    allowed_actions: list[AllowedAction] = Field(
        description=(
            "What the caller may do now: update_role, delete_role, grant_role, revoke_role, rotate_role_password "
            "and reveal_role_password"
        )
    )


class DatabaseRoles(Schema):
    read_at: datetime | None = Field(description="When the database told this; null: it has not been asked yet")
    items: list[DatabaseRole] = Field(description="By name")
    pending_operation: PendingOperation | None = Field(description="Which is changing or reading roles")
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do now: create_role and refresh_roles"
    )


class Grant(RequestBody):
    resource: Resource = Field(
        description=(
            "data (all keyspaces), data/KEYSPACE, data/KEYSPACE/* (all tables of it, not the keyspace itself), "
            "data/KEYSPACE/TABLE, roles, roles/ROLE, functions, functions/KEYSPACE"
        ),
        examples=["data/shop/orders"],
    )
    permissions: list[Permission] = Field(
        min_length=1,
        max_length=16,
        description=(
            "On data SELECT, MODIFY, CREATE, ALTER, DROP, AUTHORIZE, UNMASK, SELECT_MASKED; on roles CREATE, "
            "ALTER, DROP, AUTHORIZE, DESCRIBE; on functions EXECUTE, CREATE, ALTER, DROP, AUTHORIZE"
        ),
        examples=[["SELECT", "MODIFY"]],
    )


class RoleOrder(RequestBody):
    name: RoleName = Field(
        description=(
            "Unique in the database. A letter or underscore, then letters, digits and _ . @ -; not ringmaster or "
            "cassandra"
        ),
        examples=["shop_reader"],
    )
    can_login: bool = Field(True, description="Then a password is made, to be revealed once")
    permissions: list[Grant] = Field(
        default=[],
        max_length=100,
        description="What it may do itself; empty: nothing but what it gets through member_of",
    )
    member_of: list[RoleName] = Field(
        default=[], max_length=50, description="Roles whose permissions it gets; empty: none", examples=[["readers"]]
    )
    lifetime_minutes: int | None = Field(
        None,
        ge=5,
        le=7 * 24 * 60,
        description="It is taken away by itself after so many minutes, 5 to 10080; null: it stays",
    )


class RoleUpdate(RequestBody):
    can_login: bool = Field(description="Whether it can sign in; open connections stay open either way")


class GrantOrder(RequestBody):
    """Permissions on a resource, or membership of another role: one of the two."""

    resource: Resource | None = Field(
        None,
        description=(
            "data (all keyspaces), data/KEYSPACE, data/KEYSPACE/* (all tables of it, not the keyspace itself), "
            "data/KEYSPACE/TABLE, roles, roles/ROLE, functions, functions/KEYSPACE; null: it is about member_of"
        ),
        examples=["data/shop/orders"],
    )
    permissions: list[Permission] = Field(
        default=[],
        max_length=16,
        description=(
            "On data SELECT, MODIFY, CREATE, ALTER, DROP, AUTHORIZE, UNMASK, SELECT_MASKED; on roles CREATE, "
            "ALTER, DROP, AUTHORIZE, DESCRIBE; on functions EXECUTE, CREATE, ALTER, DROP, AUTHORIZE. Empty: it "
            "is about member_of"
        ),
        examples=[["SELECT", "MODIFY"]],
    )
    member_of: RoleName | None = Field(
        None,
        description="Another role, which it becomes a member of; null: it is about a resource",
        examples=["readers"],
    )


class Revocation(Schema):
    """The query parameters of revoke_role: what a grant_role said."""

    resource: Resource | None = Field(
        None,
        description=(
            "With permissions: data, data/KEYSPACE, data/KEYSPACE/*, data/KEYSPACE/TABLE, roles, roles/ROLE, "
            "functions, functions/KEYSPACE; null: it is about member_of"
        ),
    )
    permissions: list[Permission] = Field(default=[], max_length=16, description="Repeat the parameter for several")
    member_of: RoleName | None = Field(
        None, description="Alone: the other role, of which it is a member no longer; null: it is about a resource"
    )


class RoleChangeStarted(Schema):
    operation: Operation = Field(description="The operation that changes the role in the database, or reads roles")


class RoleCredentials(Schema):
    username: str = Field(description="The role's name")
    password: str = Field(description="Shown once")
