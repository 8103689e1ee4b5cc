"""Every alert rule on both sides of its threshold, evaluated by Prometheus' own rule tester on made-up nodes."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend.alerts.catalogue import DAY, RULES, RULES_BY_KEY, RuleKey
from backend.alerts.rules import FOR_SECONDS, THRESHOLD
from infra.metrics.prometheus import RULES as FOLDER

FILE = FOLDER / "alerts.yml"
MINUTES = 240
STEPS = MINUTES * 4
OWN = 'organisation="o1",cluster="c1"'
NODE = f'{OWN},datacenter="d",zone="z",node="n1"'
TABLE = f'{OWN},keyspace="shop",table="people"'
LATENCY = "ringmaster_node_client_request_latency_seconds"


def still(value: float) -> str:
    """The same value every 15 s."""
    return f"{value}x{STEPS}"


def growing(per_second: float) -> str:
    return f"0+{per_second * 15}x{STEPS}"


def thresholds(cluster: str = "c1", **changed: tuple[float, float]) -> dict[str, str]:
    """What the control plane serves: the usual, but for (threshold, seconds) of the rules that are named."""
    series = {}
    for rule in RULES:
        usual = (0.0 if rule.threshold is None else rule.threshold.default, float(rule.for_seconds))
        threshold, seconds = changed.get(rule.key.replace("-", "_"), usual)
        labels = f'organisation="o1",cluster="{cluster}",rule="{rule.key}",job="control-plane-clusters"'
        series[f"{THRESHOLD}{{{labels}}}"] = still(threshold)
        series[f"{FOR_SECONDS}{{{labels}}}"] = still(seconds)
    return series


@dataclass(frozen=True)
class Sides:
    """Series just beyond a rule's usual threshold and just within; labels of the alert beside the cluster's."""

    beyond: dict[str, str]
    within: dict[str, str]
    labels: dict[str, str]
    sees_after: int = 0
    """Minutes before the condition can be seen: rates and lines need samples."""


def disk(used: float) -> dict[str, str]:
    size = 1_000_000
    return {
        f"ringmaster_node_filesystem_size_bytes{{{NODE}}}": still(size),
        f"ringmaster_node_filesystem_free_bytes{{{NODE}}}": still(round(size * (1 - used))),
    }


def filling(seconds: float) -> dict[str, str]:
    """A disk that is full this long after two hours from now."""
    at_two_hours = 1e12
    slope = at_two_hours / seconds
    start = at_two_hours + slope * 7200
    return {f"ringmaster_node_filesystem_free_bytes{{{NODE}}}": f"{start}-{slope * 15}x{STEPS}"}


def means(histogram: str, labels: str, mean: float) -> dict[str, str]:
    return {f"{histogram}_sum{{{labels}}}": growing(100 * mean), f"{histogram}_count{{{labels}}}": growing(100)}


def p95(seconds: float) -> dict[str, str]:
    """94 % at once, the rest within twice `seconds`: the 95th of a hundred is then a sixth into that bucket."""
    bounds = {"0": 94.0, f"{seconds * 6}": 100.0, "+Inf": 100.0}
    return {f'{LATENCY}_bucket{{{NODE},kind="write",le="{le}"}}': growing(count) for le, count in bounds.items()}


def limits(other: float) -> dict[str, str]:
    of_other = NODE.replace("n1", "n2")
    return {
        f'ringmaster_node_io_iops_limit{{{NODE},direction="read"}}': still(100_000),
        f'ringmaster_node_io_iops_limit{{{of_other},direction="read"}}': still(other),
    }


def repaired(share: float) -> dict[str, str]:
    return {
        f"ringmaster_table_repair_counted_from_timestamp_seconds{{{TABLE}}}": still(-share * 10 * DAY),
        f"ringmaster_table_gc_grace_seconds{{{TABLE}}}": still(10 * DAY),
    }


def gauge(name: str, labels: str, value: float) -> dict[str, str]:
    return {f"{name}{{{labels}}}": still(value)}


def idle(cpu: str, share: float) -> dict[str, str]:
    return {f'ringmaster_node_cpu_seconds_total{{{NODE},cpu="{cpu}",mode="idle",irq="true"}}': growing(share)}


def up(value: int) -> dict[str, str]:
    return gauge("ringmaster_node_engine_up", NODE, value) | gauge("ringmaster_node_expected_up", NODE, 1)


ON_NODE = {"datacenter": "d", "zone": "z", "node": "n1"}
ON_TABLE = {"keyspace": "shop", "table": "people"}
HINTS = "ringmaster_node_hints_bytes"
DROPPED = f'ringmaster_node_dropped_messages_total{{{NODE},message="MUTATION"}}'
PARTITION = "ringmaster_table_partition_max_bytes"
PROMISED = "ringmaster_backup_promised_timestamp_seconds"
EXPIRES = "ringmaster_agent_certificate_expiry_timestamp_seconds"
TOMBSTONES = "ringmaster_table_tombstones_per_read"

SIDES: dict[RuleKey, Sides] = {
    RuleKey.NODE_DOWN: Sides(up(0), up(1), ON_NODE),
    RuleKey.LATENCY_MEAN: Sides(
        means(LATENCY, f'{NODE},kind="read"', 0.0101),
        means(LATENCY, f'{NODE},kind="read"', 0.0099),
        {"kind": "read"},
        1,
    ),
    RuleKey.LATENCY_P95: Sides(p95(0.101), p95(0.099), {"kind": "write"}, 1),
    RuleKey.DISK_70: Sides(disk(0.701), disk(0.699), ON_NODE),
    RuleKey.DISK_80: Sides(disk(0.801), disk(0.799), ON_NODE),
    RuleKey.DISK_90: Sides(disk(0.901), disk(0.899), ON_NODE),
    RuleKey.DISK_FULL_SOON: Sides(filling(6.9 * DAY), filling(7.2 * DAY), ON_NODE, 61),
    RuleKey.HINTS: Sides(gauge(HINTS, NODE, 134217729), gauge(HINTS, NODE, 134217728), ON_NODE),
    RuleKey.DROPPED_MESSAGES: Sides({DROPPED: growing(0.11)}, {DROPPED: growing(0.09)}, ON_NODE, 5),
    RuleKey.TOMBSTONES: Sides(means(TOMBSTONES, TABLE, 101), means(TOMBSTONES, TABLE, 99), ON_TABLE, 1),
    RuleKey.LARGE_PARTITION: Sides(gauge(PARTITION, TABLE, 104857601), gauge(PARTITION, TABLE, 104857600), ON_TABLE, 1),
    RuleKey.REPAIR_OVERDUE: Sides(repaired(0.901), repaired(0.88), ON_TABLE, 1),
    RuleKey.BACKUP_OVERDUE: Sides(
        gauge(PROMISED, f'{OWN},schedule="hourly"', -1801),
        gauge(PROMISED, f'{OWN},schedule="hourly"', MINUTES * 60 - 1800),
        {"schedule": "hourly"},
        1,
    ),
    RuleKey.CERTIFICATE_EXPIRY: Sides(
        gauge(EXPIRES, f'{NODE},certificate="engine"', 7 * DAY - 1),
        gauge(EXPIRES, f'{NODE},certificate="engine"', 7 * DAY + MINUTES * 60),
        {**ON_NODE, "certificate": "engine"},
        1,
    ),
    RuleKey.IO_UNEQUAL: Sides(
        limits(106_000), limits(104_000), {"datacenter": "d", "direction": "read", "figure": "iops"}, 1
    ),
    RuleKey.TUNING_DRIFT: Sides(
        gauge("ringmaster_node_tuning_drift", NODE, 1), gauge("ringmaster_node_tuning_drift", NODE, 0), ON_NODE, 1
    ),
    RuleKey.IRQ_CPU: Sides(idle("0", 0.19) | idle("1", 0.9), idle("0", 0.21) | idle("1", 0.9), ON_NODE, 1),
}


def evaluated(folder: Path, tests: Iterable[dict[str, Any]]) -> None:
    document = {"rule_files": [str(FILE)], "evaluation_interval": "15s", "tests": list(tests)}
    file = folder / "tests.yml"
    file.write_text(yaml.safe_dump(document))
    result = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def one_test(series: dict[str, str], expected: dict[str, dict[str, float]]) -> dict[str, Any]:
    """`expected`: for a time, how many alerts of each rule fire then."""
    return {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": at,
                "exp_samples": [{"labels": f'{{alertname="{rule}"}}', "value": count} for rule, count in rules.items()],
            }
            for at, rules in expected.items()
        ],
    }


def test_every_rule_is_tried() -> None:
    assert SIDES.keys() == set(RuleKey)


def test_the_file_is_valid() -> None:
    result = subprocess.run(["promtool", "check", "rules", "--lint-fatal", str(FILE)], capture_output=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("key", list(RuleKey))
def test_it_fires_beyond_the_threshold_when_it_has_lasted_and_never_within(key: RuleKey, tmp_path: Path) -> None:
    rule, sides = RULES_BY_KEY[key], SIDES[key]
    labels = {"alertname": key.value, "rule": key.value, "severity": rule.severity.value}
    labels |= {"organisation": "o1", "cluster": "c1"} | sides.labels
    fires = sides.sees_after * 60 + rule.for_seconds
    before = max(sides.sees_after - 1, 0) * 60 + rule.for_seconds - 30
    beyond = one_test(sides.beyond | thresholds(), {})
    firing = f'count without (alertstate, __name__) (ALERTS{{alertname="{key}",alertstate="firing"}})'
    beyond["promql_expr_test"] = [
        {"expr": firing, "eval_time": f"{fires + 90}s", "exp_samples": [{"labels": _text(labels), "value": 1}]}
    ]
    if before > 0:
        beyond["promql_expr_test"].append({"expr": firing, "eval_time": f"{before}s", "exp_samples": []})
    within = one_test(sides.within | thresholds(), {})
    within["promql_expr_test"] = [
        {"expr": firing, "eval_time": f"{at}s", "exp_samples": []} for at in (120, fires + 90, fires + 600)
    ]
    evaluated(tmp_path, [beyond, within])


def _text(labels: dict[str, str]) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in labels.items()) + "}"


def test_it_clears_when_the_number_returns_and_waits_anew_when_it_is_beyond_again(tmp_path: Path) -> None:
    hints = {f"{HINTS}{{{NODE}}}": "2e8x60 0x40 2e8x60"}  # 15 min beyond, 10 within, beyond again
    evaluated(
        tmp_path,
        [one_test(hints | thresholds(), {"9m": {}, "11m": {"hints": 1}, "16m": {}, "34m": {}, "36m": {"hints": 1}})],
    )


def test_a_cluster_has_thresholds_and_waiting_times_of_its_own(tmp_path: Path) -> None:
    other = NODE.replace("c1", "c2").replace("n1", "n2")
    series = disk(0.75) | {name.replace(NODE, other): values for name, values in disk(0.75).items()}
    own = thresholds() | thresholds("c2", disk_70=(0.76, 300.0), disk_80=(0.74, 60.0))
    test = one_test(series | own, {})
    test["promql_expr_test"] = [
        {
            "expr": 'count by (alertname, cluster) (ALERTS{alertstate="firing"})',
            "eval_time": at,
            "exp_samples": [{"labels": labels, "value": 1} for labels in firing],
        }
        for at, firing in {
            "2m": ['{alertname="disk-80", cluster="c2"}'],
            "6m": ['{alertname="disk-70", cluster="c1"}', '{alertname="disk-80", cluster="c2"}'],
        }.items()
    ]
    evaluated(tmp_path, [test])


def test_a_rule_that_is_switched_off_does_not_fire(tmp_path: Path) -> None:
    off = thresholds()
    name = next(each for each in off if each.startswith(THRESHOLD) and '"node-down"' in each)
    off[name] = " ".join(["NaN"] * 60)
    evaluated(tmp_path, [one_test(up(0) | off, {"10m": {}})])


def test_a_threshold_that_is_moved_counts_at_once(tmp_path: Path) -> None:
    moved = thresholds()
    name = next(each for each in moved if each.startswith(THRESHOLD) and '"disk-70"' in each)
    moved[name] = f"0.7x80 0.9x{STEPS}"
    evaluated(tmp_path, [one_test(disk(0.75) | moved, {"10m": {"disk-70": 1}, "21m": {}})])


def test_alerts_stand_while_the_control_plane_does_not_answer(tmp_path: Path) -> None:
    silent = {name: f"{values.split('x')[0]}x20 _x{STEPS}" for name, values in thresholds().items()}
    evaluated(tmp_path, [one_test(disk(0.75) | silent, {"40m": {"disk-70": 1}})])


def test_a_node_is_down_when_its_agent_does_not_answer_but_not_when_it_was_stopped_on_purpose(tmp_path: Path) -> None:
    scraped = f'up{{{NODE},job="database-nodes"}}'
    expected = f"ringmaster_node_expected_up{{{NODE}}}"
    evaluated(
        tmp_path,
        [
            one_test({scraped: still(0), expected: still(1)} | thresholds(), {"2m": {"node-down": 1}}),
            one_test(
                {scraped: still(0), expected: f"1x20 0x{STEPS}"} | thresholds(), {"2m": {"node-down": 1}, "6m": {}}
            ),
        ],
    )
