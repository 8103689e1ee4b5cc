"""How hard a repair works, changed while it goes on, and the brake: on real nodes.

Many small keyspaces are repaired, one segment each. First at intensity 100, then at 10, then at 100 again: how many
segments run at once, how many end in a second and what each node may send must follow. Then, at 10, one table gets
more data than compaction can take at once: the brake must be put on because of it, and be let go of when the backlog is
gone. Afterwards nodes may send what they may send otherwise. A busy machine may brake for reasons of its own (dropped
messages): what is expected takes that in. Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.repair_pace
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args

from e2e.product import change, follow, order, product
from e2e.trials.application import Connecting, connect
from e2e.trials.clusters import addresses, asked, connecting
from e2e.trials.retry_idempotent import RetryIdempotent

_KEYSPACES = tuple(f"pace_{number}" for number in range(64))
_FAST, _SLOW = 100, 10
# Segments that are waited for at full intensity, and seconds of looking at a tenth of it.
_ENOUGH, _WHILE = 10, 30.0
_LOOK = 0.25
# A node writes one MiB/s in compactions, and this table is to be in files of one MiB: so many are a minute's work.
_BACKLOG_MIB, _ROW_BYTES = 48, 64 << 10
_LONGEST = {"changed": 60.0, "braked": 120.0, "let go": 420.0, "ended": 300.0, "enough": 120.0}


@dataclass(frozen=True)
class Seen:
    """What was seen of a run in so many `seconds`. `stream_mib_s`: what each node might send at the end of them.

    `brake`: its factor before.
    """

    intensity: int
    brake: float
    seconds: float
    segments: int
    most_at_once: int
    stream_mib_s: list[int]

    @property
    def per_second(self) -> float:
        return round(self.segments / self.seconds, 2)


@dataclass(frozen=True)
class Ground:
    api: httpx.Client
    cluster: str
    known: Connecting
    run: str

    def ask(self, path: str, **query: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.api.get(f"/clusters/{self.cluster}{path}", params=query).raise_for_status().json()
        return found

    def told(self) -> dict[str, Any]:
        return self.ask(f"/repairs/runs/{self.run}")

    def at_once(self) -> int:
        return len(self.ask(f"/repairs/runs/{self.run}/segments", state="running")["items"])

    def set_intensity(self, intensity: int) -> None:
        wanted = {"intensity": intensity}
        self.api.patch(f"/clusters/{self.cluster}/repairs/schedule", json=wanted).raise_for_status()

    def brake(self) -> dict[str, Any]:
        found: dict[str, Any] = self.told()["brake"]
        return found

    def limits(self) -> list[int]:
        """What each node may send, MiB per second, as its running engine has it."""
        query = "SELECT value FROM system_views.settings WHERE name = 'stream_throughput_outbound'"
        told = [asked(address, self.known, query)[0] for address in addresses(self.api, self.cluster)]
        return [round(float(value.removesuffix("MiB/s"))) for value in told]

    def until(self, what: str, holds: Callable[[], bool]) -> float:
        """The seconds that it took. TimeoutError."""
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > _LONGEST[what]:
                raise TimeoutError(f"not {what} after {_LONGEST[what]:.0f} s: {self.told()}")
            time.sleep(_LOOK)
        return round(time.monotonic() - began, 1)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rm-pace-") as scratch, product(Path(scratch) / "run") as api:
        cluster, _ = order(api)
        follow(api, change(api, cluster, "settings", settings={"compaction_throughput_mib": 1}))
        known = connecting(api, cluster)
        with connect(known, RetryIdempotent()) as driver:
            session = driver.connect()
            _make_tables(session, known)
            found = _tried(api, cluster, known, session)
    print(json.dumps({"trial": "repair_pace", **found}))
    return 0 if found["good"] else 1


def _tried(api: httpx.Client, cluster: str, known: Connecting, session: Session) -> dict[str, Any]:
    before = Ground(api, cluster, known, "").limits()
    api.patch(f"/clusters/{cluster}/repairs/schedule", json={"intensity": _FAST}).raise_for_status()
    asked_for = {"mode": "full", "any_time": True}
    started = api.post(f"/clusters/{cluster}/repairs/runs", json=asked_for).raise_for_status().json()
    here = Ground(api, cluster, known, started["run"]["id"])
    here.until("changed", lambda: here.told()["segments_done"] > 0)
    seen = [_watched(here, _FAST), _changed(here, _SLOW), _changed(here, _FAST)]
    here.set_intensity(_SLOW)
    brake = _braked(here, session)
    here.set_intensity(_FAST)
    here.until("ended", lambda: here.told()["state"] != "running")
    ended = here.told()
    after = here.limits()
    fast, slow, again = seen
    checks = {
        "more at once": min(fast.most_at_once, again.most_at_once) > slow.most_at_once == 1,
        "faster": min(fast.per_second, again.per_second) > 3 * slow.per_second,
        "limits follow": max(slow.stream_mib_s) <= 20 < min(fast.stream_mib_s + again.stream_mib_s),
        "the brake is on": brake["factor"] < brake["before"],
        "the brake is let go": brake["at_the_end"]["factor"] > brake["factor"],
        "limits are back": after == before,
        "all is repaired": (ended["state"], ended["segments_given_up"]) == ("done", 0),
    }
    return {
        "good": all(checks.values()),
        "off": [name for name, holds in checks.items() if not holds],
        "phases": [asdict(one) | {"per_second": one.per_second} for one in seen],
        "brake": brake,
        "segments": ended["segments_done"],
        "limits": {"before": before, "after": after},
    }


def _make_tables(session: Session, known: Connecting) -> None:
    replicated = f"WITH replication = {{'class': 'NetworkTopologyStrategy', '{known.datacenter}': 3}}"
    for keyspace in (*_KEYSPACES, "backlog"):
        session.execute(f"CREATE KEYSPACE {keyspace} {replicated}")
    for keyspace in _KEYSPACES:
        session.execute(f"CREATE TABLE {keyspace}.rows (key int PRIMARY KEY, word text)")
        session.execute(f"INSERT INTO {keyspace}.rows (key, word) VALUES (1, 'x')")
    session.execute(
        "CREATE TABLE backlog.rows (key int PRIMARY KEY, word blob) WITH compression = {'enabled': false} "
        "AND compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 1} "
        "AND memtable_flush_period_in_ms = 1000"
    )


def _changed(here: Ground, intensity: int, *, seconds: float = _WHILE) -> Seen:
    """After the intensity was changed and every node knows its new limit."""
    here.set_intensity(intensity)
    here.until("changed", lambda: set(here.limits()) == {_limit(intensity, here.brake()["factor"])})
    return _watched(here, intensity, seconds=seconds)


def _limit(intensity: int, brake: float) -> int:
    """What a node may send for repairs, MiB per second (docs/repairs.md)."""
    return max(8, round(2 * intensity * brake))


def _watched(here: Ground, intensity: int, *, seconds: float = _WHILE) -> Seen:
    began, done, brake = time.monotonic(), here.told()["segments_done"], here.brake()["factor"]
    most = 0

    def enough() -> bool:
        nonlocal most
        most = max(most, here.at_once())
        if intensity == _FAST:
            return bool(here.told()["segments_done"] >= done + _ENOUGH)
        return time.monotonic() - began >= seconds

    here.until("enough", enough)
    lasted = time.monotonic() - began
    segments = here.told()["segments_done"] - done
    return Seen(intensity, brake, round(lasted, 1), segments, most, here.limits())


def _braked(here: Ground, session: Session) -> dict[str, Any]:
    """What the brake did about a backlog of compactions: when it came on, how far, and when it was first let go of."""
    before = here.brake()["factor"]
    insert = session.prepare("INSERT INTO backlog.rows (key, word) VALUES (?, ?)")
    insert.is_idempotent = True
    rows = [(key, os.urandom(_ROW_BYTES)) for key in range((_BACKLOG_MIB << 20) // _ROW_BYTES)]
    execute_concurrent_with_args(session, insert, rows, concurrency=16)
    on_after = here.until("braked", lambda: "compactions are pending" in here.brake()["reason"])
    lowest = here.brake()
    here.until("changed", lambda: set(here.limits()) == {_limit(_SLOW, here.brake()["factor"])})
    limits = here.limits()

    def let_go() -> bool:
        nonlocal lowest
        now = here.brake()
        lowest = min(now, lowest, key=lambda brake: float(brake["factor"]))
        return bool(now["factor"] > lowest["factor"])

    off_after = here.until("let go", let_go)
    return {
        **lowest,
        "before": before,
        "on_after_seconds": on_after,
        "let_go_after_seconds": off_after,
        "stream_mib_s": limits,
        "at_the_end": here.brake(),
    }


if __name__ == "__main__":
    sys.exit(main())
