"""Roles, and what each may do.

Token scopes use the same words: a token may do what its scopes AND its user's role allow.
"""

from enum import StrEnum


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"


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
    Role.VIEWER: _VIEWER,
    Role.OPERATOR: _OPERATOR,
    Role.ADMIN: _ADMIN,
    # An owner differs from an admin in one rule (actions.py): only owners make, change and remove owners.
    Role.OWNER: _ADMIN,
}

PLATFORM = frozenset({Permission.IMAGES_WRITE, Permission.PRICES_WRITE})
"""What is everybody's, and so no role's: for people who run the installation, beside their role in an organisation."""


def permissions_of(role: Role, *, platform_admin: bool) -> frozenset[Permission]:
    return PERMISSIONS[role] | PLATFORM if platform_admin else PERMISSIONS[role]


_RANK = {Role.VIEWER: 0, Role.OPERATOR: 1, Role.ADMIN: 2, Role.OWNER: 3}
_MAY_NOT = "Your role or token may not change members."
_ONLY_OWNERS = "Only owners may change or remove owners."
_LAST_OWNER = "An organisation needs an owner, and this is the last one."


def may_grant(actor: Role, role: Role) -> bool:
    """Nobody gives a role above their own."""
    return _RANK[role] <= _RANK[actor]


def reason_against_changing_role(actor: Role, may_write: bool, target: Role, owners: int) -> str | None:
    if not may_write:
        return _MAY_NOT
    if target is Role.OWNER and actor is not Role.OWNER:
        return _ONLY_OWNERS
    if target is Role.OWNER and owners == 1:
        return _LAST_OWNER
    return None


def reason_against_removing(actor: Role, may_write: bool, target: Role, owners: int) -> str | None:
    return reason_against_changing_role(actor, may_write, target, owners)


def reason_against_revoking_token(actor: Role, may_write: bool, holder: Role, is_own: bool) -> str | None:
    if not may_write:
        return "Your role or token may not change API tokens."
    if holder is Role.OWNER and actor is not Role.OWNER and not is_own:
        return "Only owners may revoke the tokens of owners."
    return None
