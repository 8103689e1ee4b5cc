"""Checking allowlists and grants before anything is written. Pure. Says everything that is wrong, in words."""

import ipaddress
from collections.abc import Sequence

from backend.access.states import applicable

ENTRIES_LIMIT = 100

Problem = tuple[str, str]
"""Where, dotted, and a sentence."""


def check_cidrs(cidrs: Sequence[str]) -> list[Problem]:
    problems: list[Problem] = []
    seen: set[str] = set()
    for position, cidr in enumerate(cidrs):
        if message := _cidr_problem(cidr):
            problems.append((f"entries.{position}.cidr", message))
        elif cidr in seen:
            problems.append((f"entries.{position}.cidr", f"{cidr} is listed more than once."))
        seen.add(cidr)
    return problems


def _cidr_problem(cidr: str) -> str | None:
    if "/" not in cidr:
        return f"{cidr} is no CIDR: give the number of bits as well, {cidr}/32 for a single address."
    try:
        network = ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return f"{cidr} is no CIDR such as 10.0.0.0/8 or 2001:db8::/32."
    if isinstance(network, ipaddress.IPv6Network) and network.network_address.ipv4_mapped is not None:
        return f"{cidr} is an IPv4 network in an IPv6 address; write it as IPv4."
    return None if str(network) == cidr else f"{cidr} is not written as it is stored; {network} is meant, or another."


def check_grant(resource: str, permissions: Sequence[str], *, where: str = "") -> list[Problem]:
    """`where`: what stands before `resource` and `permissions` in the dotted names."""
    possible = applicable(resource)
    if not possible:
        return [
            (
                f"{where}resource",
                f"{resource} is no resource. There are data, data/KEYSPACE, data/KEYSPACE/*, data/KEYSPACE/TABLE, "
                "roles, roles/ROLE, functions and functions/KEYSPACE.",
            )
        ]
    wrong = [permission for permission in permissions if permission not in possible]
    if not wrong:
        return []
    return [(f"{where}permissions", f"{wrong[0]} does not apply to {resource}; what does: {', '.join(possible)}.")]
