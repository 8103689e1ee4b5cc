"""Every request is a span that a real collector decodes; without a collector there is nothing, and one that is away
costs nothing but the spans."""

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from django.test import Client
from opentelemetry import trace

from backend.config import tracing
from backend.conftest import ApiClient, Tenant
from e2e.collector import Collector, Span, collecting, tracing_here

CALLERS_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLERS_SPAN = "00f067aa0ba902b7"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running, tracing_here(running.url):
        yield running


def only(collector: Collector) -> Span:
    collector.wait(lambda: collector.spans)
    (span,) = collector.spans
    return span


def test_a_request_is_a_span_with_its_route_and_who_asked(tenant: Tenant, collector: Collector):
    answer = tenant.api().get("/operations/op_01jnothing")
    span = only(collector)
    assert span.service == "ringmaster-tests"
    assert span.name == "GET /api/v1/operations/{operation_id}"
    assert span.parent == ""
    assert span.attributes == {
        "http.request.method": "GET",
        "http.route": "/api/v1/operations/{operation_id}",
        "http.response.status_code": 404,
        "ringmaster.organisation.id": tenant.organisation.id,
        "ringmaster.request_id": answer["X-Request-Id"],
    }
    assert answer["X-Trace-Id"] == span.trace
    assert 0 < span.end - span.start < 30e9


def test_it_is_part_of_the_callers_trace(tenant: Tenant, collector: Collector):
    tenant.api().get("/organisation", traceparent=f"00-{CALLERS_TRACE}-{CALLERS_SPAN}-01")
    assert (only(collector).trace, only(collector).parent) == (CALLERS_TRACE, CALLERS_SPAN)


@pytest.mark.parametrize("sent", ["", "nonsense", "00-" + "0" * 32 + f"-{CALLERS_SPAN}-01", f"00-{CALLERS_TRACE}-x-01"])
def test_what_is_no_traceparent_begins_a_new_trace(db, collector: Collector, sent: str):
    assert ApiClient(traceparent=sent).get("/organisation").status_code == 401
    assert only(collector).parent == ""
    assert only(collector).trace != CALLERS_TRACE


def test_the_log_names_the_trace_beside_the_request(
    tenant: Tenant, collector: Collector, caplog: pytest.LogCaptureFixture
):
    api = tenant.api()
    with caplog.at_level(logging.INFO):
        answer = api.get("/organisation")
    (line,) = [record.msg for record in caplog.records if record.name == "ringmaster.request"]
    assert (line["trace_id"], line["request_id"]) == (answer["X-Trace-Id"], answer["X-Request-Id"])


def test_no_path_token_or_body_gets_to_the_collector(tenant: Tenant, collector: Collector):
    token = tenant.token()
    ApiClient(authorization=f"Bearer {token}").get("/organisation?fields=s3cret-query")
    ApiClient().get("/invitations/by-secret/" + "s3cret" * 8)
    ApiClient().post("/invitations/accept", {"secret": "s3cret" * 8, "password": "pa55word"})
    collector.wait(lambda: len(collector.spans) == 3)
    sent = b"".join(collector.raw)
    assert token.encode() not in sent
    assert b"s3cret" not in sent
    assert b"pa55word" not in sent


def test_probes_are_not_traced(db, collector: Collector):
    Client().get("/healthz")
    ApiClient().get("/organisation")
    assert only(collector).name == "GET /api/v1/organisation"


def test_without_an_endpoint_nothing_is_traced_or_loaded(tenant: Tenant):
    answer = tenant.api().get("/organisation", traceparent=f"00-{CALLERS_TRACE}-{CALLERS_SPAN}-01")
    assert "X-Trace-Id" not in answer
    assert not tracing.is_on()
    assert not trace.get_current_span().get_span_context().is_valid
    loaded = (
        "import backend.config.asgi, sys; print([m for m in sys.modules if m.startswith('opentelemetry.exporter')])"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "backend.config.offline_settings"}
    found = subprocess.run([sys.executable, "-c", loaded], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_collector_that_is_away_or_hangs_holds_nothing_up(tenant: Tenant):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
        away = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for endpoint in (away, "http://127.0.0.1:1"):
            with tracing_here(endpoint):
                began = time.monotonic()
                for _ in range(20):
                    assert tenant.api().get("/organisation").status_code == 200
                tracing.stop(0.2)
                assert time.monotonic() - began < 8


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT must be http://"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL Input should be 'http/protobuf'"),
    ],
)
def test_what_cannot_be_meant_ends_the_process_with_one_line(given: dict[str, str], said: str):
    environment = os.environ | given
    command = [sys.executable, "-c", "import backend.config.offline_settings"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert said in found.stderr
