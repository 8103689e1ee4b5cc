"""Who orders things in a campaign."""

import random
from dataclasses import dataclass

from backend.accounts.models import Membership, Organisation, User
from backend.accounts.queries import Identity
from backend.accounts.states import PERMISSIONS, Role
from backend.clusters.models import Cluster
from backend.clusters.states import ClusterState
from provisioner.agent.fake import FakeAgents


@dataclass
class Tenant:
    who: Identity
    choose: random.Random
    agents: FakeAgents
    made: int = 0

    def cluster(self, *states: ClusterState) -> Cluster | None:
        """One of the tenant's clusters in one of these states, by chance."""
        found = list(Cluster.objects.filter(organisation_id=self.who.organisation_id, state__in=states).order_by("id"))
        return self.choose.choice(found) if found else None

    def serving(self) -> Cluster | None:
        return self.cluster(ClusterState.ACTIVE, ClusterState.DEGRADED)


def operation_of(started: dict[str, dict[str, str]]) -> str:
    """The id of what an order has started."""
    return started["operation"]["id"]


def owner(number: int) -> Identity:
    organisation = Organisation.objects.create(name=f"Tenant {number}", slug=f"tenant-{number}")
    user = User.objects.create(email=f"owner@tenant-{number}.example")
    Membership.objects.create(organisation=organisation, user=user, role=Role.OWNER)
    return Identity(
        organisation_id=organisation.id,
        user_id=user.id,
        user_email=user.email,
        role=Role.OWNER,
        permissions=PERMISSIONS[Role.OWNER],
        token_id=None,
        source_address=None,
        request_id="campaign",
    )
