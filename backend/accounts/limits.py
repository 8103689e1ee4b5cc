"""What a role that is limited by tags is compared with. Which rows carry tags is for the apps above to know."""

from django.db.models import Q

from backend.accounts.queries import Identity


def tagged(who: Identity) -> Q:
    """Of rows of clusters: that the role reaches them. Empty for roles that are not limited."""
    found = Q()
    for key, values in (who.tags or {}).items():
        one = Q()
        for value in values:
            # As a whole, so that no key is taken for a path or a lookup.
            one |= Q(options__contains={"tags": {key: value}})
        found &= one
    return found
