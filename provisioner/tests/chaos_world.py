"""The world of a campaign: a fake provider and fake agents, in files that all processes share, and their faults."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from provisioner.agent.fake import AgentFault, FakeAgents
from provisioner.operations.surroundings import Surroundings
from provisioner.providers.fake import FakeProvider, FakeSettings
from provisioner.providers.fake_faults import SLOW, UNSEEN, Fault, Moment
from provisioner.tests.chaos_membership import Members

REGION = "fake-1"
ZONES = ("fake-1a", "fake-1b", "fake-1c")
SECOND_REGION = "fake-2"
SECOND_ZONES = ("fake-2a",)

# What strikes while orders come in. "After the effect" is a time-out: it happened, and nobody was told.
PROVIDER_FAULTS = (
    Fault(name="rate-limited", probability=0.03),
    Fault(name="connection-lost", probability=0.02),
    Fault(name="connection-lost", call="ensure_*", moment=Moment.AFTER, probability=0.05),
    Fault(name="connection-lost", call="delete_*", moment=Moment.AFTER, probability=0.05),
    Fault(name="out-of-capacity", call="ensure_machine", probability=0.01),
    Fault(name="quota-exceeded", call="ensure_machine", probability=0.01),
    Fault(name=SLOW, call="*_machine", moment=Moment.DELAYED, probability=0.05, seconds=0.5),
    Fault(name=UNSEEN, call="ensure_machine", moment=Moment.DELAYED, probability=0.05, seconds=0.5),
)
AGENT_FAULTS = (
    AgentFault(name="unreachable", probability=0.02),
    AgentFault(name="reply-lost", probability=0.03),
    AgentFault(name="job-failed", probability=0.01),
)


@dataclass(frozen=True)
class FakeWorld:
    folder: Path
    provider: FakeProvider
    agents: FakeAgents

    def surroundings(self) -> Surroundings:
        from provisioner.engines import registry as engines

        return Surroundings(
            provider=lambda name, account=None: self.provider,
            engine=engines.engine,
            agent=lambda node: self.agents.client(node_id=node.id, address=node.agent_address),
            served_certificate=lambda node: self.agents.client(
                node_id=node.id, address=node.agent_address
            ).served_certificate(),
        )

    def begin_faults(self) -> None:
        for provider_fault in PROVIDER_FAULTS:
            self.provider.inject(provider_fault)
        for agent_fault in AGENT_FAULTS:
            self.agents.inject(agent_fault)

    def end_faults(self) -> int:
        """How often they have struck at the provider."""
        struck = self.provider.strikes()
        self.provider.end_faults()
        self.agents.end_faults()
        return struck

    def keep_every_ring(self) -> None:
        """From now on the file of the agents keeps every state that a ring was ever in, however short."""
        with closing(sqlite3.connect(self.folder / "agents.sqlite", timeout=10)) as database:
            database.executescript(
                """
                CREATE TABLE was (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, body TEXT);
                CREATE TRIGGER keep_ring AFTER INSERT ON document WHEN NEW.id LIKE 'membership %'
                BEGIN INSERT INTO was (id, body) VALUES (NEW.id, NEW.body); END;
                """
            )

    def rings_since(self, number: int) -> list[tuple[int, str, Members]]:
        """Every state of every ring after the `number`-th, in order: number, ring, members by host id."""
        with closing(sqlite3.connect(self.folder / "agents.sqlite", timeout=5)) as database:
            rows = database.execute("SELECT number, id, body FROM was WHERE number > ? ORDER BY number", (number,))
            return [(at, name.partition(" ")[2], json.loads(body)["members"]) for at, name, body in rows]


def fake_world(folder: Path) -> FakeWorld:
    """The same world for everyone who names the same folder."""
    provider = FakeProvider(FakeSettings(path=folder / "provider.sqlite"))
    return FakeWorld(folder, provider, FakeAgents(folder / "agents.sqlite", powered=provider.has_power))
