"""The simulated world: the fake provider and the fake agents in one memory, spoken to as the real ones are.

Agents answer the paths and documents of docs/agent-api.md below `/agents/<node id>/<address>`, so that the control
plane's own client reads them. The provider is called by method name below `/provider`, and below `/world` is what a
test does to the world. Nothing here waits or sleeps.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote

from provisioner.agent.base import AgentRefused, AgentUnreachable, Job, Status
from provisioner.agent.fake import AgentFault, FakeAgentClient, FakeAgents
from provisioner.agent.repairs import document_of
from provisioner.providers.base import EndpointSpec, MachineSpec, NetworkSpec, PeeringSpec, ProviderError
from provisioner.providers.fake import FakeProvider, FakeSettings
from provisioner.providers.fake_faults import Fault, Moment

UNREACHABLE = 599
"""The HTTP status by which the client knows that there is nobody at an address."""

_STARTED_AT = datetime.now(UTC)
_TIME = "{time}"

Answer = tuple[int, bytes]


@dataclass(frozen=True, kw_only=True)
class PlantedNode:
    """A node that is to be there already, as its operation would have left it."""

    node_id: str
    machine: MachineSpec
    config: dict[str, Any]


@dataclass(frozen=True)
class _KeptStatus:
    """A status as it was answered, around its time. `of`: what of the world it depends on, counted."""

    of: tuple[int, int]
    before: bytes
    after: bytes
    clock_offset: timedelta


class Simulator:
    """One world. Not safe between threads: its server calls it from one.

    A status is worked out once and kept until something is done to its ring or to any machine's power: thousands of
    idle nodes are asked again and again, and the benchmark is not about this process.
    """

    def __init__(self, *, boot_seconds: float = 0.0, delete_seconds: float = 0.0, seed: int = 0) -> None:
        self._keeps = not (boot_seconds or delete_seconds)  # else the world changes by itself
        self._kept: dict[tuple[str, str], _KeptStatus] = {}
        self._rings: dict[str, str] = {}  # by node id
        self._done_to: dict[str, int] = defaultdict(int)  # how often something was done to a ring
        self._done_to_all = 0
        self.provider = FakeProvider(
            FakeSettings(path=None, seed=seed, boot_seconds=boot_seconds, delete_seconds=delete_seconds)
        )
        self.agents = FakeAgents(None, powered=self.provider.has_power, seed=seed)
        self.looks = 0  # how often a status was asked for
        self._world: dict[str, Callable[..., Any]] = {
            "inject": lambda fault: self.provider.inject(Fault(**fault | {"moment": Moment(fault["moment"])})),
            "inject_agents": self._inject_agents,
            "end_faults": self._end_faults,
            "inventory": self.provider.inventory,
            "effects": lambda: [asdict(effect) for effect in self.provider.history()],
            "agent_effects": lambda: [asdict(effect) for effect in self.agents.history()],
            "roles": lambda cluster_name: sorted(self.agents.roles(cluster_name)),
            "kill_engine": self.agents.kill_engine,
            "lose_data": self.agents.lose_data,
            "create_table": self.agents.create_table,
            "change": lambda node_id, what: self.agents.change(node_id, **what),
            "plant": self._plant,
            "looks": lambda: self.looks,
        }

    def answer(self, method: str, path: str, query: str, body: bytes) -> Answer:
        """The answer to one request. `path` as it came, percent-encoded."""
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["agents", node_id, address, "v1", "status"]:
                return self._looked_at(node_id, address)
            case ["agents", node_id, address, *rest]:
                if method != "GET":
                    self._done_to[self._rings.get(node_id, "")] += 1
                return self._agent(self.agents.client(node_id=node_id, address=address), method, rest, query, body)
            case ["provider", name]:
                self._done_to_all += name not in _PROVIDER_READS
                return self._provider(name, json.loads(body))
            case ["world", name] if name in self._world:
                self._done_to_all += name != "looks"
                return 200, json.dumps(self._world[name](**json.loads(body))).encode()
            case _:
                return 404, b"{}"

    # What a test does to the world.

    def plant(self, nodes: list[PlantedNode], secure: Mapping[str, Any]) -> list[dict[str, str]]:
        """Make a whole ring that serves; id and addresses of each node's machine, in their order."""
        spec = nodes[0].machine
        zones = tuple(sorted({node.machine.zone for node in nodes}))
        self.provider.ensure_network(
            NetworkSpec(name=spec.network, region=spec.region, zones=zones, tags=_network_tags(spec.tags))
        )
        planted = []
        for node in nodes:
            machine = self.provider.ensure_machine(node.machine)
            agent = self.agents.client(node_id=node.node_id, address=machine.agent_address)
            agent.ensure_job("planted-install", "install", {"version": node.config["version"]})
            agent.put_config(node.config)
            self._rings[node.node_id] = node.config["cluster_name"]
            agent.ensure_job("planted-start", "start", {})
            planted.append({"id": machine.id, "address": machine.address, "agent_address": machine.agent_address})
        agent.ensure_job("planted-secure", "secure", secure)
        return planted

    def _plant(self, nodes: list[dict[str, Any]], secure: dict[str, Any]) -> list[dict[str, str]]:
        made = [PlantedNode(**node | {"machine": MachineSpec(**node["machine"])}) for node in nodes]
        return self.plant(made, secure)

    def _inject_agents(self, fault: dict[str, Any]) -> None:
        self._keeps = False  # from here on an answer may differ from the one before
        self.agents.inject(AgentFault(**fault))

    def _end_faults(self) -> None:
        self.provider.end_faults()
        self.agents.end_faults()

    # The provider.

    def _provider(self, name: str, arguments: dict[str, Any]) -> Answer:
        try:
            match name:
                case "ensure_network":
                    spec = arguments["spec"]
                    found: Any = self.provider.ensure_network(NetworkSpec(**spec | {"zones": tuple(spec["zones"])}))
                case "ensure_machine":
                    found = self.provider.ensure_machine(MachineSpec(**arguments["spec"]))
                case "ensure_connection" | "delete_connection":
                    kind = {"PeeringSpec": PeeringSpec, "EndpointSpec": EndpointSpec}[arguments["kind"]]
                    found = getattr(self.provider, name)(kind(**arguments["spec"]))
                case _ if name in _PROVIDER_CALLS:
                    found = getattr(self.provider, name)(**arguments)
                case _:
                    return 404, b"{}"
        except ProviderError as error:
            return 409, json.dumps({"code": error.code, "message": error.message, "hint": error.hint}).encode()
        return 200, json.dumps(_plain(found)).encode()

    # The agents.

    def _looked_at(self, node_id: str, address: str) -> Answer:
        self.looks += 1
        ring = self._rings.get(node_id, "")
        now = (self._done_to_all, self._done_to[ring])
        kept = self._kept.get((node_id, address))
        if kept is None or kept.of != now:
            try:
                status = self.agents.client(node_id=node_id, address=address).status()
            except (AgentUnreachable, AgentRefused) as error:
                return _refusal(error)
            before, _, after = json.dumps(_status(status) | {"time": _TIME}).partition(_TIME)
            offset = (status.time or datetime.now(UTC)) - datetime.now(UTC)
            kept = _KeptStatus(of=now, before=before.encode(), after=after.encode(), clock_offset=offset)
            if ring and self._keeps:
                self._kept[node_id, address] = kept
        clock = (datetime.now(UTC) + kept.clock_offset).isoformat(timespec="milliseconds")
        return 200, kept.before + clock.encode() + kept.after

    def _agent(self, agent: FakeAgentClient, method: str, path: list[str], query: str, body: bytes) -> Answer:
        if path == ["v1", "config"]:
            self._rings[agent.node_id] = json.loads(body).get("cluster_name", "")
        try:
            answer = _agent_answer(agent, method, path, dict(parse_qsl(query)), json.loads(body) if body else {})
        except (AgentUnreachable, AgentRefused) as error:
            return _refusal(error)
        if answer is None:
            return 204, b""
        return 200, json.dumps(answer).encode()


