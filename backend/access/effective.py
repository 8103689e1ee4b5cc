"""What roles may do in effect, with what they have through others. Pure: from a reading of the database."""

from collections.abc import Mapping, Sequence
from typing import Any


def ancestors(name: str, member_of: Mapping[str, Sequence[str]]) -> list[str]:
    """The role itself and every role that it is a member of, directly or through others; nearest first."""
    order, waiting = [name], [name]
    while waiting:
        for parent in member_of.get(waiting.pop(0), ()):
            if parent not in order:
                order.append(parent)
                waiting.append(parent)
    return order


def roles_of(reading: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every role with its own permissions, and with all it has and where each comes from."""
    roles = {role["name"]: role for role in reading.get("roles", [])}
    member_of = {name: role["member_of"] for name, role in roles.items()}
    own: dict[str, list[tuple[str, str]]] = {name: [] for name in roles}
    for row in reading.get("permissions", []):
        own.setdefault(row["role"], []).append((row["resource"], row["permission"]))
    return [_role(role, roles, ancestors(name, member_of), own) for name, role in roles.items()]


def _role(
    role: Mapping[str, Any],
    roles: Mapping[str, Mapping[str, Any]],
    line: Sequence[str],
    own: Mapping[str, Sequence[tuple[str, str]]],
) -> dict[str, Any]:
    sources: dict[tuple[str, str], list[str]] = {}
    for name in line:
        for granted in own.get(name, ()):
            sources.setdefault(granted, []).append(name)
    return {
        "name": role["name"],
        "can_login": role["can_login"],
        "is_superuser": role["is_superuser"],
        "superuser_through": next((name for name in line if roles.get(name, {}).get("is_superuser")), None),
        "member_of": sorted(role["member_of"]),
        "cidrs": role.get("cidrs", []),
        "permissions": [
            {"resource": resource, "permission": permission} for resource, permission in sorted(own[role["name"]])
        ],
        "effective": [
            {"resource": resource, "permission": permission, "sources": names}
            for (resource, permission), names in sorted(sources.items())
        ],
    }
