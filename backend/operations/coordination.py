"""Which kinds of operations may run together on a cluster: one table, and why. Pure; backend/operations/turns.py obeys.

A kind belongs to a class. For an operation that is there and another that is wanted, the table says one of four things.
Reasons are whole sentences: they are shown to whoever is refused or waits, and docs/operations.md lists them.

One that made way and is cancelled while it stands is undone at once, beside whoever it made way for. So the undo steps
of a kind that makes way may only take back what is the operation's own (its snapshots, its limits).
"""

from dataclasses import dataclass
from enum import StrEnum


class Class(StrEnum):
    CREATE = "create"
    DELETE = "delete"
    MEMBERSHIP = "membership"
    ROLLING = "rolling"
    ACCESS = "access"
    REPAIR = "repair"
    BACKUP = "backup"
    RESTORE = "restore"
    LOOK = "look"


class Verdict(StrEnum):
    """What becomes of the wanted one."""

    TOGETHER = "together"
    REFUSE = "refuse"
    WAIT = "wait"
    # It waits too, but only until the one that is there is paused; that one goes on by itself afterwards.
    MAKE_WAY = "make way"


@dataclass(frozen=True)
class Rule:
    verdict: Verdict
    reason: str


CLASSES = {
    "create_cluster": Class.CREATE,
    "delete_cluster": Class.DELETE,
    "scale_cluster": Class.MEMBERSHIP,
    "replace_node": Class.MEMBERSHIP,
    "change_machine_type": Class.MEMBERSHIP,
    "add_datacenter": Class.MEMBERSHIP,
    "remove_datacenter": Class.MEMBERSHIP,
    "restart_node": Class.ROLLING,
    "rolling_restart": Class.ROLLING,
    "stop_node": Class.ROLLING,
    "start_node": Class.ROLLING,
    "measure_disks": Class.ROLLING,
    "upgrade_cluster": Class.ROLLING,
    "apply_settings": Class.ROLLING,
    "apply_advice": Class.ROLLING,
    "rotate_certificates": Class.ROLLING,
    "run_command": Class.ROLLING,
    "change_access": Class.ACCESS,
    "change_allowlist": Class.ACCESS,
    "create_connection": Class.ACCESS,
    "delete_connection": Class.ACCESS,
    "rotate_credentials": Class.ACCESS,
    "read_access": Class.ACCESS,
    "repair": Class.REPAIR,
    "backup": Class.BACKUP,
    "restore": Class.RESTORE,
    "import_tables": Class.RESTORE,
    "take_over": Class.RESTORE,
    "diagnose": Class.LOOK,
}

# The database itself keeps a second open one of these off a cluster (operation_exclusive_once). So between any two of
# them the table says REFUSE; a test sees to it.
EXCLUSIVE = frozenset({Class.CREATE, Class.DELETE, Class.MEMBERSHIP, Class.ROLLING})

_BEING_MADE = Rule(Verdict.REFUSE, "The cluster is still being created; it can be changed when it serves.")
_BEING_DELETED = Rule(Verdict.REFUSE, "The cluster is being deleted.")
_MADE_ONCE = Rule(Verdict.REFUSE, "A cluster is created once.")
_NEW_SHAPE = "{} compares or copies what the nodes of one ring hold, so it begins when the ring has its new shape."
_NODE_BACK = "{} needs every node, so it begins when no node is being restarted or changed any more."
_PASSWORDS_APART = Rule(
    Verdict.TOGETHER, "Users, passwords and networks are kept apart from data and ring, so both can go on."
)
_REPAIR_YIELDS = "A repair can stop after any range and go on later, so it makes way for {}."
_BACKUP_FIRST = "The backup that is being made ends first: {}"
_RESTORE_FIRST = "Data is being restored into this cluster; that must end or be cancelled first{}"

