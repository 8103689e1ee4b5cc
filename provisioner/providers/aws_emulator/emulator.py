"""The emulated cloud as a server on loopback: every process that has its address shares one world.

    with Emulator() as cloud:
        cloud.add_image("cassandra", "5.0.5")
        settings = AwsSettings(endpoint_url=cloud.url, ...)

One at a time per process: moto keeps its world in the process.
"""

import contextlib
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl

os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.request import Request
from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends
from moto.sts.responses import TokenResponse

from provisioner.providers.aws_emulator import answers, price_list
from provisioner.providers.aws_emulator.answers import Answer
from provisioner.providers.aws_emulator.boots import BootHook
from provisioner.providers.aws_emulator.faults import CONNECTION_LOST, Fault, Faults, Moment
from provisioner.providers.aws_emulator.region import Pace, Region

PROFILE = "ringmaster-node"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "emulated", "AWS_SECRET_ACCESS_KEY": "emulated"}
"""For the environment of whoever calls: boto3 signs with them and nobody checks."""

_TICK_SECONDS = 0.05
_SCOPE = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/aws4_request")


@dataclass(frozen=True)
class Call:
    """One call that arrived: also those that failed, not those of a dry run unless `dry`."""

    service: str
    action: str
    region: str
    form: Mapping[str, str]
    dry: bool


