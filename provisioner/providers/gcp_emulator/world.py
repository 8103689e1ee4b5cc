"""The state of the emulated project: resources, operations, what is to happen when, and the faults to come.

Everything is in the memory of the server's process, behind one lock; clients of any process see the same world.
"""

import datetime
import heapq
import itertools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.cloud import compute_v1

from provisioner.providers.gcp_emulator.errors import ApiError, already_exists, not_found
from provisioner.providers.gcp_emulator.faults import Fault, Moment, Standing
from provisioner.providers.gcp_emulator.geography import QUOTAS, REGIONS

LINKS = "https://www.googleapis.com/compute/v1/"


class Handle(Protocol):
    """A program that runs on an emulated machine."""

    def stop(self, *, orderly: bool) -> None: ...


Program = Callable[[compute_v1.Instance], Handle]


@dataclass(frozen=True)
class Effect:
    """Something that really happened: made, booted, stopped, deleted; to the resource of this path."""

    effect: str
    path: str


@dataclass(order=True)
class _Event:
    at: float
    number: int
    happen: Callable[[], None] = field(compare=False)


class World:
    """`operation_seconds`: from a call to its effect. `boot_seconds`: from then until a machine runs."""

    def __init__(
        self,
        *,
        project: str = "test-project",
        seed: int = 0,
        operation_seconds: float = 0.0,
        boot_seconds: float = 0.0,
        page_size: int = 500,
        loopback: int | None = None,
        program: Program | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.project = project
        self.operation_seconds = operation_seconds
        self.boot_seconds = boot_seconds
        self.page_size = page_size
        self.loopback = loopback
        self.program = program
        self.lock = threading.RLock()
        self.resources: dict[str, Any] = {}
        self.operations: dict[str, compute_v1.Operation] = {}
        self.requests: dict[str, str] = {}
        self.quotas = {(region, metric): limit for region in REGIONS for metric, limit in QUOTAS.items()}
        self.exhausted_zones: set[str] = set()
        self.unreachable_zones: set[str] = set()
        self.denied: set[str] = set()
        self.impersonable: set[str] = set()
        """E-mails of service accounts that whoever calls may act as."""
        self.used_permissions: set[str] = set()
        self.calls: list[str] = []
        self.history: list[Effect] = []
        self.handles: dict[str, Handle] = {}
        self._seed = seed
        self._clock = clock
        self._numbers = itertools.count(1)
        self._events: list[_Event] = []
        self._faults: list[Standing] = []

    # What tests do to the world.

    def inject(self, fault: Fault) -> None:
        with self.lock:
            self._faults.append(Standing(fault=fault, number=next(self._numbers)))

    def end_faults(self) -> int:
        """How often those that stood have struck."""
        with self.lock:
            strikes = self.strikes()
            self._faults.clear()
        return strikes

    def strikes(self) -> int:
        with self.lock:
            return sum(standing.strikes for standing in self._faults)

    def inventory(self) -> list[str]:
        """Everything that somebody made, but images, which are the test's own."""
        with self.lock:
            self.settle()
            return sorted(path for path in self.resources if not path.startswith("global/images/"))

    def add_image(self, *, engine: str, version: str, name: str = "", status: str = "READY") -> str:
        """An image as the bake leaves it; its name."""
        label = version.replace(".", "-")
        name = name or f"{engine}-{label}"
        image = compute_v1.Image(
            name=name,
            family=engine,
            architecture="X86_64",
            status=status,
            labels={"ringmaster-engine": engine, "ringmaster-engine-version": label},
        )
        with self.lock:
            self.add(f"global/images/{name}", image, "made")
        return name

    def announce_maintenance(self, name: str, *, starts: str) -> None:
        """What GCP says of a machine before it takes it down; `starts` as RFC 3339."""
        with self.lock:
            for path, resource in self.resources.items():
                if path.endswith(f"/instances/{name}"):
                    resource.resource_status = compute_v1.ResourceStatus(
                        upcoming_maintenance=compute_v1.UpcomingMaintenance(
                            type_="SCHEDULED", window_start_time=starts, maintenance_status="PENDING"
                        )
                    )

    # What the API does to it.

    def number(self) -> int:
        return next(self._numbers)

    def now(self) -> str:
        return datetime.datetime.fromtimestamp(self._clock(), datetime.UTC).isoformat()

    def link(self, path: str) -> str:
        return f"{LINKS}projects/{self.project}/{path}"

    def path(self, link: str) -> str:
        """Of a resource of this project, which clients may name in full or in part."""
        return link.removeprefix(LINKS).removeprefix(f"projects/{self.project}/")

    def get(self, path: str) -> Any:
        if path not in self.resources:
            raise not_found(f"projects/{self.project}/{path}")
        return self.resources[path]

    def add(self, path: str, resource: Any, effect: str) -> None:
        if path in self.resources:
            raise already_exists(f"projects/{self.project}/{path}")
        resource.id = 10**15 + self.number()
        resource.self_link = self.link(path)
        resource.creation_timestamp = self.now()
        self.resources[path] = resource
        self.note(effect, path)

    def remove(self, path: str) -> None:
        if self.resources.pop(path, None) is not None:
            self.note("deleted", path)

    def note(self, effect: str, path: str) -> None:
        self.history.append(Effect(effect, path))

    def below(self, collection: str) -> list[tuple[str, Any]]:
        """Resources of a collection such as `zones/us-central1-a/instances`, by path."""
        return sorted((p, r) for p, r in self.resources.items() if p.rpartition("/")[0] == collection)

    def draw(self, call: str, target: str) -> list[Fault]:
        return [s.fault for s in self._faults if s.draw(seed=self._seed, call=call, target=target)]

    def operate(
        self,
        *,
        kind: str,
        path: str,
        scope: str,
        request: str,
        faults: list[Fault],
        effect: Callable[[], None],
        fail: Callable[[], None] = lambda: None,
        error: tuple[str, str] | None = None,
    ) -> compute_v1.Operation:
        """An operation on the resource of this path; `fail` undoes what showed at once.

        `error` (code and sentence) makes it end with that. The answer says RUNNING, as the real one does; whoever looks
        again sees how it ended.
        """
        for fault in faults:
            if fault.moment is Moment.INSIDE:
                error = (fault.name, f"injected {fault.name}")
        number = self.number()
        operation = compute_v1.Operation(
            id=number,
            name=f"operation-{number}",
            client_operation_id=request,
            operation_type=kind,
            target_link=self.link(path),
            status="RUNNING",
            insert_time=self.now(),
            start_time=self.now(),
        )
        if scope.startswith("zones/"):
            operation.zone = self.link(scope)
        elif scope.startswith("regions/"):
            operation.region = self.link(scope)
        if path in self.resources:
            operation.target_id = self.resources[path].id
        self.operations[f"{scope}/operations/{operation.name}"] = operation
        if request:
            self.requests[request] = f"{scope}/operations/{operation.name}"

        def finish() -> None:
            if error is None:
                effect()
            else:
                fail()
                operation.error = compute_v1.Error(errors=[compute_v1.Errors(code=error[0], message=error[1])])
                operation.http_error_status_code = 503
            done: Any = compute_v1.Operation.Status.DONE
            operation.status, operation.progress, operation.end_time = done, 100, self.now()

        self.later(self.operation_seconds, finish)
        return compute_v1.Operation(operation)

    def later(self, seconds: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, _Event(self._clock() + seconds, self.number(), happen))

    def settle(self) -> None:
        """Let happen what is due."""
        while self._events and self._events[0].at <= self._clock():
            heapq.heappop(self._events).happen()

    def stop_program(self, path: str, *, orderly: bool) -> None:
        if handle := self.handles.pop(path, None):
            handle.stop(orderly=orderly)

    def start_program(self, path: str) -> None:
        if self.program is not None:
            self.stop_program(path, orderly=False)
            self.handles[path] = self.program(self.resources[path])

    def require(self, *permissions: str) -> None:
        for permission in permissions:
            self.used_permissions.add(permission)
            if permission in self.denied:
                raise ApiError(403, "forbidden", f"Required '{permission}' permission for 'projects/{self.project}'")


def document(message: Any) -> dict[str, Any]:
    """A message as the API writes it."""
    text = type(message).to_json(message, use_integers_for_enums=False, always_print_fields_with_no_presence=False)
    read: dict[str, Any] = json.loads(text)
    return read
