"""Talks to the agent of a node: HTTPS with certificates on both sides, TLS 1.3, as docs/agent-api.md says.

Connections are kept between calls, because a new one costs a handshake per step. One pool belongs to one node at one
address: an address may pass to another node, a connection that was opened to the first must never carry a word to it.
"""

import json
import os
import ssl
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import httpx
from pydantic import BaseModel, ValidationError

from provisioner.agent import schema, spans
from provisioner.agent.base import (
    AgentNotTrusted,
    AgentRefused,
    AgentUnreachable,
    ArchiveEntry,
    ArchiveReport,
    Bundle,
    BundlePage,
    Disk,
    EngineCertificate,
    Job,
    Peer,
    RingStatus,
    StatementState,
    Status,
    Traffic,
)
from provisioner.agent.repairs import (
    KeyspaceRing,
    NodeLoad,
    RepairActivity,
    Schema,
    activity_of,
    load_of,
    ring_of,
    schema_of,
)
from provisioner.agent.spans import AgentSpan

CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 1.5
LONGEST_WAIT_SECONDS = 2.0

_KEPT_SECONDS = 30.0  # an idle connection
_KEPT_NODES = 256  # pools per process; the longest unused goes first
_LONGEST_ANSWER_BYTES = 4 * 1024 * 1024  # a hostile node must not fill our memory

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class ClientMaterial:
    """How the control plane shows who it is, and whom it believes (`ca_pem`). `key_pem` is secret."""

    ca_pem: str
    cert_pem: str
    key_pem: str

    def __repr__(self) -> str:
        return "ClientMaterial(…)"


def server_name(node_id: str) -> str:
    """The name in the certificate of a node's agent."""
    return f"{node_id.replace('_', '-')}.nodes.ringmaster.internal"


def tls_context(material: ClientMaterial) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies chain and name; no authority but ours is loaded
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=material.ca_pem)
    # OpenSSL's interface takes files only. This one is memory of this process and is never on a disk.
    descriptor = os.memfd_create("agent-client", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "w") as file:
            file.write(f"{material.cert_pem.strip()}\n{material.key_pem.strip()}\n")
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    return context


TakeSpans = Callable[[str, tuple[AgentSpan, ...]], None]


def _lost(_: str, __: tuple[AgentSpan, ...]) -> None:
    """Where nobody traces, agents hand nothing back."""


class AgentConnections:
    """The agents of all nodes, for one process: give one object to everyone. Safe between threads and after a fork."""

    def __init__(self, material: ClientMaterial, *, on_spans: TakeSpans = _lost) -> None:
        """`on_spans` gets what agents hand back of traces, with the node's id."""
        self._on_spans = on_spans
        self._context = tls_context(material)
        self._lock = threading.Lock()
        self._pools: OrderedDict[tuple[int, str, str], httpx.Client] = OrderedDict()

    def client(self, *, node_id: str, address: str) -> "HttpAgentClient":
        """The agent of a node; `address` is its host:port."""
        # With the process in the key a forked worker never shares a connection with its parent.
        key = (os.getpid(), node_id, address)
        with self._lock:
            pool = self._pools.get(key)
            if pool is None:
                pool = self._pools[key] = self._new_pool(address)
            self._pools.move_to_end(key)
            # The pool that is dropped may be in use by another thread: it is not closed here, but when the last user
            # lets go of it.
            if len(self._pools) > _KEPT_NODES:
                self._pools.popitem(last=False)
        return HttpAgentClient(node_id, address, pool, self._on_spans)

    def close(self) -> None:
        with self._lock:
            pools = [pool for key, pool in self._pools.items() if key[0] == os.getpid()]
            self._pools.clear()
        for pool in pools:
            pool.close()

    def _new_pool(self, address: str) -> httpx.Client:
        return httpx.Client(
            base_url=f"https://{address}",
            verify=self._context,
            trust_env=False,  # no proxy stands between us and a node
            follow_redirects=False,
            # Two equal limits: with a lower one for idle connections, each would be closed after its first use.
            limits=httpx.Limits(max_connections=8, max_keepalive_connections=8, keepalive_expiry=_KEPT_SECONDS),
        )


