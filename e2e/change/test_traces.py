"""One order over the API is one trace, from the request over the worker's processes to the end of the operation.

The machines and their agents are simulated; what a real agent adds is in provisioner/agent/tests/test_real_agent.py.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import httpx
import pytest

from e2e.collector import Span, collecting

pytestmark = pytest.mark.change

CALLERS_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLERS_SPAN = "00f067aa0ba902b7"
ORDER = {
    "name": "traced",
    "engine": "cassandra",
    "provider": "fake",
    "region": "fake-1",
    "zones": ["fake-1a", "fake-1b", "fake-1c"],
    "machine_type": "fake.small",
    "nodes_per_zone": 1,
}


def test_an_order_is_one_trace_with_every_step_and_nothing_secret() -> None:
    with collecting() as collector:
        process = subprocess.Popen(
            (sys.executable, "-m", "e2e.simulated"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "200"},
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            product = json.loads(process.stdout.readline())
            headers = {"Authorization": f"Bearer {product['token']}"}
            with httpx.Client(base_url=f"{product['url']}/api/v1", headers=headers, timeout=30, trust_env=False) as api:
                sent = {"traceparent": f"00-{CALLERS_TRACE}-{CALLERS_SPAN}-01"}
                answer = api.post("/clusters", json=ORDER, headers=sent).raise_for_status()
                assert answer.headers["X-Trace-Id"] == CALLERS_TRACE
                operation = _ended(api, answer.json()["operation"]["id"])
            collector.wait(lambda: collector.named("operation create_cluster"))
            process.stdin.close()
            process.wait(60)
        finally:
            process.kill()

    ours = [span for span in collector.spans if span.trace == CALLERS_TRACE]
    assert len({span.id for span in ours}) == len(ours)
    (request,) = [span for span in ours if span.parent == CALLERS_SPAN]
    assert (request.service, request.name) == ("ringmaster-api", "POST /api/v1/clusters")
    assert request.attributes["http.response.status_code"] == 202

    # Every step of the operation, once, and each with what was tried.
    steps = [span for span in ours if span.name.startswith("step ")]
    assert {span.service for span in steps} == {"ringmaster-worker"}
    assert Counter((span.attributes["ringmaster.step.name"], _target(span)) for span in steps) == Counter(
        (step["name"], step["target"] if step["target"].startswith("nod_") else "") for step in operation["steps"]
    )
    above = ["operation create_cluster", "order create_cluster", "POST /api/v1/clusters"]
    for step in steps:
        assert collector.above(step) == above
        attempts = [span for span in ours if span.parent == step.id]
        assert attempts
        assert step.start <= min(span.start for span in attempts) + 1e9
        assert max(span.attributes["ringmaster.outcome"] for span in attempts) in {"done", "wait"}
        assert all(span.attributes["ringmaster.operation.id"] == operation["id"] for span in attempts)

    # Nothing else is in this trace, and nothing in it hangs in the air.
    known = collector.by_id()
    assert all(span.parent in known or span is request for span in ours)
    said = b"".join(collector.raw)
    assert product["token"].encode() not in said
    assert b"traced" not in said, "the cluster's name is the tenant's word"


def _target(step: Span) -> str:
    return str(step.attributes.get("ringmaster.node.id", ""))


def _ended(api: httpx.Client, operation_id: str) -> dict[str, object]:
    until = time.monotonic() + 120
    while True:
        operation = api.get(f"/operations/{operation_id}").raise_for_status().json()
        if operation["state"] == "succeeded":
            return dict(operation)
        assert operation["state"] in {"pending", "running"}, operation
        assert time.monotonic() < until
        time.sleep(0.2)
