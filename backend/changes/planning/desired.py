"""From what a cluster should be to the changes that make it so, in their order."""

from backend.changes.planning.facts import Facts
from backend.changes.schemas import Change, ChangeMachineType, ChangeSettings, DesiredState, Scale, Upgrade


def changes(facts: Facts, wanted: DesiredState) -> list[Change]:
    """The differences, each a change of its own; what is as wanted already is among them too and comes to nothing.

    Fewer nodes first and more nodes after the machine type, so that as few nodes as possible move to other machines.
    Then settings, which a new version might judge differently. The upgrade last: it is the one that has no way back.
    """
    fewer = wanted.nodes_per_zone is not None and any(
        wanted.nodes_per_zone < datacenter.nodes_per_zone
        for datacenter in facts.datacenters
        if wanted.datacenter in (None, datacenter.name)
    )
    scale = [
        Scale(kind="scale", nodes_per_zone=number, datacenter=wanted.datacenter)
        for number in [wanted.nodes_per_zone]
        if number is not None
    ]
    found: list[Change] = []
    if fewer:
        found += scale
    if wanted.machine_type is not None:
        found.append(
            ChangeMachineType(kind="machine_type", machine_type=wanted.machine_type, datacenter=wanted.datacenter)
        )
    if not fewer:
        found += scale
    if wanted.settings is not None:
        found.append(ChangeSettings(kind="settings", settings=wanted.settings))
    if wanted.engine_version is not None:
        found.append(Upgrade(kind="upgrade", engine_version=wanted.engine_version))
    return found
