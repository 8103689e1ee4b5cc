"""Writing down what looks at many nodes have shown: one statement for all of them."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from datetime import datetime

from django.db import connection

from backend.clusters.states import NodeState
from backend.operations.actions import EVENTS_CHANNEL


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One node as it was seen. What is empty or None was not seen, and stays.

    `before`: its state as read; another one by now means that somebody knows better. `visible`: whether people who
    look at the cluster are to be told.
    """

    node_id: str
    before: NodeState
    state: NodeState
    reason: str
    visible: bool
    host_id: str = ""
    engine_version: str = ""
    agent_version: str = ""
    running_revision: str = ""
    disk_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    data_bytes: int | None = None
    clock_offset_ms: int | None = None
    engine_certificate_expires_at: datetime | None = None


_TYPES = {
    "node_id": "text",
    "before": "text",
    "state": "text",
    "reason": "text",
    "visible": "boolean",
    "host_id": "text",
    "engine_version": "text",
    "agent_version": "text",
    "running_revision": "text",
    "disk_total_bytes": "bigint",
    "disk_free_bytes": "bigint",
    "data_bytes": "bigint",
    "clock_offset_ms": "integer",
    "engine_certificate_expires_at": "timestamptz",
}
_COLUMNS = [field.name for field in fields(Observation)]

_WRITE = f"""
WITH seen AS (
    SELECT * FROM unnest({", ".join(f"%s::{_TYPES[name]}[]" for name in _COLUMNS)}) AS seen({", ".join(_COLUMNS)})
), written AS (
    UPDATE clusters_node n
       SET state = seen.state,
           state_reason = seen.reason,
           observed_at = now(),
           host_id = COALESCE(NULLIF(seen.host_id, ''), n.host_id),
           engine_version = COALESCE(NULLIF(seen.engine_version, ''), n.engine_version),
           agent_version = COALESCE(NULLIF(seen.agent_version, ''), n.agent_version),
           running_revision = COALESCE(NULLIF(seen.running_revision, ''), n.running_revision),
           disk_total_bytes = COALESCE(seen.disk_total_bytes, n.disk_total_bytes),
           disk_free_bytes = COALESCE(seen.disk_free_bytes, n.disk_free_bytes),
           data_bytes = COALESCE(seen.data_bytes, n.data_bytes),
           clock_offset_ms = COALESCE(seen.clock_offset_ms, n.clock_offset_ms),
           engine_certificate_expires_at =
               COALESCE(seen.engine_certificate_expires_at, n.engine_certificate_expires_at)
      FROM seen
     WHERE n.id = seen.node_id AND n.deleted_at IS NULL AND n.state = seen.before
 RETURNING n.id, n.cluster_id, seen.visible
), told AS (
    SELECT pg_notify(%s, json_build_object(
               'org', c.organisation_id, 'type', 'cluster', 'id', c.id, 'cluster_id', c.id)::text)
      FROM clusters_cluster c
     WHERE c.id IN (SELECT cluster_id FROM written WHERE visible)
)
SELECT id, (SELECT count(*) FROM told) FROM written
"""  # only names of this file are put into it


def write(observations: Sequence[Observation]) -> set[str]:
    """Ids of the nodes that were written. One statement, whatever their number; none when there is nothing."""
    if not observations:
        return set()
    columns = [list(column) for column in zip(*(astuple(seen) for seen in observations), strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, [*columns, EVENTS_CHANNEL])
        return {row[0] for row in cursor.fetchall()}
