"""What is wrong with a node, as findings say it: code, severity, sentence and what a person may do. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.findings.states import Severity
from provisioner.agent.base import Disk, Status
from provisioner.reconcile.looks import Look, MachineFact
from provisioner.reconcile.verdicts import Verdict, seen_down

ENGINE_DOWN = "engine-down"
MACHINE_OFF = "machine-off"
MACHINE_DEAD = "machine-dead"
MACHINE_GONE = "machine-gone"
DATA_LOST = "local-data-lost"
AGENT_SILENT = "agent-unreachable"
NOT_SEEN = "not-seen-by-ring"
DISK_FILLING = "disk-filling"
CERTIFICATE_ENDING = "certificate-ending"
CLOCK_DRIFT = "clock-drift"
MACHINE_RETIRING = "machine-retiring"
MACHINE_MAINTENANCE = "machine-maintenance"
MACHINE_REBALANCE = "machine-rebalance"

DEATHS = (MACHINE_OFF, MACHINE_DEAD, MACHINE_GONE)
# About whether the node serves. While an operation works on a node they are its business.
ABOUT_STATE = (ENGINE_DOWN, *DEATHS, DATA_LOST, AGENT_SILENT, NOT_SEEN)
# What the provider has announced (notices.py, which also has MACHINE_RETIRING acted on).
ANNOUNCED = (MACHINE_RETIRING, MACHINE_MAINTENANCE, MACHINE_REBALANCE)
# What healing.py may do something about.
HEALABLE = (ENGINE_DOWN, *DEATHS, DATA_LOST, DISK_FILLING)
ABOUT_FACTS = (DISK_FILLING, CERTIFICATE_ENDING, CLOCK_DRIFT)

DISK_WARNS, DISK_STOPS_WORK, DISK_CRITICAL = 70, 85, 95  # percent
_DISK_HYSTERESIS = 3  # percent below a threshold until what it said is taken back
_CLOCK_WARNS_MS, _CLOCK_CRITICAL_MS = 500, 5000
_CERTIFICATE_WARNS_DAYS, _CERTIFICATE_CRITICAL_DAYS = 21, 7


@dataclass(frozen=True, kw_only=True)
class Sign:
    code: str
    severity: Severity
    sentence: str
    hint: str = ""


def of_state(look: Look, verdict: Verdict, views: Sequence[Status], known: frozenset[str]) -> list[Sign]:
    """What the node's state gives reason to say. `known`: codes of what is open about it already."""
    node = look.node
    match verdict.state:
        case NodeState.DATA_LOST:
            return [
                Sign(
                    code=DATA_LOST,
                    severity=Severity.CRITICAL,
                    sentence=f"The disks of {node.name} are blank: its share of the data is lost on this node.",
                    hint="The other replicas have the data. Replace the node; never start it with an empty disk.",
                )
            ]
        case NodeState.DOWN if look.status is None:
            return [_death(look, verdict, known)]
        case NodeState.DOWN:
            return [
                Sign(
                    code=ENGINE_DOWN,
                    severity=Severity.CRITICAL,
                    sentence=f"{node.name} does not serve. {verdict.reason}",
                    hint="Its agent starts the engine again by itself; if it ends again and again, its last words "
                    "say why.",
                )
            ]
        # Once can be the agent's restart; only the second look in a row is worth a word.
        case NodeState.UNOBSERVED if node.state == NodeState.UNOBSERVED:
            return [
                Sign(
                    code=AGENT_SILENT,
                    severity=Severity.WARNING,
                    sentence=f"The agent of {node.name} does not answer, and nothing says that its database is down.",
                    hint="The node stays in service and is not replaced. Look at the way to its agent's port and at "
                    "the agent's log.",
                )
            ]
        case NodeState.UP if look.status is not None and seen_down(node, views):
            return [
                Sign(
                    code=NOT_SEEN,
                    severity=Severity.WARNING,
                    sentence=f"{node.name} says that it serves, but most other nodes do not reach it.",
                    hint="Look at the network between it and the others. It is not replaced: it is alive.",
                )
            ]
        case _:
            return []


def _death(look: Look, verdict: Verdict, known: frozenset[str]) -> Sign:
    """Its code stays what it was at first sight, so that the time since then is the time it has been dead."""
    fresh = {MachineFact.STOPPED: MACHINE_OFF, MachineFact.GONE: MACHINE_GONE}.get(look.machine, MACHINE_DEAD)
    return Sign(
        code=next((code for code in DEATHS if code in known), fresh),
        severity=Severity.CRITICAL,
        sentence=f"{look.node.name} is down. {verdict.reason}",
        hint="If it does not come back it is replaced after the grace time of its cluster's healing settings.",
    )


def of_facts(look: Look, known: frozenset[str], now: datetime) -> list[Sign]:
    """What disk, clock and certificate give reason to say."""
    if look.status is None:
        return []
    found = [
        _disk(look.node, look.status.disk, DISK_FILLING in known),
        _clock(look),
        _certificate(look.node, look.status.engine_certificate_expires_at, now),
    ]
    return [sign for sign in found if sign is not None]


def used_percent(disk: Disk) -> int:
    return round(100 * (1 - disk.free_bytes / disk.total_bytes)) if disk.total_bytes > 0 else 0


def _disk(node: Node, disk: Disk | None, known: bool) -> Sign | None:
    if disk is None:
        return None
    used = used_percent(disk)
    if used < DISK_WARNS - (_DISK_HYSTERESIS if known else 0):
        return None
    severity, meaning = Severity.WARNING, "It has room left, but compaction needs some of it."
    if used >= DISK_CRITICAL:
        severity, meaning = Severity.CRITICAL, "The engine is about to stop taking writes."
    elif used >= DISK_STOPS_WORK:
        severity, meaning = Severity.WARNING, "Repairs, upgrades of files and clean-ups wait, as they need room."
    return Sign(
        code=DISK_FILLING,
        severity=severity,
        sentence=f"The disk of {node.name} is {used} % full. {meaning}",
        hint="Add nodes, move to a larger machine type, or delete data and old snapshots.",
    )


def _clock(look: Look) -> Sign | None:
    if look.clock_offset_ms is None:
        return None
    # What the round trip leaves open speaks for the node.
    off = abs(look.clock_offset_ms) - look.clock_error_ms
    if off <= _CLOCK_WARNS_MS:
        return None
    seconds = off / 1000
    words = f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    direction = "ahead" if look.clock_offset_ms > 0 else "behind"
    return Sign(
        code=CLOCK_DRIFT,
        severity=Severity.CRITICAL if off > _CLOCK_CRITICAL_MS else Severity.WARNING,
        sentence=f"The clock of {look.node.name} is {words} {direction}: newer writes can lose against older ones.",
        hint="Look at chrony on the machine (`chronyc tracking`); replace the node if its clock cannot be set.",
    )


def _certificate(node: Node, expires_at: datetime | None, now: datetime) -> Sign | None:
    if expires_at is None:
        return None
    days = (expires_at - now).days
    if days >= _CERTIFICATE_WARNS_DAYS:
        return None
    when = f"ends in {days} days" if days >= 1 else "ends today" if expires_at > now else "has ended"
    return Sign(
        code=CERTIFICATE_ENDING,
        severity=Severity.CRITICAL if days < _CERTIFICATE_CRITICAL_DAYS else Severity.WARNING,
        sentence=f"The TLS certificate of {node.name} {when}; then drivers refuse to connect to it.",
        hint="Renew the certificates of the cluster; that needs no restart.",
    )