# Running, then wanted.
TABLE: dict[tuple[Class, Class], Rule] = {
    (Class.CREATE, Class.CREATE): _MADE_ONCE,
    (Class.CREATE, Class.DELETE): Rule(
        Verdict.REFUSE, "The cluster is still being created; cancel that operation to take everything away."
    ),
    (Class.CREATE, Class.MEMBERSHIP): _BEING_MADE,
    (Class.CREATE, Class.ROLLING): _BEING_MADE,
    (Class.CREATE, Class.ACCESS): _BEING_MADE,
    (Class.CREATE, Class.REPAIR): _BEING_MADE,
    (Class.CREATE, Class.BACKUP): _BEING_MADE,
    (Class.DELETE, Class.CREATE): _MADE_ONCE,
    (Class.DELETE, Class.DELETE): _BEING_DELETED,
    (Class.DELETE, Class.MEMBERSHIP): _BEING_DELETED,
    (Class.DELETE, Class.ROLLING): _BEING_DELETED,
    (Class.DELETE, Class.ACCESS): _BEING_DELETED,
    (Class.DELETE, Class.REPAIR): _BEING_DELETED,
    (Class.DELETE, Class.BACKUP): _BEING_DELETED,
    (Class.MEMBERSHIP, Class.CREATE): _MADE_ONCE,
    (Class.MEMBERSHIP, Class.DELETE): Rule(
        Verdict.REFUSE, "A machine is joining or leaving; that must end or be cancelled first, so that none is lost."
    ),
    (Class.MEMBERSHIP, Class.MEMBERSHIP): Rule(
        Verdict.REFUSE, "One change of the ring at a time: two at once could lose data."
    ),
    (Class.MEMBERSHIP, Class.ROLLING): Rule(
        Verdict.REFUSE, "A node is joining or leaving, and restarting one that streams data would break that off."
    ),
    (Class.MEMBERSHIP, Class.ACCESS): _PASSWORDS_APART,
    (Class.MEMBERSHIP, Class.REPAIR): Rule(Verdict.WAIT, _NEW_SHAPE.format("A repair")),
    (Class.MEMBERSHIP, Class.BACKUP): Rule(Verdict.WAIT, _NEW_SHAPE.format("A backup")),
    (Class.ROLLING, Class.CREATE): _MADE_ONCE,
    (Class.ROLLING, Class.DELETE): Rule(
        Verdict.REFUSE, "Its nodes are being restarted or changed; that must end or be cancelled first."
    ),
    (Class.ROLLING, Class.MEMBERSHIP): Rule(
        Verdict.REFUSE, "A node may be down for its restart, and the ring is changed only while all nodes are up."
    ),
    (Class.ROLLING, Class.ROLLING): Rule(
        Verdict.REFUSE, "One node at a time is down: two such operations at once could cost the quorum."
    ),
    (Class.ROLLING, Class.ACCESS): _PASSWORDS_APART,
    (Class.ROLLING, Class.REPAIR): Rule(Verdict.WAIT, _NODE_BACK.format("A repair")),
    (Class.ROLLING, Class.BACKUP): Rule(Verdict.WAIT, _NODE_BACK.format("A backup")),
    (Class.ACCESS, Class.CREATE): _MADE_ONCE,
    (Class.ACCESS, Class.DELETE): Rule(
        Verdict.WAIT, "A change of access is short and ends first, so that it does not speak to nodes that are gone."
    ),
    (Class.ACCESS, Class.MEMBERSHIP): _PASSWORDS_APART,
    (Class.ACCESS, Class.ROLLING): _PASSWORDS_APART,
    (Class.ACCESS, Class.ACCESS): Rule(
        Verdict.WAIT, "Changes of access are made one after the other, in the order in which they were asked for."
    ),
    (Class.ACCESS, Class.REPAIR): _PASSWORDS_APART,
    (Class.ACCESS, Class.BACKUP): _PASSWORDS_APART,
    (Class.REPAIR, Class.CREATE): _MADE_ONCE,
    (Class.REPAIR, Class.DELETE): Rule(Verdict.MAKE_WAY, _REPAIR_YIELDS.format("the deletion")),
    (Class.REPAIR, Class.MEMBERSHIP): Rule(Verdict.MAKE_WAY, _REPAIR_YIELDS.format("a change of the ring")),
    (Class.REPAIR, Class.ROLLING): Rule(Verdict.MAKE_WAY, _REPAIR_YIELDS.format("what restarts or changes nodes")),
    (Class.REPAIR, Class.ACCESS): _PASSWORDS_APART,
    (Class.REPAIR, Class.REPAIR): Rule(
        Verdict.REFUSE, "A repair is open already, and a second would do its work anew."
    ),
    (Class.REPAIR, Class.BACKUP): Rule(Verdict.MAKE_WAY, _REPAIR_YIELDS.format("a backup, which is shorter")),
    (Class.BACKUP, Class.CREATE): _MADE_ONCE,
    (Class.BACKUP, Class.DELETE): Rule(
        Verdict.MAKE_WAY, "Whoever deletes a cluster does not wait for its backup, so the backup makes way."
    ),
    (Class.BACKUP, Class.MEMBERSHIP): Rule(
        Verdict.WAIT, _BACKUP_FIRST.format("it is a picture of the ring as it was when it began.")
    ),
    (Class.BACKUP, Class.ROLLING): Rule(Verdict.WAIT, _BACKUP_FIRST.format("a restart would break a node's copy off.")),
    (Class.BACKUP, Class.ACCESS): _PASSWORDS_APART,
    (Class.BACKUP, Class.REPAIR): Rule(Verdict.WAIT, _BACKUP_FIRST.format("a repair rewrites the files it copies.")),
    (Class.BACKUP, Class.BACKUP): Rule(Verdict.WAIT, _BACKUP_FIRST.format("backups are made one after the other.")),
    (Class.BACKUP, Class.RESTORE): Rule(Verdict.WAIT, _BACKUP_FIRST.format("a restore changes what it copies.")),
    (Class.CREATE, Class.RESTORE): Rule(Verdict.WAIT, "Data is restored into a cluster as soon as it serves."),
    (Class.DELETE, Class.RESTORE): _BEING_DELETED,
    (Class.MEMBERSHIP, Class.RESTORE): Rule(
        Verdict.REFUSE, "Data is restored by the ranges of the nodes, and these are just being changed."
    ),
    (Class.ROLLING, Class.RESTORE): Rule(
        Verdict.REFUSE, "Data is restored on every node, and one of them may be down for its restart."
    ),
    (Class.ACCESS, Class.RESTORE): _PASSWORDS_APART,
    (Class.REPAIR, Class.RESTORE): Rule(Verdict.MAKE_WAY, _REPAIR_YIELDS.format("a restore")),
    (Class.RESTORE, Class.CREATE): _MADE_ONCE,
    (Class.RESTORE, Class.DELETE): Rule(Verdict.REFUSE, _RESTORE_FIRST.format(".")),
    (Class.RESTORE, Class.MEMBERSHIP): Rule(
        Verdict.REFUSE, _RESTORE_FIRST.format(": it gives files to the nodes by their ranges.")
    ),
    (Class.RESTORE, Class.ROLLING): Rule(Verdict.REFUSE, _RESTORE_FIRST.format(": it needs every node.")),
    (Class.RESTORE, Class.ACCESS): _PASSWORDS_APART,
    (Class.RESTORE, Class.REPAIR): Rule(Verdict.WAIT, "A repair begins when all is there that is being restored."),
    (Class.RESTORE, Class.BACKUP): Rule(Verdict.WAIT, "A backup begins when all is there that is being restored."),
    (Class.RESTORE, Class.RESTORE): Rule(Verdict.REFUSE, _RESTORE_FIRST.format(": one restore at a time.")),
}

