"""The other side of `api_under_load`: the least Django that answers a page of clusters, one, and a change of one.

Views without middleware, authentication, schema, audit log, idempotency or limits: a cursor, a statement, `json.dumps`.
"""

import json

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import path

from e2e.bench import plain_list

_ONE = plain_list.STATEMENT.replace("AND c.id < %s", "AND c.id = %s")


def cluster(request: HttpRequest, cluster_id: str) -> HttpResponse:
    if request.method == "PATCH":
        wanted = json.loads(request.body)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE clusters_cluster SET termination_protection = %s WHERE id = %s AND organisation_id = %s",
                [wanted["termination_protection"], cluster_id, request.GET["organisation"]],
            )
    row = plain_list.rows(_ONE, [request.GET["organisation"], cluster_id, 1])[0]
    return plain_list.answer(json.dumps(row, cls=DjangoJSONEncoder))


urlpatterns = [path("clusters", plain_list.list_clusters), path("clusters/<str:cluster_id>", cluster)]
settings.ROOT_URLCONF = __name__
application = ASGIHandler()