_PROVIDER_READS = frozenset({"find_image", "list_networks", "find_machine", "list_machines", "memory_budget_mib"})
_PROVIDER_CALLS = frozenset(
    {
        *("find_image", "delete_network", "list_networks", "find_machine", "list_machines", "delete_machine"),
        *("start_machine", "stop_machine", "kill_machine", "memory_budget_mib", "allow_clients"),
    }
)


def _refusal(error: AgentUnreachable | AgentRefused) -> Answer:
    if isinstance(error, AgentUnreachable):
        return UNREACHABLE, str(error).encode()
    status = 404 if error.code == "job-not-found" else 409
    return status, json.dumps({"error": {"code": error.code, "message": error.message}}).encode()


def _agent_answer(
    agent: FakeAgentClient, method: str, path: list[str], query: dict[str, str], body: dict[str, Any]
) -> dict[str, Any] | None:
    """The document for a request, or None for one without."""
    match method, path:
        case "PUT", ["v1", "config"]:
            agent.put_config(body)
            return None
        case "PUT", ["v1", "jobs", name]:
            return _job(agent.ensure_job(name, body["kind"], body.get("parameters") or {}))
        case "GET", ["v1", "jobs", name]:
            return _job(agent.job(name))
        case "DELETE", ["v1", "jobs", name]:
            agent.delete_job(name)
            return None
        case "GET", ["v1", "tuning"]:
            return dict(agent.tuning())
        case "GET", ["v1", "repairs"]:
            return document_of(agent.repairs())
        case "GET", ["v1", "load"]:
            return document_of(agent.load())
        case "GET", ["v1", "ring"]:
            return document_of(agent.keyspace_ring(query["keyspace"], query.get("table", "")))
        case "GET", ["v1", "tables"]:
            return document_of(agent.tables())
        case "GET", ["v1", "snapshots", tag, "bundles"]:
            page = agent.bundles(tag, after=query.get("after", ""), limit=int(query["limit"]))
            return {"items": [asdict(one) for one in page.items], "next": page.next}
        case "GET", ["v1", "certificate"]:
            return {"certificate": agent.certificate(), "not_after": "2099-01-01T00:00:00Z"}
        case "POST", ["v1", "certificate", "request"]:
            return {"csr": agent.request_certificate()}
        case "PUT", ["v1", "certificate"]:
            agent.put_certificate(body["certificate"])
            return None
        case "GET", ["v1", "engine-certificate"]:
            found = agent.engine_certificate()
            return {"certificate": found.certificate_pem, "not_after": _moment(found.expires_at)}
        case "POST", ["v1", "engine-certificate", "request"]:
            return {"csr": agent.request_engine_certificate()}
        case "PUT", ["v1", "engine-certificate"]:
            agent.put_engine_certificate(body["certificate"], authorities_pem=body["ca"])
            return None
        case _:
            raise AgentRefused("unknown-route", f"{method} /{'/'.join(path)} is not known")


