"""Every default alert fires and clears through Debian's Prometheus and Alertmanager, and is told to whoever listens.

The page of metrics is the test's own, and crosses each threshold and returns. Rules and Alertmanager's configuration
are those that are deployed, but for their times, which are shortened: minutes are seconds here.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend.alerts.catalogue import DAY, RULES, RuleKey
from backend.alerts.rules import FOR_SECONDS, THRESHOLD
from infra.metrics import serving
from infra.metrics.prometheus import ROOT
from infra.metrics.prometheus import RULES as FOLDER

CLUSTER = 'organisation="o1",cluster="c1"'
NODE = f'{CLUSTER},datacenter="d",zone="z",node="n1"'
OTHER = NODE.replace("n1", "n2")
# Neither down nor full, either of which would speak for its disk.
THIRD = NODE.replace("n1", "n3")
TABLE = f'{CLUSTER},keyspace="shop",table="people"'
LATENCY = "ringmaster_node_client_request_latency_seconds"
TOMBSTONES = "ringmaster_table_tombstones_per_read"
PATIENCE = 120.0
"""Seconds that all of them may take; they take a third of that on an idle machine."""


class World:
    """A page of metrics that is well or sick, and what Alertmanager told of it."""

    def __init__(self) -> None:
        self.sick = False
        self.down = False
        self.told: dict[str, str] = {}
        self.authorizations: set[str] = set()
        self._grown: dict[str, float] = {}
        self._free = 1e9

    def page(self) -> str:
        now, sick = time.time(), self.sick
        free = 50_000.0 if sick else 900_000.0
        self._free -= 1e6 if sick else -1e6
        lines = [
            *self._thresholds(),
            f"ringmaster_node_engine_up{{{OTHER}}} {0 if self.down else 1}",
            *(f"ringmaster_node_expected_up{{{labels}}} 1" for labels in (NODE, OTHER)),
            f"ringmaster_node_filesystem_size_bytes{{{NODE}}} 1000000",
            f"ringmaster_node_filesystem_free_bytes{{{NODE}}} {free}",
            # A disk of its own, that has room but loses a megabyte a second.
            f"ringmaster_node_filesystem_free_bytes{{{THIRD}}} {self._free}",
            f"ringmaster_node_hints_bytes{{{NODE}}} {2e9 if sick else 0}",
            f"ringmaster_table_partition_max_bytes{{{TABLE}}} {2e9 if sick else 1e6}",
            f"ringmaster_table_repair_counted_from_timestamp_seconds{{{TABLE}}} {now - (9.5 if sick else 1) * DAY}",
            f"ringmaster_table_gc_grace_seconds{{{TABLE}}} {10 * DAY}",
            f'ringmaster_backup_promised_timestamp_seconds{{{CLUSTER},schedule="s"}} {now + (-3600 if sick else 3600)}',
            f'ringmaster_agent_certificate_expiry_timestamp_seconds{{{NODE},certificate="agent"}} '
            f"{now + (1 if sick else 20) * DAY}",
            f'ringmaster_node_io_iops_limit{{{NODE},direction="read"}} 100000',
            f'ringmaster_node_io_iops_limit{{{OTHER},direction="read"}} {50_000 if sick else 100_000}',
            f"ringmaster_node_tuning_drift{{{NODE}}} {2 if sick else 0}",
            f"{self._counter(f'ringmaster_node_dropped_messages_total{{{NODE}}}', 50 if sick else 0)}",
            self._counter(
                f'ringmaster_node_cpu_seconds_total{{{NODE},cpu="0",irq="true",mode="idle"}}', 0 if sick else 1
            ),
            self._counter(f'{LATENCY}_sum{{{NODE},kind="read"}}', 50 if sick else 0.1),
            self._counter(f'{LATENCY}_count{{{NODE},kind="read"}}', 100),
            self._counter(f'{LATENCY}_bucket{{{NODE},kind="read",le="0.01"}}', 0 if sick else 100),
            self._counter(f'{LATENCY}_bucket{{{NODE},kind="read",le="1"}}', 100),
            self._counter(f'{LATENCY}_bucket{{{NODE},kind="read",le="+Inf"}}', 100),
            self._counter(f"{TOMBSTONES}_sum{{{TABLE}}}", 50_000 if sick else 10),
            self._counter(f"{TOMBSTONES}_count{{{TABLE}}}", 100),
        ]
        return "\n".join(lines) + "\n"

    def _counter(self, series: str, more: float) -> str:
        """Grows by so much at each look, a second apart."""
        self._grown[series] = self._grown.get(series, 0.0) + more
        return f"{series} {self._grown[series]}"

    @staticmethod
    def _thresholds() -> Iterator[str]:
        for rule in RULES:
            number = 0.0 if rule.threshold is None else rule.threshold.default
            yield f'{THRESHOLD}{{{CLUSTER},rule="{rule.key}"}} {number}'
            yield f'{FOR_SECONDS}{{{CLUSTER},rule="{rule.key}"}} 2'

    def hear(self, body: dict[str, Any], authorization: str) -> None:
        self.authorizations.add(authorization)
        for alert in body["alerts"]:
            self.told[alert["labels"]["rule"]] = alert["status"]

    def until(self, done: Callable[[dict[str, str]], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done(self.told):
            assert time.monotonic() < deadline, f"told so far: {self.told}"
            time.sleep(0.2)


@contextmanager
def listening(world: World) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(world.page().encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            world.hear(body, self.headers.get("Authorization", ""))
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def alertmanager(folder: Path, listener: str) -> Iterator[str]:
    """Debian's, with the configuration that is deployed, aimed at the test and faster."""
    folder.mkdir()
    (folder / "token").write_text("let-me-in")
    document = yaml.safe_load((ROOT / "infra" / "deploy" / "alertmanager" / "alertmanager.yml").read_text())
    document["route"] |= {"group_wait": "1s", "group_interval": "2s"}
    webhook = document["receivers"][0]["webhook_configs"][0]
    webhook["url"] = f"http://{listener}/told"
    webhook["http_config"]["authorization"]["credentials_file"] = str(folder / "token")
    with serving.alertmanager(folder, configuration=yaml.safe_dump(document)) as url:
        yield url.removeprefix("http://")