class HttpAgentClient:
    """One node's agent: an `AgentClient`."""

    def __init__(self, node_id: str, address: str, pool: httpx.Client, on_spans: TakeSpans = _lost) -> None:
        self._on_spans = on_spans
        self._node_id = node_id
        self._address = address
        self._pool = pool

    def status(self) -> Status:
        answer = self._ask(schema.Status, "GET", "/v1/status")
        if answer.node_id != self._node_id:
            # Its certificate says the right name, so this is a fault of the agent, not of somebody in between.
            raise AgentRefused("wrong-node", f"{self._address} says it is {answer.node_id}, not {self._node_id}")
        return Status(
            node_id=answer.node_id,
            agent_version=answer.agent.version,
            engine_state=answer.engine.state,
            engine_version=answer.engine.version,
            cql_ready=answer.engine.cql_ready,
            restarts=answer.engine.restarts,
            last_error=answer.engine.last_error,
            ring=None if answer.ring is None else _ring(answer.ring),
            mode=answer.engine.mode,
            time=answer.time,
            local_data_lost=answer.local_data_lost,
            disk=None if answer.disk is None else Disk(**answer.disk.model_dump()),
            config_revision=answer.engine.config_revision,
            running_revision=answer.engine.running_revision,
            engine_certificate_expires_at=answer.engine_certificate_expires_at,
            traffic=None if answer.traffic is None else _traffic(answer.traffic),
        )

    def tuning(self) -> Mapping[str, Any]:
        # The agent gives itself two seconds to look at its machine.
        found = self._ask(schema.TuningReport, "GET", "/v1/tuning", answer_seconds=LONGEST_WAIT_SECONDS + 0.7)
        document: Mapping[str, Any] = found.model_dump(mode="json")
        return document

    def repairs(self) -> RepairActivity:
        return activity_of(self._read(schema.RepairActivity, "/v1/repairs"))

    def load(self) -> NodeLoad:
        return load_of(self._read(schema.Load, "/v1/load"))

    def keyspace_ring(self, keyspace: str, table: str = "") -> KeyspaceRing:
        asked = urlencode({"keyspace": keyspace} | ({"table": table} if table else {}))
        return ring_of(self._read(schema.KeyspaceRing, f"/v1/ring?{asked}"))

    def tables(self) -> Schema:
        return schema_of(self._read(schema.Schema, "/v1/tables"))

    def put_config(self, document: Mapping[str, Any]) -> None:
        self._send("PUT", "/v1/config", body=document)

    def ensure_job(self, name: str, kind: str, parameters: Mapping[str, Any], *, wait_seconds: float = 0) -> Job:
        body = {"kind": kind, "parameters": dict(parameters)}
        return self._look("PUT", name, wait_seconds, body)

    def job(self, name: str, *, wait_seconds: float = 0) -> Job:
        return self._look("GET", name, wait_seconds)

    def delete_job(self, name: str) -> None:
        self._send("DELETE", _job_path(name), absent_is_fine=True)

    def certificate(self) -> str:
        return self._ask(schema.Certificate, "GET", "/v1/certificate").certificate

    def request_certificate(self) -> str:
        return self._ask(schema.CertificateRequest, "POST", "/v1/certificate/request").csr

    def put_certificate(self, certificate_pem: str) -> None:
        self._send("PUT", "/v1/certificate", body={"certificate": certificate_pem})

    def engine_certificate(self) -> EngineCertificate:
        answer = self._ask(schema.Certificate, "GET", "/v1/engine-certificate")
        return EngineCertificate(certificate_pem=answer.certificate, expires_at=answer.not_after)

    def request_engine_certificate(self) -> str:
        return self._ask(schema.CertificateRequest, "POST", "/v1/engine-certificate/request").csr

    def put_engine_certificate(self, certificate_pem: str, *, authorities_pem: str) -> None:
        self._send("PUT", "/v1/engine-certificate", body={"certificate": certificate_pem, "ca": authorities_pem})

    def bundles(self, tag: str, *, after: str = "", limit: int = 1000) -> BundlePage:
        query = urlencode({"after": after, "limit": limit})
        page = self._ask(schema.BundlePage, "GET", f"/v1/snapshots/{quote(tag, safe='')}/bundles?{query}")
        return BundlePage(items=tuple(Bundle(**item.model_dump()) for item in page.items), next=page.next)

    def archive(self, *, after: int = 0) -> ArchiveReport:
        told = self._ask(schema.ArchiveReport, "GET", f"/v1/archive?after={after}")
        return ArchiveReport(
            stream=told.stream,
            began_at=told.began_at,
            covered_until=told.covered_until,
            waiting_bytes=told.waiting_bytes,
            problem=told.problem,
            entries=tuple(
                ArchiveEntry(
                    sequence=one.sequence,
                    begins_at=one.begins_at,
                    ends_at=one.ends_at,
                    key=one.key or "",
                    bytes=one.bytes or 0,
                    stored_bytes=one.stored_bytes or 0,
                    sha256=one.sha256 or "",
                    reason=one.reason or "",
                )
                for one in told.entries
            ),
            more=told.more,
        )

    def run_statement(self, name: str, request: Mapping[str, Any], *, wait_seconds: float = 0) -> StatementState:
        return self._statement("PUT", name, wait_seconds, request)

    def statement(self, name: str, *, wait_seconds: float = 0) -> StatementState:
        return self._statement("GET", name, wait_seconds)

    def forget_statement(self, name: str) -> None:
        self._send("DELETE", f"/v1/statements/{quote(name, safe='')}", absent_is_fine=True)

    def _statement(
        self, method: str, name: str, wait_seconds: float, body: Mapping[str, Any] | None = None
    ) -> StatementState:
        wait = min(wait_seconds, LONGEST_WAIT_SECONDS)
        path = f"/v1/statements/{quote(name, safe='')}?wait={wait:.2f}"
        told = self._ask(schema.Statement, method, path, body=body, answer_seconds=wait + ANSWER_SECONDS)
        problem = told.error
        return StatementState(
            state=told.state,
            code=problem.code if problem else "",
            message=problem.message if problem else "",
            line=problem.line if problem else None,
            column=problem.column if problem else None,
            result=None if told.result is None else told.result.model_dump(mode="json"),
            tree=None if told.schema_ is None else told.schema_.model_dump(mode="json"),
        )

    def _look(self, method: str, name: str, wait_seconds: float, body: Mapping[str, Any] | None = None) -> Job:
        wait = min(wait_seconds, LONGEST_WAIT_SECONDS)
        path = f"{_job_path(name)}?wait={wait:.2f}" if wait > 0 else _job_path(name)
        # A wait and a slow answer together would be too long for a step.
        seconds = max(ANSWER_SECONDS, wait + 0.7)
        return _job(self._ask(schema.Job, method, path, body=body, answer_seconds=seconds))

    def _read(self, model: type[BaseModel], path: str) -> Mapping[str, Any]:
        """What the agent asks its engine for while we wait; it gives itself two seconds."""
        found = self._ask(model, "GET", path, answer_seconds=LONGEST_WAIT_SECONDS + 0.7)
        document: Mapping[str, Any] = found.model_dump(by_alias=True)
        return document

    def _ask(
        self,
        model: type[Model],
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> Model:
        content = self._send(method, path, body=body, answer_seconds=answer_seconds)
        try:
            return model.model_validate_json(content)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise AgentRefused("invalid-answer", f"{method} {path}: {where}: {first['msg']}") from error

    def _send(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        answer_seconds: float = ANSWER_SECONDS,
        absent_is_fine: bool = False,
    ) -> bytes:
        with spans.of_call(method, path, self._node_id) as headers:
            return self._send_with(headers, method, path, body, answer_seconds, absent_is_fine)

    def _send_with(
        self,
        headers: Mapping[str, str],
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        answer_seconds: float,
        absent_is_fine: bool,
    ) -> bytes:
        try:
            status, content = self._exchange(method, path, body, answer_seconds, headers)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            # A kept connection may have been closed just as we used it. All calls can be repeated, so once more.
            try:
                status, content = self._exchange(method, path, body, answer_seconds, headers)
            except httpx.TransportError as again:
                raise _unreachable(self._address, again) from again
        except httpx.TransportError as error:
            raise _unreachable(self._address, error) from error
        if status < 300 or (status == 404 and absent_is_fine):
            return content
        try:
            problem = schema.ErrorBody.model_validate_json(content).error
        except ValidationError:
            problem = None
        if problem is None:
            raise AgentRefused("invalid-answer", f"{method} {path} was answered {status} without a reason")
        raise AgentRefused(problem.code, problem.message)

    def _exchange(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        answer_seconds: float,
        headers: Mapping[str, str],
    ) -> tuple[int, bytes]:
        request = self._pool.build_request(
            method,
            path,
            content=None if body is None else json.dumps(body).encode(),
            headers={**headers, **({} if body is None else {"Content-Type": "application/json"})},
            timeout=httpx.Timeout(answer_seconds, connect=CONNECT_SECONDS),
            # The address is what we dial, the name is whom we expect there.
            extensions={"sni_hostname": server_name(self._node_id)},
        )
        response = self._pool.send(request, stream=True)
        try:
            content = bytearray()
            for piece in response.iter_bytes():
                content += piece
                if len(content) > _LONGEST_ANSWER_BYTES:
                    raise AgentRefused("invalid-answer", f"{method} {path}: more than {_LONGEST_ANSWER_BYTES} bytes")
        finally:
            response.close()
        if headers and (handed := spans.read(response.headers.get(spans.HEADER, ""))):
            self._on_spans(self._node_id, handed)
        return response.status_code, bytes(content)


def _unreachable(address: str, error: httpx.TransportError) -> AgentUnreachable:
    cause: BaseException | None = error
    while cause is not None:
        # A certificate that does not verify here, or an alert with which the other side refuses ours.
        if isinstance(cause, ssl.SSLError):
            return AgentNotTrusted(f"{address} cannot be trusted or does not trust us: {cause.reason or cause}")
        cause = cause.__cause__ or cause.__context__
    return AgentUnreachable(f"{address} does not answer: {error or type(error).__name__}")


def _job_path(name: str) -> str:
    return f"/v1/jobs/{quote(name, safe='')}"


def _job(answer: schema.Job) -> Job:
    return Job(
        name=answer.name,
        kind=answer.kind,
        state=answer.state,
        progress=answer.progress,
        message=answer.message,
        error_code=answer.error.code if answer.error else "",
        error_message=answer.error.message if answer.error else "",
        result=answer.result,
    )


def _traffic(told: schema.TrafficStatus) -> Traffic:
    return Traffic(
        epoch=told.epoch,
        to_nodes={(each.datacenter, each.zone): each.bytes for each in told.to_nodes},
        from_clients=told.from_clients,
        to_clients=told.to_clients,
    )


def _ring(answer: schema.RingStatus) -> RingStatus:
    return RingStatus(
        host_id=answer.host_id,
        datacenter=answer.datacenter,
        rack=answer.rack,
        schema_version=answer.schema_version,
        tokens=tuple(answer.tokens),
        tokens_digest=answer.tokens_digest or "",
        peers=tuple(
            Peer(
                address=peer.address,
                host_id=peer.host_id,
                datacenter=peer.datacenter,
                rack=peer.rack,
                schema_version=peer.schema_version,
                up=peer.up,
                tokens_digest=peer.tokens_digest or "",
                status=peer.status or "",
                hints_dropped_at=peer.hints_dropped_at,
            )
            for peer in answer.peers
        ),
    )
