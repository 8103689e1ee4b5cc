"""Starts repairs: those whose schedule is due, and those of nodes that came back after others had forgotten for them.

While a node is away the others keep what it misses as hints, three hours unless the cluster's settings say otherwise.
What it missed after that it has to fetch: it pulls its ranges from its peers, once per absence. So it does when others
say that they kept no hints for it (dropped_hints.py), for how long it was away: shorter absences add up, as hints wait.
And so does one that took a dead node's place where the other replicas could not be compared before (survivors.py).
"""

from datetime import UTC, datetime, timedelta

import structlog
from django.db import connection
from ulid import ULID

from backend.findings import actions as findings
from backend.repairs import actions, progress
from backend.repairs.queries import due_schedules
from backend.repairs.states import RepairRunReason
from provisioner.reconcile import dropped_hints
from provisioner.reconcile.alone import alone
from provisioner.reconcile.signs import DEATHS, ENGINE_DOWN

log = structlog.get_logger(__name__)

STARTED_PER_RUN = 50
USUAL_HINT_WINDOW_MINUTES = 180
# An absence that ended longer ago is left to the schedule.
FORGOTTEN_AFTER = timedelta(days=1)
_LONGEST_ABSENCE = timedelta(days=30)

# Ids begin with their time, so the newest rows are a range of the primary key.
_RETURNED = """
WITH absence AS (
    SELECT f.cluster_id, f.subject AS node_id, f.first_seen_at AS began, f.closed_at AS ended
      FROM findings_finding f
     WHERE f.id > %(oldest_finding)s AND f.code = ANY(%(codes)s)
       AND f.closed_at > now() - %(forgotten)s::interval
 UNION ALL
    SELECT o.cluster_id, s.target, stopped.at, o.finished_at
      FROM operations_operation o
      JOIN operations_operationstep s ON s.operation_id = o.id AND s.target <> ''
      JOIN LATERAL (SELECT max(p.started_at) AS at
                      FROM operations_operation p
                      JOIN operations_operationstep t ON t.operation_id = p.id AND t.target = s.target
                     WHERE p.cluster_id = o.cluster_id AND p.kind = 'stop_node' AND p.state = 'succeeded'
                       AND p.id < o.id) stopped ON true
     WHERE o.id > %(oldest_operation)s AND o.kind = 'start_node' AND o.state = 'succeeded'
 UNION ALL
    SELECT o.cluster_id, o.parameters->>'new', '-infinity'::timestamptz, o.finished_at
      FROM operations_operation o
      JOIN operations_operationstep s ON s.operation_id = o.id AND s.name = 'compare_survivors'
     WHERE o.id > %(oldest_operation)s AND o.kind = 'replace_node' AND o.state = 'succeeded'
       AND s.output->'compared' = 'false'
)
SELECT DISTINCT a.cluster_id, a.node_id
  FROM absence a
  JOIN clusters_node n ON n.id = a.node_id AND n.deleted_at IS NULL AND n.state = 'up'
  JOIN clusters_cluster c ON c.id = a.cluster_id
 WHERE a.began
       < a.ended - make_interval(mins => COALESCE((c.settings->>'max_hint_window_minutes')::int, %(usual)s))
   AND NOT EXISTS (SELECT 1 FROM repairs_repairrun r
                    WHERE r.cluster_id = a.cluster_id AND r.reason = %(reason)s
                      AND r.asked->>'node' = a.node_id AND r.created_at >= a.ended)
"""


def start_due() -> int:
    """How many runs were started. Three statements when none is due, whatever the number of clusters."""
    with alone("reconcile-repairs") as mine:
        if not mine:
            return 0
        progress.make_missing_schedules()
        started = [actions.start_due(row.cluster_id) for row in due_schedules(STARTED_PER_RUN)]
        return len([one for one in started if one is not None])


def catch_up() -> int:
    """How many nodes began to pull what they missed. Those whose cluster is busy are tried again at the next look."""
    with alone("reconcile-repairs-catch-up") as mine:
        if not mine:
            return 0
        started = 0
        for cluster_id, node_id in _returned():
            if actions.start_catch_up(cluster_id, node_id) is not None:
                log.info("a node that was away pulls what it missed", cluster_id=cluster_id, node_id=node_id)
                started += 1
        for finding in dropped_hints.due():
            operation = actions.start_catch_up(str(finding.cluster_id), finding.subject)
            if operation is None:
                findings.acted(finding.id, "Its cluster is busy; it pulls what it missed when that is over.")
                continue
            findings.acted(finding.id, "It pulls what it missed from its peers.", operation_id=operation.id)
            findings.over(subject=finding.subject, codes=[dropped_hints.HINTS_DROPPED])
            log.info(
                "a node for which hints were dropped pulls", cluster_id=finding.cluster_id, node_id=finding.subject
            )
            started += 1
        return started


def _returned() -> list[tuple[str, str]]:
    now = datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute(
            _RETURNED,
            {
                "oldest_finding": f"fnd_{str(ULID.from_datetime(now - _LONGEST_ABSENCE)).lower()}",
                "oldest_operation": f"op_{str(ULID.from_datetime(now - FORGOTTEN_AFTER)).lower()}",
                "codes": [ENGINE_DOWN, *DEATHS],
                "forgotten": f"{FORGOTTEN_AFTER.total_seconds()} seconds",
                "usual": USUAL_HINT_WINDOW_MINUTES,
                "reason": RepairRunReason.CATCH_UP.value,
            },
        )
        return [(cluster_id, node_id) for cluster_id, node_id in cursor.fetchall()]
