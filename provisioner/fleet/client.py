"""How a worker reaches the simulated fleet: a `Provider`, and agents spoken to with the client of the real ones.

The agents' client is the product's own but for TLS, so that what a look at a node costs is measured with it.
"""

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from provisioner.agent.base import AgentClient
from provisioner.agent.client import HttpAgentClient
from provisioner.fleet.simulator import UNREACHABLE
from provisioner.providers import base
from provisioner.providers.base import (
    Capacity,
    Connection,
    ConnectionSpec,
    ConnectionState,
    Image,
    ImageState,
    ListPrice,
    Machine,
    MachineSpec,
    MachineState,
    Network,
    NetworkSpec,
    Notice,
    Shortfall,
)

_SECONDS = 10.0

_ERRORS: dict[str, type[base.ProviderError]] = {
    error.code: error
    for error in (
        base.ProviderError,
        base.OutOfCapacity,
        base.QuotaExceeded,
        base.AccessDenied,
        base.RateLimited,
        base.NotFound,
        base.InvalidRequest,
    )
}


class _Transport(httpx.BaseTransport):
    """The socket; an address at which there is nobody is an address that refuses the connection."""

    def __init__(self, socket: Path) -> None:
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64, keepalive_expiry=300)
        # Nothing is verified on a socket of our own; reading all authorities would cost more than all the rest.
        self._inner = httpx.HTTPTransport(uds=str(socket), limits=limits, verify=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        if response.status_code == UNREACHABLE:
            response.read()
            response.close()
            raise httpx.ConnectError("nobody is there", request=request)
        return response

    def close(self) -> None:
        """Shared by all clients: it ends with the process."""


class Fleet:
    """The simulated fleet behind one socket, for one process. Safe between threads and after a fork."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._lock = threading.Lock()
        self._transports: dict[int, _Transport] = {}

    def agent(self, *, node_id: str, address: str) -> AgentClient:
        return HttpAgentClient(node_id, address, self._client(f"/agents/{node_id}/{address}"))

    def provider(self) -> "FleetProvider":
        return FleetProvider(self)

    def world(self, call: str, /, **arguments: Any) -> Any:
        """What a test does to the world; see `Simulator`."""
        return self.call("world", call, arguments)

    def call(self, where: str, name: str, arguments: dict[str, Any]) -> Any:
        """Raises ProviderError with what the simulator says, or when it does not answer."""
        try:
            answer = self._client(f"/{where}").post(name, content=json.dumps(arguments).encode(), timeout=_SECONDS)
        except httpx.TransportError as error:
            raise base.ProviderError(f"The simulator does not answer: {error}") from error
        content = answer.json()
        if answer.status_code == 409:
            raise _ERRORS[content["code"]](content["message"], hint=content["hint"])
        if answer.status_code != 200:
            raise base.ProviderError(f"The simulator answered {answer.status_code} to {name}.")
        return content

    def _client(self, path: str) -> httpx.Client:
        with self._lock:
            transport = self._transports.get(os.getpid())
            if transport is None:
                transport = self._transports[os.getpid()] = _Transport(self._socket)
        return httpx.Client(transport=transport, base_url=f"http://fleet{path}", trust_env=False)


class FleetProvider:
    """The fake provider in the simulator's process."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def find_image(self, *, region: str, engine: str, version: str) -> Image:
        found = self._call("find_image", region=region, engine=engine, version=version)
        return Image(**found | {"state": ImageState(found["state"])})

    def named_image(self, *, region: str, ids: Mapping[str, str]) -> Image:
        """None has a name here: they are found by their engine."""
        raise base.NotFound(f"There is no image {', '.join(ids.values())}.")

    def ensure_network(self, spec: NetworkSpec) -> Network:
        return _network(self._call("ensure_network", spec=asdict(spec)))

    def delete_network(self, *, region: str, name: str) -> bool:
        return bool(self._call("delete_network", region=region, name=name))

    def ensure_machine(self, spec: MachineSpec) -> Machine:
        return _machine(self._call("ensure_machine", spec=asdict(spec)))

    def find_machine(self, *, region: str, name: str) -> Machine | None:
        found = self._call("find_machine", region=region, name=name)
        return None if found is None else _machine(found)

    def delete_machine(self, *, region: str, name: str) -> bool:
        return bool(self._call("delete_machine", region=region, name=name))

    def start_machine(self, *, region: str, name: str) -> None:
        self._call("start_machine", region=region, name=name)

    def stop_machine(self, *, region: str, name: str) -> None:
        self._call("stop_machine", region=region, name=name)

    def kill_machine(self, *, region: str, name: str) -> None:
        self._call("kill_machine", region=region, name=name)

    def list_machines(self, *, region: str) -> list[Machine]:
        return [_machine(found) for found in self._call("list_machines", region=region)]

    def list_networks(self, *, region: str) -> list[Network]:
        return [_network(found) for found in self._call("list_networks", region=region)]

    def allow_clients(self, *, region: str, network: str, sources: Sequence[str], ports: Sequence[int]) -> None:
        self._call("allow_clients", region=region, network=network, sources=list(sources), ports=list(ports))

    def ensure_connection(self, spec: ConnectionSpec) -> Connection:
        found = self._call("ensure_connection", kind=type(spec).__name__, spec=asdict(spec))
        return Connection(**found | {"state": ConnectionState(found["state"]), "names": tuple(found["names"])})

    def delete_connection(self, spec: ConnectionSpec) -> bool:
        return bool(self._call("delete_connection", kind=type(spec).__name__, spec=asdict(spec)))

    def shortfalls(self, *, region: str, machine_type: str, machines: Mapping[str, int]) -> list[Shortfall]:
        return []

    def capacity(self, *, region: str) -> Capacity:
        return Capacity()

    def missing_permissions(self, *, region: str) -> list[str]:
        return []

    def notices(self, *, region: str) -> list[Notice]:
        return []

    def price_list(self, *, regions: Sequence[str]) -> Mapping[str, Sequence[ListPrice]]:
        return {}

    def memory_budget_mib(self, *, region: str) -> int | None:
        found = self._call("memory_budget_mib", region=region)
        return None if found is None else int(found)

    def _call(self, call: str, /, **arguments: Any) -> Any:
        return self._fleet.call("provider", call, arguments)


def _machine(found: dict[str, Any]) -> Machine:
    return Machine(**found | {"state": MachineState(found["state"])})


def _network(found: dict[str, Any]) -> Network:
    return Network(**found | {"zones": tuple(found["zones"])})
