"""A collector of traces for tests: takes OTLP over HTTP as a real one does, and keeps what it decoded."""

import gzip
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    """One span. Ids are hexadecimal; `parent` is empty at the root. Times in nanoseconds since 1970."""

    service: str
    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    error: str | None


@dataclass
class Collector:
    """`raw` is all that came in, for tests that look for what must not."""

    port: int = 0
    spans: list[Span] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def by_id(self) -> dict[str, Span]:
        return {span.id: span for span in self.spans}

    def above(self, span: Span) -> list[str]:
        """The names of the spans that it hangs below, from the nearest."""
        known, names = self.by_id(), []
        while (above := known.get(span.parent)) is not None:
            names.append(above.name)
            span = above
        return names

    def wait(self, there: Callable[[], object], seconds: float = 30) -> None:
        until = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < until, f"did not come; what did: {sorted({span.name for span in self.spans})}"
            time.sleep(0.05)


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            collector.raw.append(content)
            collector.spans.extend(_decoded(content))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _decoded(content: bytes) -> Iterator[Span]:
    for resource in ExportTraceServiceRequest.FromString(content).resource_spans:
        (service,) = (one.value.string_value for one in resource.resource.attributes if one.key == "service.name")
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    service=service,
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    name=span.name,
                    start=span.start_time_unix_nano,
                    end=span.end_time_unix_nano,
                    attributes={
                        one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value")
                        for one in span.attributes
                    },
                    links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
                    error=span.status.message if span.status.code == span.status.STATUS_CODE_ERROR else None,
                )


@contextmanager
def tracing_here(endpoint: str, service: str = "ringmaster-tests") -> Iterator[None]:
    """This process traces as one of the product's does, until the block ends."""
    from django.conf import settings
    from opentelemetry import trace
    from opentelemetry.util._once import Once

    from backend.config import tracing

    given = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "50"}
    env = settings.ENV.model_copy(update={"otel_exporter_otlp_endpoint": endpoint})
    with patch.dict(os.environ, given), patch.object(settings, "ENV", env):
        tracing.set_up(service)
        assert tracing.is_on()
        try:
            yield
        finally:
            processor, tracing._processor = tracing._processor, None
            assert processor is not None
            threading.Thread(target=processor.shutdown, daemon=True).start()
            trace._TRACER_PROVIDER, trace._TRACER_PROVIDER_SET_ONCE = None, Once()
