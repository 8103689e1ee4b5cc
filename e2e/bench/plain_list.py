"""The other side of `api_list`: the least Django that answers a page of clusters.

One view, no middleware, no authentication: a database cursor, one statement, `json.dumps`. It reads every column that
the API's own list shows, page by page with the same keyset cursor.
"""

import json
import os
from collections.abc import Sequence
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
os.environ.setdefault("RINGMASTER_DATABASE_POOL", "true")

import django
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path

STATEMENT = """
SELECT c.id, c.name, c.state, c.engine, c.engine_version, c.provider, c.options, c.settings,
       c.termination_protection, c.healing_mode, c.healing_grace_seconds, c.healing_replacements_per_day,
       c.created_by, c.created_at, c.active_at,
       c.deleted_at, c.admin_revealed_at,
       (SELECT count(*) FROM clusters_node n WHERE n.cluster_id = c.id AND n.deleted_at IS NULL) AS nodes_total,
       (SELECT count(*) FROM clusters_node n
         WHERE n.cluster_id = c.id AND n.deleted_at IS NULL AND n.state = 'up') AS nodes_up,
       (SELECT json_agg(json_build_object('name', d.name, 'region', d.region, 'zones', d.zones,
                                          'machine_type', d.machine_type, 'nodes_per_zone', d.nodes_per_zone)
                        ORDER BY d.position)
          FROM clusters_datacenter d WHERE d.cluster_id = c.id AND d.deleted_at IS NULL) AS datacenters,
       o.id AS operation_id, o.kind AS operation_kind, o.state AS operation_state, o.progress AS operation_progress
  FROM clusters_cluster c
  LEFT JOIN LATERAL (SELECT id, kind, state, progress FROM operations_operation
                      WHERE cluster_id = c.id AND finished_at IS NULL ORDER BY id LIMIT 1) o ON true
 WHERE c.organisation_id = %s AND c.deleted_at IS NULL AND c.id < %s
 ORDER BY c.id DESC
 LIMIT %s
"""
# Sorts after every id: ids are lower case letters, digits and an underscore.
_AFTER_ALL = "~"


def rows(statement: str, parameters: Sequence[object]) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description or ()]
        found: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in found:
        for name in ("options", "settings"):
            row[name] = json.loads(row[name])  # Django leaves JSON columns of its cursors as text
    return found


def list_clusters(request: HttpRequest) -> HttpResponse:
    limit = int(request.GET["limit"])
    found = rows(STATEMENT, [request.GET["organisation"], request.GET.get("cursor") or _AFTER_ALL, limit + 1])
    following = found[limit - 1]["id"] if len(found) > limit else None
    body = json.dumps({"items": found[:limit], "next_cursor": following}, cls=DjangoJSONEncoder)
    return answer(body)


def answer(body: str) -> HttpResponse:
    """With its length, so that it goes out in one piece, as ours does."""
    return HttpResponse(body, content_type="application/json", headers={"Content-Length": str(len(body.encode()))})


urlpatterns = [path("clusters", list_clusters)]
django.setup(set_prefix=False)
# After the apps have checked the settings, before the handler reads them.
settings.ROOT_URLCONF = __name__
settings.MIDDLEWARE = []
application = ASGIHandler()
