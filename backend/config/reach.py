"""Holds every route to the clusters that the caller's role reaches. docs/decisions/0060.

A role can be limited to clusters with certain tags. Who holds such a role gets, of any other cluster, the answer that
another organisation gets. What a route is about is read from its path; a route that is about no cluster is open to
them only when it is listed here, so that a route that nobody thought of stays closed.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.db.models import Model
from django.http import HttpRequest

from backend.accounts.models import DeletionRequest
from backend.accounts.queries import Identity
from backend.backups.drill_queries import drill_not_found
from backend.backups.models import Backup, Drill, Restore
from backend.backups.queries import backup_not_found
from backend.backups.restores import restore_not_found
from backend.clusters.queries import cluster_not_found
from backend.clusters.reach import clusters, limit_in_words
from backend.core.errors import Forbidden, NotFound
from backend.deletions.queries import deletion_request_not_found
from backend.imports.models import Import
from backend.imports.queries import import_not_found
from backend.operations.models import Operation
from backend.operations.queries import operation_not_found, reached

View = Callable[..., Any]

# Things that are reached by an id of their own, and are of a cluster.
_OF_A_CLUSTER: Mapping[str, tuple[type[Model], Callable[[], NotFound]]] = {
    "backup_id": (Backup, backup_not_found),
    "deletion_request_id": (DeletionRequest, deletion_request_not_found),
    "drill_id": (Drill, drill_not_found),
    "import_id": (Import, import_not_found),
    "restore_id": (Restore, restore_not_found),
}
NARROWED = frozenset(
    {
        "list_alerts",
        "list_backups",
        "list_clusters",
        "list_deletion_requests",
        "list_findings",
        "list_firing_alerts",
        "list_operations",
        "stream_events",
        # It looks for its target among clusters that the caller reaches.
        "create_deletion_request",
        # These plan by clusters that the caller reaches.
        "get_sizing_choices",
        "plan_size",
    }
)
"""Over several clusters: they leave out those that the caller does not reach."""
OF_A_NAMED_CLUSTER = frozenset({"export_costs", "get_cost_changes", "get_cost_forecast", "get_costs", "list_usage"})
"""Over the organisation or, when it is named as `cluster_id`, a cluster: only the latter."""
OF_NO_CLUSTER = frozenset(
    {
        # What can be ordered and what it costs, and where clusters and backups can be put.
        "check_cluster_order",
        "create_cluster",
        "estimate_cost",
        "estimate_dynamodb",
        "get_capacity",
        "get_catalog",
        "get_image",
        "get_metrics_catalogue",
        "list_backup_locations",
        "list_cloud_accounts",
        "list_images",
        "list_price_lists",
        "list_prices",
        # The caller's own.
        "create_token",
        "end_other_sessions",
        "end_session",
        "get_access_settings",
        "get_organisation",
        "list_sessions",
        "list_tokens",
        "revoke_token",
    }
)


def within_reach(view: View) -> View:
    """Around every route, inside of authentication and validation."""

    @wraps(view)
    def wrapper(request: HttpRequest, **values: Any) -> Any:
        who = getattr(request, "auth", None)
        if isinstance(who, Identity) and who.tags is not None:
            _hold(who, view.__name__, values)
        return view(request, **values)

    return wrapper


def _hold(who: Identity, name: str, values: Mapping[str, Any]) -> None:
    """Raises NotFound for what is of a cluster beyond the caller's reach, Forbidden for what is the organisation's."""
    named = name in OF_A_NAMED_CLUSTER
    cluster_id = values["wanted"].cluster_id if named else values.get("cluster_id")
    if cluster_id is not None:
        if not clusters(who).filter(id=cluster_id).exists():
            raise cluster_not_found()
        return
    if "operation_id" in values:
        if not Operation.objects.filter(reached(who), id=values["operation_id"]).exists():
            raise operation_not_found()
        return
    for parameter, (model, not_found) in _OF_A_CLUSTER.items():
        if parameter in values:
            rows = model._default_manager.filter(id=values[parameter])
            if not rows.filter(cluster_id__in=clusters(who).order_by().values("id")).exists():
                raise not_found()
            return
    if name in NARROWED or name in OF_NO_CLUSTER:
        return
    raise Forbidden(
        "role_by_tags",
        f"Your role ({who.role_name}) is only for clusters whose tag {limit_in_words(who)}; this is not about those.",
        hint="Name a cluster with cluster_id." if named else "Ask somebody whose role is for all of the organisation.",
    )
