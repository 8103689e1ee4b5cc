"""What an account has room for in a region, as its cloud told last: the arithmetic. Pure; queries.py reads it.

The backend never talks to a cloud. The provisioner asks every cloud once a minute and writes the answers down
(RegionCapacity); what was accepted since, and is not in those answers yet, is counted on top.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

OLD = timedelta(minutes=10)
"""An answer of the cloud that is older is still used, and said to be old."""


@dataclass(frozen=True, kw_only=True)
class QuotaFacts:
    """`per_machine`: what one machine of a type takes of it, by the name of the type."""

    name: str
    limit: float
    used: float
    per_machine: Mapping[str, float]
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """Why it does not fit, with the arithmetic. `field`: of an order, that is to be changed."""

    code: str
    sentence: str
    hint: str
    field: str


@dataclass(frozen=True, kw_only=True)
class Room:
    """`whose`: the account, for sentences. `promised`: nodes by machine type that `used` does not contain yet.

    `answered_at` None: the cloud has never answered. `problem`: why it did not when it was asked last.
    """

    whose: str
    region: str
    quotas: tuple[QuotaFacts, ...] = ()
    offered: Mapping[str, frozenset[str]] | None = None
    promised: Mapping[str, int] = field(default_factory=dict)
    answered_at: datetime | None = None
    problem: str = ""

    def promised_of(self, quota: QuotaFacts) -> float:
        return sum(count * quota.per_machine.get(name, 0) for name, count in self.promised.items())

    def left_of(self, quota: QuotaFacts) -> float:
        return max(0.0, quota.limit - quota.used - self.promised_of(quota))

    def nodes_that_fit(self, machine_type: str) -> int | None:
        """How many more; None where no quota that is known counts them."""
        fit = [
            int(self.left_of(quota) // quota.per_machine[machine_type])
            for quota in self.quotas
            if quota.per_machine.get(machine_type)
        ]
        return min(fit, default=None)

    def zones_without(self, machine_type: str) -> list[str]:
        """Zones that do not offer the type."""
        if self.offered is None:
            return []
        return sorted(zone for zone, names in self.offered.items() if machine_type not in names)

    def shortage(self, machine_type: str, nodes: Mapping[str, int]) -> Shortage | None:
        """Why so many more nodes (by zone) cannot be had; None: as far as is known, they can."""
        without = [zone for zone in nodes if zone in self.zones_without(machine_type)]
        if without:
            having = sorted(zone for zone, names in (self.offered or {}).items() if machine_type in names)
            return Shortage(
                code="machine_type_not_offered",
                sentence=f"{', '.join(without)} does not offer {machine_type}.",
                hint=f"It is offered in {', '.join(having)}." if having else "No zone of the region offers it.",
                field="machine_type",
            )
        return self._over({machine_type: sum(nodes.values())})

    def shortage_of_moving(self, old: Iterable[str], machine_type: str) -> Shortage | None:
        """The same for nodes that move one by one from types to a type: the most that is taken at once counts."""
        old = list(old)
        for quota in self.quotas:
            one = quota.per_machine.get(machine_type, 0)
            peak, grown = 0.0, 0.0
            for before in old:
                peak = max(peak, grown + one)
                grown += one - quota.per_machine.get(before, 0)
            if peak > self.left_of(quota):
                return self._shortage(quota, peak, f"moving {len(old)} nodes one by one needs", "machine_type")
        return None

    def warning(self, now: datetime) -> str | None:
        """What people should know of how sure this is; None: the cloud has just been asked."""
        if self.answered_at is None:
            why = f": {self.problem}" if self.problem else " yet."
            return f"{self.whose} could not be asked what it has room for in {self.region}{why}"
        if self.problem or now - self.answered_at > OLD:
            why = f" It could not be asked since: {self.problem}" if self.problem else ""
            return f"What {self.region} has room for was told at {self.answered_at:%Y-%m-%d %H:%M} UTC.{why}"
        return None

    def _over(self, nodes: Mapping[str, int]) -> Shortage | None:
        for quota in self.quotas:
            needed = sum(count * quota.per_machine.get(name, 0) for name, count in nodes.items())
            if needed > self.left_of(quota):
                return self._shortage(quota, needed, "this needs", "nodes_per_zone")
        return None

    def _shortage(self, quota: QuotaFacts, needed: float, doing: str, where: str) -> Shortage:
        promised = self.promised_of(quota)
        taken = f"{quota.used:g} are used" + (f", {promised:g} are promised to nodes being made" if promised else "")
        return Shortage(
            code="quota_exceeded",
            sentence=f"{self.whose} has {quota.limit:g} of the quota {quota.name} in {self.region}: {taken}, "
            f"{self.left_of(quota):g} are left; {doing} {needed:g}.",
            hint=quota.hint or "Take fewer or smaller nodes, or ask for more of the quota.",
            field=where,
        )
