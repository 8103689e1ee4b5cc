"""An application of a cluster, as its users write one: writers and readers in a process of their own.

It connects as our Python snippet does (TLS with the cluster's own CA, token-aware and data-centre-aware), with the
retry policy of docs/applications.md and idempotent statements. Writers put rows under ever new keys; readers fetch
rows whose write was acknowledged and compare. What is counted is what an application sees: a request has failed when
the driver, after all its retries, raises an error.

`python -m e2e.trials.application` is that process: orders come as JSON lines on stdin, answers as JSON lines on stdout.
"""

import hashlib
import itertools
import json
import random
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import ConstantReconnectionPolicy, DCAwareRoundRobinPolicy, RetryPolicy, TokenAwarePolicy
from cassandra.query import PreparedStatement, SimpleStatement

from e2e.trials.retry_idempotent import RetryIdempotent

_ERRORS_SHOWN = 10
_READ_BACK_TRIES = 5
_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class Connecting:
    """How to reach a cluster (the fields of GET /clusters/{id}/connection) and how to work on it.

    `consistency` is a name of the driver's; `per_second` is the pace of each writer and of each reader.
    """

    contact_points: list[str]
    port: int
    datacenter: str
    ca_certificate: str
    username: str
    password: str
    replication: int
    consistency: str = "QUORUM"
    keyspace: str = "application"
    writers: int = 2
    readers: int = 2
    per_second: float = 25.0


@dataclass(frozen=True)
class Counted:
    """What the application saw since the last `begin`.

    `longest_gap_seconds`: the longest time that any one writer was without an acknowledged write; `wrong_reads`: reads
    that answered without the row whose write was acknowledged before, or with another value.
    """

    seconds: float
    requests: int
    retries: int
    failed: int
    acknowledged: int
    wrong_reads: int
    longest_gap_seconds: float
    errors: list[str]


@dataclass(frozen=True)
class ReadBack:
    """Acknowledged rows read again: how many there are, and the keys of those that are gone or differ."""

    consistency: str
    rows: int
    lost: list[int]


# ---- The application's own process ----


class _CountingRetries(RetryIdempotent):
    """The same, and says how often it tried again."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._lock = threading.Lock()

    def again(self, query: Any, retry_num: int) -> tuple[int, int | None]:
        decision: tuple[int, int | None] = super().again(query, retry_num)  # type: ignore[no-untyped-call]
        if decision[0] != self.RETHROW:
            with self._lock:
                self.count += 1
        return decision


@dataclass
class _Tally:
    """Counts since `begin`; guarded by the application's lock."""

    began: float
    retries_before: int
    requests: int = 0
    failed: int = 0
    acknowledged: int = 0
    wrong_reads: int = 0
    longest_gap: float = 0.0
    errors: list[str] = field(default_factory=list)


