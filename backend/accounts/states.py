"""Roles, what each may do, and who may give which to whom.

Token scopes use the same words: a token may do what its scopes AND its user's role allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"
    CUSTOM = "custom"
    """One that the organisation made (models.CustomRole): a set of permissions, for all clusters or some."""


class Permission(StrEnum):
    CLUSTERS_READ = "clusters:read"
    CLUSTERS_WRITE = "clusters:write"
    CREDENTIALS_READ = "credentials:read"
    OPERATIONS_WRITE = "operations:write"
    MEMBERS_READ = "members:read"
    MEMBERS_WRITE = "members:write"
    TOKENS_WRITE = "tokens:write"
    CLOUD_ACCOUNTS_WRITE = "cloud-accounts:write"
    AUDIT_READ = "audit:read"
    BACKUPS_EXPORT = "backups:export"
    DIAGNOSTICS_READ = "diagnostics:read"
    ALERTS_WRITE = "alerts:write"
    CQL_READ = "cql:read"
    CQL_WRITE = "cql:write"
    IMAGES_WRITE = "images:write"
    PRICES_WRITE = "prices:write"
    BUDGETS_WRITE = "budgets:write"


# What a statement may read is the database's to say: it takes a role of the database and its password besides.
_VIEWER = frozenset({Permission.CLUSTERS_READ, Permission.MEMBERS_READ, Permission.CQL_READ})
# Whoever may make a token can only put permissions of their own into it, so operators may have tokens too.
_OPERATOR = _VIEWER | {
    Permission.CLUSTERS_WRITE,
    Permission.CREDENTIALS_READ,
    Permission.OPERATIONS_WRITE,
    Permission.TOKENS_WRITE,
    Permission.DIAGNOSTICS_READ,
    Permission.ALERTS_WRITE,
    Permission.CQL_WRITE,
}
_ADMIN = _OPERATOR | {
    Permission.MEMBERS_WRITE,
    Permission.AUDIT_READ,
    Permission.CLOUD_ACCOUNTS_WRITE,
    Permission.BACKUPS_EXPORT,
    # Who orders clusters does not raise the ceiling that orders are measured by.
    Permission.BUDGETS_WRITE,
}

PERMISSIONS: dict[Role, frozenset[Permission]] = {
    # What a custom role holds is in its row.
    Role.CUSTOM: frozenset(),
    Role.VIEWER: _VIEWER,
    Role.OPERATOR: _OPERATOR,
    Role.ADMIN: _ADMIN,
    # An owner differs from an admin in one rule (actions.py): only owners make, change and remove owners.
    Role.OWNER: _ADMIN,
}

PLATFORM = frozenset({Permission.IMAGES_WRITE, Permission.PRICES_WRITE})
"""What is everybody's, and so no role's: for people who run the installation, beside their role in an organisation."""


_OF_THE_ORGANISATION = "Members, roles and settings belong to the organisation, not to a cluster."
NOT_BY_TAGS: dict[Permission, str] = {
    Permission.MEMBERS_READ: _OF_THE_ORGANISATION,
    Permission.MEMBERS_WRITE: _OF_THE_ORGANISATION,
    Permission.AUDIT_READ: "The audit log tells of the whole organisation.",
    Permission.CLOUD_ACCOUNTS_WRITE: "Cloud accounts belong to the organisation, not to a cluster.",
    Permission.BUDGETS_WRITE: "Budgets and ceilings are measured over the whole organisation.",
}
"""What a role that holds for some clusters only cannot hold, and why."""


class MemberSource(StrEnum):
    """Where a membership is from, which is who keeps it."""

    INVITATION = "invitation"
    """A person: an invitation, or the installation's first owner."""
    GROUPS = "groups"
    """An identity provider: it follows the person's groups there at each sign-in."""


class DeletionTarget(StrEnum):
    """What goes for good, and so takes two people where the organisation wants it (second_person.py)."""

    CLUSTER = "cluster"
    BACKUP = "backup"
    ACCESS_SETTINGS = "access_settings"
    """Deletes will not need two any more. The id is the organisation's."""


