"""The plans of the operations on connections."""

from collections.abc import Sequence

from backend.clusters.models import Datacenter
from backend.clusters.plans import allow_clients
from backend.operations.actions import PlannedStep

CREATE_SECONDS = 5
DELETE_SECONDS = 5

Groups = list[list[PlannedStep]]


def create(name: str, firewalls: Sequence[Datacenter]) -> Groups:
    """`firewalls`: the data centres whose firewalls must let its clients in."""
    first = PlannedStep("ensure_connection", "Ask the provider for the connection", "", name, deadline_seconds=300)
    return [[first], *([allow_clients(datacenter)] for datacenter in firewalls)]


def delete(name: str, firewalls: Sequence[Datacenter]) -> Groups:
    last = PlannedStep("delete_connection", "Delete the connection", "", name, deadline_seconds=300)
    return [*([allow_clients(datacenter)] for datacenter in firewalls), [last]]
