"""Roles, and what each may do. Token scopes use the same words: a token may do what its scopes AND its user's role allow."""

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
    AUDIT_READ = "audit:read"


_VIEWER = frozenset({Permission.CLUSTERS_READ, Permission.MEMBERS_READ})
# Whoever may make a token can only put permissions of their own into it, so operators may have tokens too.
_OPERATOR = _VIEWER | {
    Permission.CLUSTERS_WRITE,
    Permission.CREDENTIALS_READ,
    Permission.OPERATIONS_WRITE,
    Permission.TOKENS_WRITE,
}
_ADMIN = _OPERATOR | {Permission.MEMBERS_WRITE, Permission.AUDIT_READ}

PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.OPERATOR: _OPERATOR,
    Role.ADMIN: _ADMIN,
    # An owner differs from an admin in one rule (actions.py): only owners make, change and remove owners.
    Role.OWNER: _ADMIN,
}
