"""From what a cluster should be to the changes that make it so, in their order."""

from collections.abc import Sequence

from backend.changes.planning.facts import Facts, Refused, listed
from backend.changes.schemas import (
    AddDatacenter,
    AnyChange,
    ChangeMachineType,
    ChangeSettings,
    DesiredDatacenter,
    DesiredState,
    RemoveDatacenter,
    Scale,
    Upgrade,
)
from backend.clusters.models import Datacenter

_OWN = "that of the installation"
_ANOTHER_CLUSTER = "Order another cluster, and bring the data there: clone this one, or restore a backup into it."


def never(facts: Facts, wanted: DesiredState) -> list[Refused]:
    """What is wanted otherwise than it was ordered, and stays so for the life of a cluster."""
    cluster = facts.cluster
    found: list[Refused] = []
    for field, what, now, then in (
        ("engine", "engine", cluster.engine, wanted.engine),
        ("provider", "provider", cluster.provider, wanted.provider),
        ("cloud_account", "cloud account", cluster.cloud_account_id or "", wanted.cloud_account),
    ):
        if then is not None and then != now:
            sentence = f"The {what} of {cluster.name} is {now or _OWN} and stays so."
            found.append(Refused("cannot_change", sentence, hint=_ANOTHER_CLUSTER, field=field))
    living = {datacenter.region: datacenter for datacenter in facts.datacenters}
    for number, each in enumerate(wanted.datacenters or ()):
        here = living.get(each.region)
        if here is not None and sorted(here.zones) != sorted(each.zones):
            sentence = (
                f"{here.name} has its replicas in {listed(here.zones)}: its zones stay as they were ordered, because "
                "every row has one replica in each."
            )
            hint = "Add a data centre in another region with the zones that you want, or order another cluster."
            found.append(Refused("cannot_change", sentence, hint=hint, field=f"datacenters.{number}.zones"))
    return found


def changes(facts: Facts, wanted: DesiredState) -> list[AnyChange]:
    """The differences, each a change of its own; what is as wanted already is among them too and comes to nothing.

    Of a data centre, fewer nodes first and more nodes after the machine type, so that as few nodes as possible move to
    other machines. A data centre goes only when the new ones have their data. Then settings, which a new version might
    judge differently. The upgrade last: it is the one that has no way back.
    """
    found = _datacenters(facts, wanted.datacenters) if wanted.datacenters is not None else _one(facts, wanted)
    if wanted.settings is not None:
        found.append(ChangeSettings(kind="settings", settings=wanted.settings))
    if wanted.engine_version is not None:
        found.append(Upgrade(kind="upgrade", engine_version=wanted.engine_version))
    return found


def _one(facts: Facts, wanted: DesiredState) -> list[AnyChange]:
    named = [each for each in facts.datacenters if wanted.datacenter in (None, each.name)]
    return _nodes(named, wanted.datacenter, wanted.machine_type, wanted.nodes_per_zone)


def _datacenters(facts: Facts, wanted: Sequence[DesiredDatacenter]) -> list[AnyChange]:
    living = {datacenter.region: datacenter for datacenter in facts.datacenters}
    stay, come = [], []
    for each in wanted:
        if here := living.get(each.region):
            stay += _nodes([here], here.name, each.machine_type, each.nodes_per_zone)
        else:
            come.append(AddDatacenter(kind="add_datacenter", **each.model_dump()))
    regions = {each.region for each in wanted}
    go = [
        RemoveDatacenter(kind="remove_datacenter", datacenter=datacenter.name)
        for datacenter in facts.datacenters
        if datacenter.region not in regions
    ]
    return [*stay, *come, *go]


def _nodes(
    of: Sequence[Datacenter], name: str | None, machine_type: str | None, nodes_per_zone: int | None
) -> list[AnyChange]:
    found: list[AnyChange] = []
    if machine_type is not None:
        found.append(ChangeMachineType(kind="machine_type", machine_type=machine_type, datacenter=name))
    if nodes_per_zone is not None:
        fewer = any(nodes_per_zone < datacenter.nodes_per_zone for datacenter in of)
        found.insert(0 if fewer else len(found), Scale(kind="scale", nodes_per_zone=nodes_per_zone, datacenter=name))
    return found
