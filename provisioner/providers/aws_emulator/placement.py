"""Placement groups, which moto does not have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from provisioner.providers.aws_emulator import answers
from provisioner.providers.aws_emulator.answers import Answer
from provisioner.providers.aws_emulator.parameters import filters, tag_specification

_SPREAD_LIMIT = 7


@dataclass
class PlacementGroup:
    """`members`: instance id → zone."""

    name: str
    strategy: str
    tags: Mapping[str, str]
    members: dict[str, str] = field(default_factory=dict)


class PlacementGroups:
    """Those of one region."""

    def __init__(self) -> None:
        self.groups: dict[str, PlacementGroup] = {}

    def create(self, form: Mapping[str, str]) -> Answer:
        name = form["GroupName"]
        if name in self.groups:
            return answers.error("InvalidPlacementGroup.Duplicate", f"Placement group {name} exists")
        self.groups[name] = PlacementGroup(name, form["Strategy"], tag_specification(form, "placement-group"))
        return answers.ec2("CreatePlacementGroup", {"placementGroup": self._shown(self.groups[name])})

    def delete(self, form: Mapping[str, str]) -> Answer:
        group = self.groups.get(form["GroupName"])
        if group is None:
            return answers.error("InvalidPlacementGroup.Unknown", f"No placement group {form['GroupName']}")
        if group.members:
            return answers.error("InvalidPlacementGroup.InUse", f"Placement group {group.name} is in use")
        del self.groups[group.name]
        return answers.ec2("DeletePlacementGroup", {"return": "true"})

    def describe(self, form: Mapping[str, str]) -> Answer:
        wanted = filters(form)
        shown = [group for group in self.groups.values() if _has(group, wanted)]
        return answers.ec2("DescribePlacementGroups", {"placementGroupSet": [self._shown(one) for one in shown]})

    def refusal(self, name: str, zone: str) -> Answer | None:
        """Why an instance cannot be put there."""
        group = self.groups.get(name)
        if group is None:
            return answers.error("InvalidPlacementGroup.Unknown", f"No placement group {name}")
        neighbours = sum(1 for other in group.members.values() if other == zone)
        if group.strategy == "spread" and neighbours >= _SPREAD_LIMIT:
            return answers.error(
                "PlacementGroupInstanceLimitExceeded", f"{name} has {_SPREAD_LIMIT} running instances in {zone}"
            )
        return None

    def leave(self, instance: str) -> None:
        for group in self.groups.values():
            group.members.pop(instance, None)

    def _shown(self, group: PlacementGroup) -> dict[str, object]:
        return {
            "groupName": group.name,
            "strategy": group.strategy,
            "state": "available",
            "tagSet": [{"key": key, "value": value} for key, value in group.tags.items()],
        }


def _has(group: PlacementGroup, wanted: Mapping[str, Sequence[str]]) -> bool:
    return all(
        name.startswith("tag:") and group.tags.get(name.removeprefix("tag:")) in values
        for name, values in wanted.items()
    )
