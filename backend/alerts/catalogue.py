"""The alert rules that every cluster has, once. Prometheus' rules, the API, the console and docs/alerts.md say no more.

`value` is PromQL that yields a number for each thing that is watched; the rule holds while that number is above (or
below) the cluster's threshold. Thresholds are series that the control plane serves (rules.py), so none is in here but
the usual one.
"""

from dataclasses import dataclass
from enum import StrEnum

from backend.alerts.states import AlertComparison, AlertUnit
from backend.findings.states import Severity
from backend.metrics.vocabulary import NODE_LABELS, TABLE_LABELS

HOUR = 3600
DAY = 24 * HOUR
MIB = 1024 * 1024

CLUSTER = ", ".join(TABLE_LABELS)
NODE = ", ".join(NODE_LABELS)
TABLE = f"{CLUSTER}, keyspace, table"

_LATENCY = "ringmaster_node_client_request_latency_seconds"
_SINGLE = 'kind=~"read|write"'
_FREE = "ringmaster_node_filesystem_free_bytes"
_TOMBSTONES = "ringmaster_table_tombstones_per_read"


class RuleKey(StrEnum):
    NODE_DOWN = "node-down"
    LATENCY_MEAN = "latency-mean"
    LATENCY_P95 = "latency-p95"
    DISK_70 = "disk-70"
    DISK_80 = "disk-80"
    DISK_90 = "disk-90"
    DISK_FULL_SOON = "disk-full-soon"
    HINTS = "hints"
    DROPPED_MESSAGES = "dropped-messages"
    TOMBSTONES = "tombstones"
    LARGE_PARTITION = "large-partition"
    REPAIR_OVERDUE = "repair-overdue"
    BACKUP_OVERDUE = "backup-overdue"
    CERTIFICATE_EXPIRY = "certificate-expiry"
    IO_UNEQUAL = "io-unequal"
    TUNING_DRIFT = "tuning-drift"
    IRQ_CPU = "irq-cpu"


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Where a rule begins to hold: the usual place, and how far a cluster may move it. In the rule's unit."""

    default: float
    least: float
    most: float


@dataclass(frozen=True, kw_only=True)
class AlertRule:
    key: RuleKey
    title: str
    description: str
    """What it means."""
    hint: str
    """What a person does about it."""
    severity: Severity
    value: str
    unit: AlertUnit
    threshold: Threshold | None
    """None: yes or no, there is nothing to set; it holds while the value is above 0."""
    comparison: AlertComparison = AlertComparison.ABOVE
    for_seconds: int
    slow: bool = False
    """Looked at once a minute instead of every fifteen seconds: it reads much, or changes slowly."""


def _disk(share: int, severity: Severity, key: RuleKey) -> AlertRule:
    return AlertRule(
        key=key,
        title=f"Disk {share} % full",
        description="Compaction and streaming need room beside the data; without it writes fail.",
        hint="Add nodes or choose larger machines, drop snapshots and tables that nobody needs.",
        severity=severity,
        value=f"1 - max by ({NODE}) ({_FREE}) / max by ({NODE}) (ringmaster_node_filesystem_size_bytes)",
        unit=AlertUnit.RATIO,
        threshold=Threshold(default=share / 100, least=0.05, most=0.99),
        for_seconds=300,
    )


def _spread(series: str, figure: str) -> str:
    """By how much the best node of a data centre is above the worst."""
    kept = f"{CLUSTER}, datacenter, direction"
    return f'label_replace(max by ({kept}) ({series}) / min by ({kept}) ({series}) - 1, "figure", "{figure}", "", "")'


