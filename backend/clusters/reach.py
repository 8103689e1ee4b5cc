"""Which clusters somebody acts on: all of their organisation, or those with the tags that their role is limited to.

Everything that reads or changes a cluster on somebody's behalf starts here, and the edge (backend/config/reach.py)
holds every route to it once more. docs/decisions/0060.
"""

from collections.abc import Mapping, Sequence

from django.db.models import Q, QuerySet

from backend.accounts.limits import tagged
from backend.accounts.queries import Identity
from backend.clusters.models import Cluster
from backend.core.errors import Forbidden

__all__ = ["check_tags", "clusters", "limit_in_words", "of_clusters", "tagged"]


def clusters(who: Identity) -> QuerySet[Cluster]:
    return Cluster.objects.filter(tagged(who), organisation_id=who.organisation_id)


def of_clusters(who: Identity) -> Q:
    """Of rows with a ``cluster_id``: that the role reaches their cluster. Empty for roles that are not limited."""
    return Q() if who.tags is None else Q(cluster_id__in=clusters(who).order_by().values("id"))


def check_tags(who: Identity, tags: Mapping[str, str]) -> None:
    """Raises Forbidden for tags that would put a cluster out of the reach of who gives them."""
    for key, values in (who.tags or {}).items():
        if tags.get(key) not in values:
            raise Forbidden(
                "tags_beyond_role",
                f"Your role ({who.role_name}) is only for clusters whose tag {key} is {_either(values)}.",
                hint=f"Give the cluster the tag {key} with such a value.",
                field="tags",
            )


def limit_in_words(who: Identity) -> str:
    return " and ".join(f"{key} is {_either(values)}" for key, values in (who.tags or {}).items())


def _either(values: Sequence[str]) -> str:
    return " or ".join(values)