_READING = Rule(Verdict.TOGETHER, "Reading changes nothing.")
for _class in Class:
    TABLE[Class.LOOK, _class] = TABLE[_class, Class.LOOK] = _READING
TABLE[Class.LOOK, Class.CREATE] = _MADE_ONCE
TABLE[Class.DELETE, Class.LOOK] = _BEING_DELETED

# Kinds that differ from their class. The running one's kind or class, then the wanted one's.
EXCEPTIONS: dict[tuple[str, str], Rule] = {
    ("backup", "replace_node"): Rule(
        Verdict.MAKE_WAY, "A node that is gone leaves the data with one copy less, so its replacement does not wait."
    ),
    ("rotate_credentials", "rotate_credentials"): Rule(
        Verdict.REFUSE, "A new password is being set already, and only one can be the next."
    ),
}

_BOTH_UNKNOWN = Rule(Verdict.REFUSE, "Two such operations do not go together.")
_UNKNOWN = Rule(Verdict.TOGETHER, "They do not touch the same things.")
_READS = frozenset({"read_access"})


def is_exclusive(kind: str, *, otherwise: bool = True) -> bool:
    """Whether the database lets only one such operation be open on a cluster. `otherwise`: of kinds not listed."""
    kind_class = CLASSES.get(kind)
    return otherwise if kind_class is None else kind_class in EXCLUSIVE


def rule(running: str, wanted: str, *, both_exclusive: bool = False) -> Rule:
    """What the table says about two kinds. `both_exclusive` decides about a kind that it does not list."""
    if exception := EXCEPTIONS.get((running, wanted)):
        return exception
    running_class, wanted_class = CLASSES.get(running), CLASSES.get(wanted)
    if running_class is None or wanted_class is None:
        return _BOTH_UNKNOWN if both_exclusive else _UNKNOWN
    by_class = TABLE[running_class, wanted_class]
    if running_class is wanted_class is Class.ACCESS and (running in _READS or wanted in _READS):
        return _READING
    return by_class


def ends_the_others(kind: str) -> bool:
    """Whether its success leaves nothing for other operations to work on."""
    return CLASSES.get(kind) is Class.DELETE


@dataclass(frozen=True, kw_only=True)
class Standing:
    """An open operation as the coordinator sees it. Ids grow with age."""

    id: str
    kind: str
    exclusive: bool
    pausable: bool
    # Begun or about to begin, so whoever it does not go with must keep off. False: it waits or is paused.
    going: bool
    # It goes on by itself when its turn comes. False for one that a person has paused.
    wants_a_turn: bool = False


def between(running: Standing, wanted: Standing) -> Rule:
    found = rule(running.kind, wanted.kind, both_exclusive=running.exclusive and wanted.exclusive)
    if found.verdict is Verdict.MAKE_WAY and not running.pausable:
        return Rule(Verdict.WAIT, f"{found.reason} This one cannot be paused, so its end is waited for.")
    return found


def in_the_way(wanted: Standing, others: list[Standing]) -> Standing | None:
    """The first of a cluster's other open operations because of which `wanted` may not begin, or go on, now.

    Whatever goes on and does not go with it is in the way. Of those that wait for a turn themselves, one that others
    make way for comes first; else the older.
    """
    for other in sorted(others, key=lambda o: (not o.going, o.id)):
        verdict = between(other, wanted).verdict
        if verdict is Verdict.TOGETHER:
            continue
        if other.going:
            return other
        if verdict is Verdict.MAKE_WAY:
            continue
        yields_to_other = between(wanted, other).verdict is Verdict.MAKE_WAY
        if other.wants_a_turn and not (yields_to_other or other.id < wanted.id):
            continue
        return other
    return None
