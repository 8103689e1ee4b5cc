"""The control plane's alerts of itself, judged by promtool: each fires when it should; no other, none when well."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.local.layout import CHECKOUT

RULES = CHECKOUT / "infra" / "deploy" / "prometheus" / "rules" / "control-plane.yml"
ALERTS: list[str] = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
MINUTES = 30
# Prometheus' notation: a first value, what is added for each minute, how many minutes.
STEADY = f"x{MINUTES}"
NOW = f"0+60{STEADY}"  # a timestamp that is always fresh: evaluation begins at 0

WELL = {
    'up{job="control-plane", instance="api:8000"}': f"1+0{STEADY}",
    'ringmaster_http_requests_total{status="200"}': f"0+600{STEADY}",
    'ringmaster_http_requests_total{status="503"}': f"0+1{STEADY}",
    'ringmaster_http_request_seconds_bucket{le="0.1"}': f"0+600{STEADY}",
    'ringmaster_http_request_seconds_bucket{le="5"}': f"0+601{STEADY}",
    'ringmaster_http_request_seconds_bucket{le="+Inf"}': f"0+601{STEADY}",
    "ringmaster_broker_up": f"1+0{STEADY}",
    'ringmaster_queue_messages{queue="ringmaster"}': f"20+0{STEADY}",
    "ringmaster_operations_late_seconds": f"1+0{STEADY}",
    'ringmaster_operations{state="blocked"}': f"0+0{STEADY}",
    "ringmaster_audit_untied_seconds": f"5+0{STEADY}",
    "ringmaster_beat_rang_timestamp_seconds": NOW,
    'ringmaster_worker_heard_timestamp_seconds{worker="worker@a"}': NOW,
    'ringmaster_worker_heard_timestamp_seconds{worker="worker@b"}': NOW,
}
BROKEN = {
    "ControlPlaneUnreachable": {'up{job="control-plane", instance="api:8000"}': f"0+0{STEADY}"},
    "ControlPlaneErrors": {'ringmaster_http_requests_total{status="503"}': f"0+60{STEADY}"},
    "ControlPlaneSlow": {'ringmaster_http_request_seconds_bucket{le="0.1"}': f"0+300{STEADY}"},
    "BrokerAway": {"ringmaster_broker_up": f"0+0{STEADY}"},
    "QueueGrows": {'ringmaster_queue_messages{queue="ringmaster"}': f"900+0{STEADY}"},
    "OperationsLate": {"ringmaster_operations_late_seconds": f"90+0{STEADY}"},
    "OperationsBlocked": {'ringmaster_operations{state="blocked"}': f"1+0{STEADY}"},
    "AuditLogUntied": {"ringmaster_audit_untied_seconds": f"90+0{STEADY}"},
    "BeatSilent": {"ringmaster_beat_rang_timestamp_seconds": f"0+0{STEADY}"},
    "WorkerLost": {'ringmaster_worker_heard_timestamp_seconds{worker="worker@b"}': f"0+0{STEADY}"},
    "NoWorker": {
        'ringmaster_worker_heard_timestamp_seconds{worker="worker@a"}': f"_{STEADY}",
        'ringmaster_worker_heard_timestamp_seconds{worker="worker@b"}': f"_{STEADY}",
    },
}


def firing(folder: Path, series: dict[str, str], alert: str) -> str:
    """What promtool says of an expectation that this alert does not fire: nothing, when that is so."""
    test: dict[str, Any] = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "alert_rule_test": [{"eval_time": f"{MINUTES - 2}m", "alertname": alert, "exp_alerts": []}],
            }
        ],
    }
    (folder / "test.yml").write_text(yaml.safe_dump(test))
    result = subprocess.run(["promtool", "test", "rules", str(folder / "test.yml")], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def test_every_alert_is_tested():
    assert set(BROKEN) == set(ALERTS)


@pytest.mark.parametrize("alert", ALERTS)
def test_it_fires_when_it_should_and_only_then(alert: str, tmp_path: Path):
    assert firing(tmp_path, WELL, alert) == ""
    said = firing(tmp_path, WELL | BROKEN[alert], alert)
    assert f'alertname="{alert}"' in said, said
    others = [other for other in ALERTS if other != alert and firing(tmp_path, WELL | BROKEN[alert], other)]
    assert others == []


def test_alertmanager_sends_them_to_operators_and_not_to_the_control_plane_itself():
    document = CHECKOUT / "infra" / "deploy" / "alertmanager" / "alertmanager.yml"
    assert receiver(document, "watches=control-plane", "alertname=BeatSilent") == "operators"
    assert receiver(document, "organisation=o", "rule=node-down") == "control-plane"


def receiver(document: Path, *labels: str) -> str:
    command = ["amtool", "config", "routes", "test", f"--config.file={document}", *labels]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
