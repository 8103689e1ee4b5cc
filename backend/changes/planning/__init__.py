"""What a wanted change comes to: a plan of an operation with the rows it begins with, or why it cannot be.

Pure: everything that is known comes in as `Facts` and nothing is written. The plan that people look at and the
operation that is started are made by the same calls, so both refuse the same things in the same words.
"""

from backend.changes.planning import checks, commands, desired, membership, rolling
from backend.changes.planning.facts import Facts, NothingToDo, Proposal, Refused
from backend.changes.schemas import (
    AddDatacenter,
    Change,
    ChangeMachineType,
    ChangeSettings,
    MeasureDisks,
    RemoveDatacenter,
    ReplaceNode,
    RestartNode,
    RollingRestart,
    RotateCertificates,
    RunCommand,
    Scale,
    StartNode,
    StopNode,
    Upgrade,
)

__all__ = ["OPERATION_KINDS", "Facts", "NothingToDo", "Proposal", "Refused", "desired", "propose"]

# By the kind of a change: the kind of the operation that it is.
OPERATION_KINDS = {
    "scale": "scale_cluster",
    "replace_node": "replace_node",
    "restart_node": "restart_node",
    "stop_node": "stop_node",
    "start_node": "start_node",
    "measure_disks": "measure_disks",
    "rolling_restart": "rolling_restart",
    "upgrade": "upgrade_cluster",
    "machine_type": "change_machine_type",
    "settings": "apply_settings",
    "add_datacenter": "add_datacenter",
    "remove_datacenter": "remove_datacenter",
    "rotate_certificates": "rotate_certificates",
    "run_command": "run_command",
}


def propose(facts: Facts, change: Change) -> Proposal:
    """Raises Refused, and NothingToDo when all is as wanted already."""
    return checks.below_ceilings(facts, _propose(facts, change))


def _propose(facts: Facts, change: Change) -> Proposal:
    match change:
        case Scale():
            return membership.scale(facts, change)
        case ReplaceNode():
            return membership.replace_node(facts, change)
        case RestartNode():
            return rolling.restart_node(facts, change)
        case StopNode():
            return rolling.stop_node(facts, change)
        case StartNode():
            return rolling.start_node(facts, change)
        case MeasureDisks():
            return rolling.measure_disks(facts, change)
        case RollingRestart():
            return rolling.rolling_restart(facts)
        case Upgrade():
            return rolling.upgrade(facts, change)
        case ChangeMachineType():
            return membership.change_machine_type(facts, change)
        case ChangeSettings():
            return rolling.change_settings(facts, change)
        case AddDatacenter():
            return membership.add_datacenter(facts, change)
        case RemoveDatacenter():
            return membership.remove_datacenter(facts, change)
        case RotateCertificates():
            return rolling.rotate_certificates(facts)
        case RunCommand():
            return commands.run_command(facts, change)