class DeletionRequestState(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    DONE = "done"
    """Used, or what it was about has gone otherwise."""
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


@dataclass(frozen=True)
class Held:
    """A custom role as somebody holds it. ``tags``: it is only for clusters that have one of the values of each key."""

    id: str
    name: str
    permissions: frozenset[Permission]
    tags: Mapping[str, Sequence[str]] | None


def role_permissions(role: Role, custom: Held | None) -> frozenset[Permission]:
    return PERMISSIONS[role] if custom is None else custom.permissions


def permissions_of(role: Role, *, platform_admin: bool, custom: Held | None = None) -> frozenset[Permission]:
    """``PLATFORM`` is of the person, except where their role is for some clusters only: images are everybody's."""
    held = role_permissions(role, custom)
    return held | PLATFORM if platform_admin and (custom is None or custom.tags is None) else held


_MAY_NOT = "Your role or token may not change members."
_ONLY_OWNERS = "Only owners may change or remove owners."
_LAST_OWNER = "An organisation needs an owner, and this is the last one."


def missing_to_grant(
    actor: Role, holds: frozenset[Permission], role: Role, permissions: frozenset[Permission]
) -> list[str]:
    """What somebody lacks to give a role: nobody gives what they (or their token) do not hold. Empty: they may."""
    if role is Role.OWNER and actor is not Role.OWNER:
        return ["being an owner"]
    return sorted(permissions - holds)


def reason_against_changing_role(
    actor: Role,
    may_write: bool,
    target: Role,
    owners: int,
    *,
    beyond: frozenset[Permission] = frozenset(),
    by_groups: bool = False,
) -> str | None:
    """``beyond``: what the target's role holds and the actor's role does not. ``by_groups``: it follows groups."""
    if not may_write:
        return _MAY_NOT
    if by_groups:
        return "Their role follows their groups at the identity provider: change the role of the group."
    if beyond:
        return f"Their role holds what yours does not: {', '.join(sorted(beyond))}."
    if target is Role.OWNER and actor is not Role.OWNER:
        return _ONLY_OWNERS
    if target is Role.OWNER and owners == 1:
        return _LAST_OWNER
    return None


def reason_against_ending_sessions(actor: Role, target: Role, *, beyond: frozenset[Permission]) -> str | None:
    """Whom one cannot change one does not sign out; the last owner may be, as they can sign in again."""
    return reason_against_changing_role(actor, True, target, 2, beyond=beyond)


def reason_against_resetting_second_factor(*, own: bool, counts_elsewhere: bool) -> str | None:
    """``counts_elsewhere``: the person is in other organisations, too, or runs the installation. A second factor guards
    that as well, so it is not one organisation's to take away."""
    if own:
        return "Nobody resets their own: remove it in the account's page, with the password."
    if counts_elsewhere:
        return "What this person may do beyond this organisation hangs on it as well."
    return None


def reason_against_removing(
    actor: Role,
    may_write: bool,
    target: Role,
    owners: int,
    *,
    beyond: frozenset[Permission] = frozenset(),
) -> str | None:
    return reason_against_changing_role(actor, may_write, target, owners, beyond=beyond)


def reason_against_changing_custom_role(may_write: bool, beyond: frozenset[Permission]) -> str | None:
    """``beyond``: what the role holds and that of who wants to change it does not."""
    if not may_write:
        return "Your role or token may not change roles."
    if beyond:
        return f"It holds what your role does not: {', '.join(sorted(beyond))}."
    return None


def reason_against_changing_account(may_write: bool, beyond: frozenset[Permission]) -> str | None:
    """``beyond``: what the service account's role holds and that of who wants to change it does not."""
    if not may_write:
        return "Your role or token may not change service accounts."
    if beyond:
        return f"Its role holds what yours does not: {', '.join(sorted(beyond))}."
    return None


def reason_against_changing_group_role(
    actor: Role, may_write: bool, target: Role, beyond: frozenset[Permission]
) -> str | None:
    """``beyond``: what the group's role holds and that of who wants to change it does not."""
    if not may_write:
        return "Your role or token may not change the roles of groups."
    if beyond:
        return f"Its role holds what yours does not: {', '.join(sorted(beyond))}."
    if target is Role.OWNER and actor is not Role.OWNER:
        return "Only owners may change who becomes an owner."
    return None


def reason_against_deleting_custom_role(members: int, accounts: int, invitations: int, groups: int) -> str | None:
    if members or accounts or invitations or groups:
        return (
            f"Members who hold it: {members}; service accounts: {accounts}; open invitations that offer it: "
            f"{invitations}; groups of identity providers: {groups}."
        )
    return None


def reason_against_revoking_token(actor: Role, may_write: bool, holder: Role, is_own: bool) -> str | None:
    if not may_write:
        return "Your role or token may not change API tokens."
    if holder is Role.OWNER and actor is not Role.OWNER and not is_own:
        return "Only owners may revoke the tokens of owners."
    return None