RULES: tuple[AlertRule, ...] = (
    AlertRule(
        key=RuleKey.NODE_DOWN,
        title="Node down",
        description="The database does not take connections there, or nobody reaches the machine. "
        "Nodes that were stopped on purpose, join or leave do not count.",
        hint="See what the control plane does about it under Activity; ask the node for its log under Diagnostics.",
        severity=Severity.CRITICAL,
        # An agent that answers knows; where none answers, the missing answer tells.
        value=f'(max by ({NODE}) (1 - ringmaster_node_engine_up) or max by ({NODE}) (1 - up{{job="database-nodes"}}))'
        " and on (node) max by (node) (last_over_time(ringmaster_node_expected_up[1h])) == 1",
        unit=AlertUnit.NONE,
        threshold=None,
        for_seconds=60,
    ),
    AlertRule(
        key=RuleKey.LATENCY_MEAN,
        title="Average latency",
        description="Reads or writes of clients take long on average, over five minutes and all nodes.",
        hint="Look at Dashboards for what is busy (CPU, disks, compactions), and at Tables for the one that is slow.",
        severity=Severity.WARNING,
        value=f"sum by ({CLUSTER}, kind) (rate({_LATENCY}_sum{{{_SINGLE}}}[5m]))"
        f" / sum by ({CLUSTER}, kind) (rate({_LATENCY}_count{{{_SINGLE}}}[5m]))",
        unit=AlertUnit.SECONDS,
        threshold=Threshold(default=0.010, least=0.0001, most=60),
        for_seconds=300,
    ),
    AlertRule(
        key=RuleKey.LATENCY_P95,
        title="Latency p95",
        description="One in twenty reads or writes of clients takes longer, over five minutes, "
        "from the merged histograms of all nodes.",
        hint="Look for slow queries under Diagnostics, for pauses and busy disks under Dashboards.",
        severity=Severity.WARNING,
        value=f"histogram_quantile(0.95, sum by ({CLUSTER}, kind, le) (rate({_LATENCY}_bucket{{{_SINGLE}}}[5m])))",
        unit=AlertUnit.SECONDS,
        threshold=Threshold(default=0.100, least=0.001, most=60),
        for_seconds=300,
    ),
    _disk(70, Severity.INFO, RuleKey.DISK_70),
    _disk(80, Severity.WARNING, RuleKey.DISK_80),
    _disk(90, Severity.CRITICAL, RuleKey.DISK_90),
    AlertRule(
        key=RuleKey.DISK_FULL_SOON,
        title="Disk full soon",
        description="If it goes on as over the last six hours, the disk is full within this time "
        "(a line through its free space, at least an hour of it).",
        hint="Add nodes or choose larger machines before that; growing a cluster needs room and time itself.",
        severity=Severity.WARNING,
        # Where the line through the samples meets zero: predict_linear with the time as the answer, so that each
        # cluster can have a time of its own.
        value=f"min by ({NODE}) ((predict_linear({_FREE}[6h], 0) / -deriv({_FREE}[6h]))"
        f" and (deriv({_FREE}[6h]) < 0) and {_FREE} offset 1h)",
        unit=AlertUnit.SECONDS,
        threshold=Threshold(default=7 * DAY, least=HOUR, most=90 * DAY),
        comparison=AlertComparison.BELOW,
        for_seconds=1800,
        slow=True,
    ),
    AlertRule(
        key=RuleKey.HINTS,
        title="Hints pile up",
        description="Writes for nodes that cannot be reached wait on disk; what waits too long is dropped.",
        hint="Bring back the node that is down or overloaded; if it was away for longer than hints are kept, repair.",
        severity=Severity.WARNING,
        value=f"max by ({NODE}) (ringmaster_node_hints_bytes)",
        unit=AlertUnit.BYTES,
        # Of one file of hints (max_hints_file_size).
        threshold=Threshold(default=128 * MIB, least=MIB, most=1024 * 1024 * MIB),
        for_seconds=600,
    ),
    AlertRule(
        key=RuleKey.DROPPED_MESSAGES,
        title="Dropped messages",
        description="The node throws away work that waited for longer than its time-out: it is overloaded.",
        hint="Look at thread pools and disks of the node; spread or reduce the load, or add nodes. Repair afterwards "
        "if mutations were dropped.",
        severity=Severity.WARNING,
        value=f"sum by ({NODE}) (rate(ringmaster_node_dropped_messages_total[5m]))",
        unit=AlertUnit.PER_SECOND,
        threshold=Threshold(default=0.1, least=0.001, most=1_000_000),
        for_seconds=300,
    ),
    AlertRule(
        key=RuleKey.TOMBSTONES,
        title="Tombstones per read",
        description="Reads of the table go through many deleted cells on average, over five minutes.",
        hint="Query smaller slices, delete whole partitions, use a TTL with time windows, or compact the table.",
        severity=Severity.WARNING,
        value=f"sum by ({TABLE}) (rate({_TOMBSTONES}_sum[5m])) / sum by ({TABLE}) (rate({_TOMBSTONES}_count[5m]))",
        unit=AlertUnit.COUNT,
        # A tenth of what the engine warns of in a single read (tombstone_warn_threshold, 1000).
        threshold=Threshold(default=100, least=1, most=100_000),
        for_seconds=600,
        slow=True,
    ),
    AlertRule(
        key=RuleKey.LARGE_PARTITION,
        title="Large partition",
        description="A partition of the table has grown beyond what compaction and reads handle well.",
        hint="Put more columns into the partition key, for example a time bucket. Diagnostics show the largest.",
        severity=Severity.INFO,
        value=f'max by ({TABLE}) (ringmaster_table_partition_max_bytes{{keyspace!~"system.*"}})',
        unit=AlertUnit.BYTES,
        # partition_size_warn_threshold in Cassandra's cassandra.yaml.
        threshold=Threshold(default=100 * MIB, least=MIB, most=1024 * 1024 * MIB),
        for_seconds=300,
        slow=True,
    ),
    AlertRule(
        key=RuleKey.REPAIR_OVERDUE,
        title="Repair overdue",
        description="So much of gc_grace has passed since all of the table was repaired; after it, deleted rows may "
        "come back.",
        hint="Start a repair under Repairs, or see there what keeps the schedule from it.",
        severity=Severity.CRITICAL,
        value=f"(time() - max by ({TABLE}) (ringmaster_table_repair_counted_from_timestamp_seconds))"
        f" / max by ({TABLE}) (ringmaster_table_gc_grace_seconds)",
        unit=AlertUnit.RATIO,
        threshold=Threshold(default=0.9, least=0.1, most=1),
        for_seconds=300,
        slow=True,
    ),
    AlertRule(
        key=RuleKey.BACKUP_OVERDUE,
        title="Backup overdue",
        description="The schedule promised a complete backup, and this long after its turn there is none.",
        hint="Look under Backups and Activity: what waits, is paused or fails there keeps backups off.",
        severity=Severity.CRITICAL,
        value=f"time() - max by ({CLUSTER}, schedule) (ringmaster_backup_promised_timestamp_seconds)",
        unit=AlertUnit.SECONDS,
        threshold=Threshold(default=1800, least=0, most=30 * DAY),
        for_seconds=0,
        slow=True,
    ),
    AlertRule(
        key=RuleKey.CERTIFICATE_EXPIRY,
        title="Certificate expires",
        description="A certificate of the node ends soon. They are renewed long before, so something is in the way.",
        hint="See the findings under Activity; rotate the certificates by hand.",
        severity=Severity.CRITICAL,
        value=f"min by ({NODE}, certificate) (ringmaster_agent_certificate_expiry_timestamp_seconds) - time()",
        unit=AlertUnit.SECONDS,
        # Agents' certificates are valid for 30 days and renewed when 10 are left.
        threshold=Threshold(default=7 * DAY, least=HOUR, most=180 * DAY),
        comparison=AlertComparison.BELOW,
        for_seconds=300,
        slow=True,
    ),
    AlertRule(
        key=RuleKey.IO_UNEQUAL,
        title="Unequal io properties",
        description="Nodes of a data centre were told different speeds of their disks, so one is throttled or overrun.",
        hint="Compare the nodes' tuning reports; measure the disks anew, or replace the machine that differs.",
        severity=Severity.WARNING,
        value=f"{_spread('ringmaster_node_io_iops_limit', 'iops')}"
        f" or {_spread('ringmaster_node_io_bandwidth_limit_bytes', 'bandwidth')}",
        unit=AlertUnit.RATIO,
        threshold=Threshold(default=0.05, least=0.001, most=10),
        for_seconds=1800,
        slow=True,
    ),
    AlertRule(
        key=RuleKey.TUNING_DRIFT,
        title="Tuning drift",
        description="Something on the machine, or a setting of the database, is not any more as it was set.",
        hint="The node's page names it. Restart the node, or find out who changed it.",
        severity=Severity.WARNING,
        value=f"max by ({NODE}) (ringmaster_node_tuning_drift)",
        unit=AlertUnit.NONE,
        threshold=None,
        for_seconds=300,
        slow=True,
    ),
    AlertRule(
        key=RuleKey.IRQ_CPU,
        title="Hot interrupt CPU",
        description="A CPU that takes the interrupts of network and disks is nearly always busy: it holds back the "
        "others.",
        hint="Choose a machine type with more CPUs, which gets more of them for interrupts.",
        severity=Severity.WARNING,
        value=f'1 - min by ({NODE}) (sum by ({NODE}, cpu) (rate(ringmaster_node_cpu_seconds_total{{irq="true",'
        'mode="idle"}[5m])))',
        unit=AlertUnit.RATIO,
        threshold=Threshold(default=0.8, least=0.1, most=1),
        for_seconds=600,
    ),
)

RULES_BY_KEY = {rule.key: rule for rule in RULES}
assert RULES_BY_KEY.keys() == set(RuleKey)