class Emulator:
    def __init__(
        self,
        *,
        pace: Pace | None = None,
        hook: BootHook | None = None,
        seed: int = 0,
        vcpu_quota: float = 100_000,
    ) -> None:
        self.faults = Faults(seed)
        self.calls: list[Call] = []
        self.denied: set[str] = set()
        """Permissions that the account lacks, such as `ec2:RunInstances`."""
        self.trust: dict[str, str | None] | None = None
        """External id that each role (by ARN) asks for, None: it asks for none. Left out: there are all roles."""
        self.vcpu_quota = vcpu_quota
        self._pace = pace or Pace()
        self._hook = hook
        self._lock = threading.RLock()
        self._regions: dict[str, Region] = {}
        for backends in (ec2_backends, iam_backends, sts_backends):
            backends.reset()
        iam: Any = iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
        iam.create_instance_profile(PROFILE, "/", [], [])
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_TICK_SECONDS,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with self._lock:
            for region in self._regions.values():
                region.end()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    # What tests do to the world.

    def region(self, name: str) -> Region:
        with self._lock:
            if name not in self._regions:
                self._regions[name] = Region(name=name, pace=self._pace, vcpu_quota=self.vcpu_quota, hook=self._hook)
            return self._regions[name]

    def add_image(self, engine: str, version: str, *, architecture: str = "x86_64", region: str = "us-east-1") -> str:
        """The AMI's id."""
        with self._lock:
            ami = self.region(region).moto.register_image(f"{engine}-{version}-{architecture}", "emulated")
            ami.architecture = architecture
            ami.root_device_name = "/dev/xvda"
            ami.add_tags({"ringmaster:engine": engine, "ringmaster:engine-version": version})
            return str(ami.id)

    def leftovers(self) -> list[str]:
        with self._lock:
            return [thing for region in self._regions.values() for thing in region.leftovers()]

    def doubles(self) -> list[str]:
        """Names under which two instances ran at one time."""
        with self._lock:
            return [name for region in self._regions.values() for name in region.doubles]

    def launches(self) -> list[tuple[str, str]]:
        """Name and id of each instance that was really made."""
        with self._lock:
            return [one for region in self._regions.values() for one in region.launches]

    def announce(self, region: str, instance: str, *, code: str, description: str, not_before: str) -> None:
        """A scheduled event; the time is ISO 8601 with a Z."""
        event = {"code": code, "description": description, "notBefore": not_before}
        with self._lock:
            self.region(region).events.setdefault(instance, []).append(event)

    def count(self) -> Counter[str]:
        """Calls by permission."""
        with self._lock:
            return Counter(f"{call.service}:{call.action}" for call in self.calls)

    # What the server does.

    def answer(self, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """None: the connection is lost."""
        scope = _SCOPE.search(headers.get("Authorization", ""))
        region, service = (scope[1], scope[2]) if scope else ("us-east-1", "ec2")
        target = headers.get("X-Amz-Target", "")
        form = {} if target else dict(parse_qsl(body.decode(), keep_blank_values=True))
        action = target.rpartition(".")[2] or form.get("Action", "")
        with self._lock:
            return self._answer(service, action, region, form, body, headers)

    def _answer(
        self,
        service: str,
        action: str,
        region: str,
        form: Mapping[str, str],
        body: bytes,
        headers: Mapping[str, str],
    ) -> Answer | None:
        dry = form.get("DryRun") == "true"
        self.calls.append(Call(service, action, region, form, dry))
        if f"{service}:{action}" in self.denied:
            said = f"You are not authorized to perform: {service}:{action}"
            code = "UnauthorizedOperation" if service == "ec2" else "AccessDenied"
            return _refused(service, code, said, 403)
        if dry:
            return answers.error("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)
        fault = self.faults.draw(action)
        if fault is not None and fault.moment is Moment.BEFORE:
            return _failed(service, fault)
        done = self._done(service, action, region, form, body, headers)
        return done if fault is None else _failed(service, fault)

    def _done(
        self,
        service: str,
        action: str,
        region: str,
        form: Mapping[str, str],
        body: bytes,
        headers: Mapping[str, str],
    ) -> Answer:
        match service:
            case "ec2":
                return self.region(region).answer(action, form)
            case "servicequotas":
                wanted = json.loads(body)
                quota = {"QuotaCode": wanted["QuotaCode"], "ServiceCode": wanted["ServiceCode"]}
                document = {"Quota": quota | {"Value": self.vcpu_quota}}
                return Answer(200, json.dumps(document).encode(), "application/x-amz-json-1.1")
            case "pricing":
                document = price_list.get_products(json.loads(body))
                return Answer(200, json.dumps(document).encode(), "application/x-amz-json-1.1")
            case "sts":
                if not self._may_assume(form):
                    said = f"User is not authorized to perform: sts:AssumeRole on resource: {form['RoleArn']}"
                    return _refused(service, "AccessDenied", said, 403)
                request = Request.from_primitives("POST", "https://sts.amazonaws.com/", headers, body)
                status, told, said = TokenResponse.dispatch(request, request.raw_url, request.headers)
                content = said.encode() if isinstance(said, str) else said
                return Answer(int(told.get("status", status)), content)
            case _:
                return answers.error("InvalidAction", f"{service}:{action} is not emulated")

    def _may_assume(self, form: Mapping[str, str]) -> bool:
        """As IAM has it: a role that does not ask for an external id takes any."""
        if self.trust is None:
            return True
        role = form["RoleArn"]
        return role in self.trust and self.trust[role] in (None, form.get("ExternalId"))

    def tick(self) -> None:
        with self._lock:
            for region in self._regions.values():
                region.tick()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.emulator = emulator
        self._ticked_at = 0.0

    def service_actions(self) -> None:
        if time.monotonic() - self._ticked_at >= _TICK_SECONDS:
            self._ticked_at = time.monotonic()
            self.emulator.tick()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that has hung up is none of the server's troubles."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.server.emulator.answer(dict(self.headers.items()), body)
        if answer is None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(2)
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


def _failed(service: str, fault: Fault) -> Answer | None:
    if fault.code == CONNECTION_LOST:
        return None
    return _refused(service, fault.code, f"injected {fault.code} ({fault.moment} the effect)", fault.status)


def _refused(service: str, code: str, said: str, status: int) -> Answer:
    match service:
        case "servicequotas" | "pricing":
            document = {"__type": code, "message": said}
            return Answer(status, json.dumps(document).encode(), "application/x-amz-json-1.1")
        case "sts":
            body = f"<ErrorResponse><Error><Code>{code}</Code><Message>{said}</Message></Error></ErrorResponse>"
            return Answer(status, body.encode())
        case _:
            return answers.error(code, said, status)