def faster_rules(file: Path) -> None:
    text = (FOLDER / "alerts.yml").read_text()
    for found, made in ((r"interval: \d+s", "interval: 1s"), (r"\[5m\]", "[5s]"), (r"\[6h\]", "[8s]")):
        text = re.sub(found, made, text)
    file.write_text(text.replace("offset 1h", "offset 3s"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World()
    with listening(world) as listener, alertmanager(tmp_path / "alertmanager", listener) as manager:
        faster_rules(tmp_path / "alerts.yml")
        configuration = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(tmp_path / "alerts.yml")],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [manager]}]}]},
            "scrape_configs": [{"job_name": "test", "static_configs": [{"targets": [listener]}]}],
        }
        more = ("--rules.alert.resend-delay=1s",)
        with serving.serving(tmp_path / "prometheus", configuration=yaml.safe_dump(configuration), more=more):
            yield world


# A disk over 90 % speaks for those over 80 and 70: Alertmanager inhibits them.
INHIBITED = {RuleKey.DISK_70.value, RuleKey.DISK_80.value}
TOLD = {rule.key.value for rule in RULES} - INHIBITED


def test_every_default_alert_fires_is_told_and_clears(world: World) -> None:
    time.sleep(10)  # as many looks as the longest range that is looked at
    assert world.told == {}
    world.sick = world.down = True
    world.until(lambda told: {rule for rule, status in told.items() if status == "firing"} >= TOLD)
    assert world.authorizations == {"Bearer let-me-in"}
    world.sick = world.down = False
    world.until(lambda told: all(told.get(rule) == "resolved" for rule in TOLD))
