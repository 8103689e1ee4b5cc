"""Watches who is a member of every simulated ring during a campaign, and complains when a change was not safe.

1. Never two changes at once: at most one member of a ring is joining or leaving.
2. No next change before all live nodes agree: one that begins finds every other member in its place.
3. No dead node leaves the ring, and none takes its place, before its machine is terminated.

The simulated agents refuse the worst themselves; this looks at what came of it from outside.
"""

import sqlite3
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Members = Mapping[str, Mapping[str, str]]
EVERY = 0.05  # seconds


@dataclass
class Judge:
    """Compares each state of a ring with the one before. `is_there`: whether a machine has this agent address."""

    is_there: Callable[[str], bool]
    before: dict[str, Members] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    changes: int = 0

    def look(self, ring: str, members: Members) -> None:
        earlier = self.before.get(ring, {})
        self.before[ring] = members
        changing = {host for host, member in members.items() if member["state"] != "NORMAL"}
        if len(changing) > 1:
            self.complaints.append(f"{ring}: {len(changing)} members change at once")
        was_changing = {host for host, member in earlier.items() if member["state"] != "NORMAL"}
        if changing - was_changing:
            self.changes += 1
            if was_changing & changing:
                self.complaints.append(f"{ring}: a change began before the one before was over")
        for host, member in earlier.items():
            now = members.get(host)
            gone_or_replaced = now is None or now["agent_address"] != member["agent_address"]
            # A node that leaves by itself lives until it has left; one that joined may have been given up.
            if gone_or_replaced and member["state"] == "NORMAL" and self.is_there(member["agent_address"]):
                self.complaints.append(f"{ring}: {member['agent_address']} was taken out while its machine was there")


@dataclass
class Monitor:
    """A thread that shows the judge every state that a ring was in, soon after. `rings_since`: those after a number."""

    rings_since: Callable[[int], list[tuple[int, str, Members]]]
    judge: Judge
    looks: int = 0
    last: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._watch, name="membership", daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            try:
                rings = self.rings_since(self.last)
            except sqlite3.OperationalError:
                continue  # somebody writes
            for self.last, ring, members in rings:
                self.looks += 1
                self.judge.look(ring, members)