class Application:
    """Writers and readers that go on until the process ends."""

    def __init__(self, connecting: Connecting) -> None:
        self._connecting = connecting
        self._retries = _CountingRetries()
        self._lock = threading.Lock()
        self._keys = itertools.count()
        self._acknowledged: list[int] = []
        self._last_acknowledged: dict[int, float] = {}
        self._tally = _Tally(time.monotonic(), 0)
        self._cluster = connect(connecting, self._retries)
        session = self._cluster.connect()
        session.execute(
            f"CREATE KEYSPACE IF NOT EXISTS {connecting.keyspace} WITH replication = "
            f"{{'class': 'NetworkTopologyStrategy', '{connecting.datacenter}': {connecting.replication}}}"
        )
        session.execute(f"CREATE TABLE IF NOT EXISTS {connecting.keyspace}.rows (key bigint PRIMARY KEY, word text)")
        self._session = session
        self._insert = self._prepare("INSERT INTO {}.rows (key, word) VALUES (?, ?)")
        self._select = self._prepare("SELECT word FROM {}.rows WHERE key = ?")

    def _prepare(self, text: str) -> PreparedStatement:
        statement = self._session.prepare(text.format(self._connecting.keyspace))
        statement.is_idempotent = True
        return statement

    def start(self) -> None:
        loops = [(self._write, number) for number in range(self._connecting.writers)]
        loops += [(self._read, number) for number in range(self._connecting.readers)]
        for loop, number in loops:
            threading.Thread(target=self._pace, args=(loop, number), daemon=True).start()

    def _pace(self, act: Callable[[int], None], number: int) -> None:
        """One request after another, at most `per_second`; what was late is not made up for."""
        pause = 1 / self._connecting.per_second
        while True:
            began = time.monotonic()
            act(number)
            time.sleep(max(0.0, pause - (time.monotonic() - began)))

    def _write(self, number: int) -> None:
        key = next(self._keys)
        with self._lock:
            since = self._last_acknowledged.setdefault(number, time.monotonic())
            self._tally.requests += 1
        try:
            self._session.execute(self._insert, (key, _word(key)))
        except Exception as error:  # whatever the driver raises is a failed request, and what it was is told
            self._failed(f"write {key}", error)
        else:
            with self._lock:
                now = time.monotonic()
                self._acknowledged.append(key)
                self._last_acknowledged[number] = now
                self._tally.acknowledged += 1
                # A gap that began before `begin` counts from there.
                gap = now - max(since, self._tally.began)
                self._tally.longest_gap = max(self._tally.longest_gap, gap)

    def _read(self, number: int) -> None:
        with self._lock:
            if not self._acknowledged:
                return
            key = random.choice(self._acknowledged)
            self._tally.requests += 1
        try:
            row = self._session.execute(self._select, (key,)).one()
        except Exception as error:  # as above
            self._failed(f"read {key}", error)
            return
        if row is None or row.word != _word(key):
            with self._lock:
                self._tally.wrong_reads += 1
                self._note(f"read {key}: {'no row' if row is None else 'another value'}")

    def _failed(self, what: str, error: Exception) -> None:
        with self._lock:
            self._tally.failed += 1
            self._note(f"{what}: {type(error).__name__}: {error}"[:300])

    def _note(self, text: str) -> None:
        if len(self._tally.errors) < _ERRORS_SHOWN:
            self._tally.errors.append(f"{time.monotonic() - self._tally.began:.1f} s: {text}")

    def begin(self) -> dict[str, Any]:
        """Counts anew. Rows written before stay known and are read back all the same."""
        with self._lock:
            self._tally = _Tally(time.monotonic(), self._retries.count)
        return {}

    def report(self) -> dict[str, Any]:
        """A `Counted`. A gap that has not ended yet counts too."""
        with self._lock:
            now, tally = time.monotonic(), self._tally
            open_gaps = [now - max(since, tally.began) for since in self._last_acknowledged.values()]
            return asdict(
                Counted(
                    seconds=round(now - tally.began, 1),
                    requests=tally.requests,
                    retries=self._retries.count - tally.retries_before,
                    failed=tally.failed,
                    acknowledged=tally.acknowledged,
                    wrong_reads=tally.wrong_reads,
                    longest_gap_seconds=round(max([tally.longest_gap, *open_gaps]), 2),
                    errors=list(tally.errors),
                )
            )

    def read_back(self, consistency: str) -> dict[str, Any]:
        """A `ReadBack` of every acknowledged row so far, by reading the whole table; raises when it cannot."""
        with self._lock:
            keys = list(self._acknowledged)
        everything = SimpleStatement(
            f"SELECT key, word FROM {self._connecting.keyspace}.rows",
            consistency_level=ConsistencyLevel.name_to_value[consistency],
            fetch_size=_PAGE,
            is_idempotent=True,
        )
        for left in reversed(range(_READ_BACK_TRIES)):
            try:
                found = {row.key: row.word for row in self._session.execute(everything)}
                break
            except Exception:  # whatever the driver raises: the nodes may be busy; the last try tells
                if not left:
                    raise
                time.sleep(2)
        lost = sorted(key for key in keys if found.get(key) != _word(key))
        return asdict(ReadBack(consistency=consistency, rows=len(keys), lost=lost))


def _word(key: int) -> str:
    """What is written under a key: it can be computed again, so nothing but keys must be remembered."""
    return hashlib.sha256(str(key).encode()).hexdigest() * 4


def connect(connecting: Connecting, retries: RetryPolicy) -> Cluster:
    """As the Python snippet of the Connect tab does it, with the retry policy of docs/applications.md."""
    return Cluster(
        contact_points=connecting.contact_points,
        port=connecting.port,
        ssl_context=ssl.create_default_context(cadata=connecting.ca_certificate),
        auth_provider=PlainTextAuthProvider(connecting.username, connecting.password),
        protocol_version=5,
        reconnection_policy=ConstantReconnectionPolicy(delay=1.0, max_attempts=None),
        execution_profiles={
            EXEC_PROFILE_DEFAULT: ExecutionProfile(
                load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(connecting.datacenter)),
                consistency_level=ConsistencyLevel.name_to_value[connecting.consistency],
                retry_policy=retries,
                request_timeout=20,
            )
        },
    )


def main() -> int:
    application = Application(Connecting(**json.loads(sys.stdin.readline())))
    application.start()
    _answer({})
    orders: dict[str, Callable[..., dict[str, Any]]] = {
        "begin": application.begin,
        "report": application.report,
        "read_back": application.read_back,
    }
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        _answer(orders[name](*arguments))
    return 0


def _answer(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


# ---- The side of the trial ----


class Running:
    """A running application, for the trial that started it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self) -> None:
        self._ask("begin")

    def report(self) -> Counted:
        return Counted(**self._ask("report"))

    def read_back(self, consistency: str) -> ReadBack:
        return ReadBack(**self._ask("read_back", consistency))

    def _ask(self, *order: str) -> dict[str, Any]:
        return self._exchange(json.dumps(order))

    def _exchange(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the application has ended with {self._process.wait(10)}")
        found: dict[str, Any] = json.loads(answer)
        return found

    def connect(self, connecting: Connecting) -> None:
        """Returns when it works."""
        self._exchange(json.dumps(asdict(connecting)))


@contextmanager
def application(connecting: Connecting, *, log: Path) -> Iterator[Running]:
    """Runs an application until the block ends. What it and the driver say goes to `log`."""
    with log.open("ab") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "e2e.trials.application"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    try:
        running = Running(process)
        running.connect(connecting)
        yield running
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
