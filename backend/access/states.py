"""The words of access: what permissions are about, and what may be done with a role."""

import re

from backend.clusters.states import SERVING, ClusterState

# Whoever has these names belongs to the machinery: the control plane's own account, and the engine's first superuser.
RESERVED_ROLES = ("ringmaster", "cassandra")

_ON_DATA = ("SELECT", "MODIFY", "CREATE", "ALTER", "DROP", "AUTHORIZE", "UNMASK", "SELECT_MASKED")
_ON_TABLE = tuple(permission for permission in _ON_DATA if permission != "CREATE")
_ON_ROLES = ("CREATE", "ALTER", "DROP", "AUTHORIZE", "DESCRIBE")
_ON_ROLE = tuple(permission for permission in _ON_ROLES if permission != "CREATE")
_ON_FUNCTIONS = ("EXECUTE", "CREATE", "ALTER", "DROP", "AUTHORIZE")

ROLE_NAME = r"[A-Za-z_][A-Za-z0-9_.@-]{0,62}"
_WORD = r"[A-Za-z0-9_]{1,222}"
# What the engine lets permissions be about, and which.
RESOURCES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(form), permissions)
    for form, permissions in (
        ("data", _ON_DATA),
        (rf"data/{_WORD}(/\*)?", _ON_DATA),
        (rf"data/{_WORD}/{_WORD}", _ON_TABLE),
        ("roles", _ON_ROLES),
        (rf"roles/{ROLE_NAME}", _ON_ROLE),
        (rf"functions(/{_WORD})?", _ON_FUNCTIONS),
    )
)

_GONE = "The cluster is deleted."
_MAY_NOT = "Your role or token may not change clusters."
_MAY_NOT_READ = "Your role or token may not see passwords."
_NOT_ACTIVE = "The cluster is not active."
_NOT_MANAGED = "Roles of this engine are changed over CQL, as the administrator; the allowlist is not for it."


def applicable(resource: str) -> tuple[str, ...]:
    """The permissions that there are on a resource; none when it is not one."""
    return next((permissions for form, permissions in RESOURCES if form.fullmatch(resource)), ())


def effect(*, firewall: bool, engine: bool, limited: bool) -> str:
    """Who reaches the database, in one sentence. `engine`: it takes a list. `limited`: the list has entries."""
    match firewall, limited:
        case True, True:
            who = "firewall and the database let" if engine else "firewall lets"
            return f"The network's {who} in these networks only."
        case True, False:
            return "The list is empty: nobody from outside of its network and peerings reaches the database."
        case False, True:
            return "Logins are accepted from these networks only; the network has no firewall of its own."
        case _:
            return "The list is empty: logins are accepted from everywhere."


def reason_against_changing_access(state: ClusterState, *, may: bool, managed: bool) -> str | None:
    """Against changing roles or the allowlist. Work on data and ring is no reason: both go on side by side.

    `managed`: the engine's roles can be changed from here.
    """
    if state is ClusterState.DELETED:
        return _GONE
    if not managed:
        return _NOT_MANAGED
    if not may:
        return _MAY_NOT
    return None if state in SERVING else _NOT_ACTIVE


def reason_against_dropping(name: str, *, administrator: str) -> str | None:
    return f"{name} is the administrator: without it nobody could manage roles." if name == administrator else None


def reason_against_new_password(name: str, *, administrator: str) -> str | None:
    return f"{name} is the administrator: use rotate_credentials for it." if name == administrator else None


def reason_against_revealing_password(*, may: bool, known: bool, in_force: bool, revealed: bool) -> str | None:
    """`known`: we made the password. `in_force`: the database has it."""
    if not may:
        return _MAY_NOT_READ
    if not known:
        return "Its password was not made here, so it is not known."
    if not in_force:
        return "The database does not have the password yet."
    return "The password was shown already. Set a new one to see it once more." if revealed else None
