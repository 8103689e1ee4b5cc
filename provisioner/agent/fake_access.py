"""Roles, grants and the allowlist of a pretended ring, as the agent's jobs about access treat them."""

from dataclasses import dataclass, field
from typing import Any

from provisioner.agent.base import AgentRefused

JOBS = frozenset({"roles", "change-role", "grant", "revoke", "allowlist"})


@dataclass
class Access:
    """What the nodes of a ring share about who may do what. `passwords`: a hash for every role."""

    passwords: dict[str, str] = field(default_factory=dict)
    can_login: dict[str, bool] = field(default_factory=dict)
    superusers: list[str] = field(default_factory=list)
    member_of: dict[str, list[str]] = field(default_factory=dict)
    # Role, resource, permission.
    permissions: list[list[str]] = field(default_factory=list)
    cidrs: list[str] = field(default_factory=list)


def work(access: Access, control: str, kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Do one of JOBS. AgentRefused with the codes of the real agent."""
    if parameters.get("name", parameters.get("role")) == control:
        raise AgentRefused("role-protected", f"{control} belongs to the machinery and cannot be changed")
    match kind:
        case "roles":
            return _told(access, control)
        case "change-role":
            _change(access, **parameters)
        case "grant" | "revoke":
            _grant(access, granting=kind == "grant", **parameters)
        case "allowlist":
            access.cidrs = list(parameters["cidrs"])
    return {}


def _told(access: Access, control: str) -> dict[str, Any]:
    roles = [
        {
            "name": name,
            "can_login": access.can_login.get(name, True),
            "is_superuser": name in access.superusers,
            "member_of": sorted(access.member_of.get(name, [])),
            "cidrs": access.cidrs,
        }
        for name in sorted(access.passwords)
        if name != control
    ]
    permissions = [
        {"role": role, "resource": resource, "permission": permission}
        for role, resource, permission in sorted(access.permissions)
    ]
    return {"roles": roles, "permissions": permissions}


def _change(
    access: Access,
    *,
    action: str,
    name: str,
    password_hash: str = "",
    can_login: bool | None = None,
    is_superuser: bool | None = None,
    administrator: str = "",
) -> None:
    exists = name in access.passwords
    if action == "drop" and not exists:
        return
    if exists and name == administrator and (action == "drop" or can_login is False or is_superuser is False):
        raise AgentRefused("role-protected", f"{name} is the administrator")
    match action:
        case "drop":
            for table in (access.passwords, access.can_login, access.member_of):
                table.pop(name, None)
            access.superusers = [other for other in access.superusers if other != name]
            access.member_of = {role: [o for o in others if o != name] for role, others in access.member_of.items()}
            access.permissions = [row for row in access.permissions if row[0] != name and row[1] != f"roles/{name}"]
            return
        case "create" if exists and access.passwords[name] != password_hash:
            raise AgentRefused("role-exists", f"there is a role {name} already")
        case "create":
            access.passwords.setdefault(name, password_hash)
            access.can_login[name] = bool(can_login)
        case "alter" if not exists:
            raise AgentRefused("unknown-role", f"there is no role {name}")
        case "alter":
            access.passwords[name] = password_hash or access.passwords[name]
            access.can_login[name] = access.can_login.get(name, True) if can_login is None else can_login
    if is_superuser is not None:
        others = [other for other in access.superusers if other != name]
        access.superusers = [*others, name] if is_superuser else others


def _grant(
    access: Access,
    *,
    granting: bool,
    role: str,
    permissions: list[str] | None = None,
    resource: str = "",
    member_of: str = "",
) -> None:
    for name in (role, member_of):
        if name and name not in access.passwords:
            raise AgentRefused("unknown-role", f"there is no role {name}")
    if member_of:
        others = [other for other in access.member_of.get(role, []) if other != member_of]
        access.member_of[role] = [*others, member_of] if granting else others
        return
    rows = [[role, resource, permission] for permission in permissions or []]
    access.permissions = [row for row in access.permissions if row not in rows] + (rows if granting else [])