def _status(status: Status) -> dict[str, Any]:
    """As `GET /v1/status` shows it."""
    return {
        "node_id": status.node_id,
        "time": None if status.time is None else status.time.isoformat(timespec="milliseconds"),
        "local_data_lost": status.local_data_lost,
        "disk": None if status.disk is None else asdict(status.disk),
        "engine_certificate_expires_at": _moment(status.engine_certificate_expires_at),
        "agent": {"version": status.agent_version, "started_at": _moment(_STARTED_AT)},
        "engine": {
            "name": "cassandra",
            "state": status.engine_state,
            "version": status.engine_version,
            "cql_ready": status.cql_ready,
            "restarts": status.restarts,
            "last_error": status.last_error,
            "pid": 1 if status.engine_state == "running" else 0,
            "started_at": _moment(_STARTED_AT) if status.engine_state == "running" else None,
            "mode": status.mode,
            "config_revision": status.config_revision,
            "running_revision": status.running_revision,
        },
        "ring": None if status.ring is None else asdict(status.ring),
    }


def _job(job: Job) -> dict[str, Any]:
    now = _moment(datetime.now(UTC))
    failed = {"code": job.error_code, "message": job.error_message}
    return {
        "name": job.name,
        "kind": job.kind,
        "state": job.state,
        "progress": job.progress,
        "message": job.message,
        "error": failed if job.state == "failed" else None,
        "result": dict(job.result),
        "started_at": now,
        "finished_at": None if job.state == "running" else now,
    }


def _moment(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat(timespec="milliseconds")


def _plain(thing: Any) -> Any:
    """Dataclasses and lists of them as JSON has them. Not asdict: it copies deep, and a list may hold thousands."""
    if isinstance(thing, list):
        return [_plain(one) for one in thing]
    if is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in fields(thing)}
    return thing


def _network_tags(machine_tags: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in machine_tags.items() if name != "ringmaster-node"}
