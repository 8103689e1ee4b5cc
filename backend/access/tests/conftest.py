"""The tenant, the catalogue and the clusters of the clusters' tests, and what a worker would have read."""

import pytest

from backend.access import actions
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import _catalog, active, api, creating, deleted, foreign  # noqa: F401

READING = {
    "roles": [
        {"name": "admin", "can_login": True, "is_superuser": True, "member_of": [], "cidrs": []},
        {"name": "ann", "can_login": True, "is_superuser": False, "member_of": ["writers"], "cidrs": []},
        {"name": "readers", "can_login": False, "is_superuser": False, "member_of": [], "cidrs": []},
        {"name": "writers", "can_login": False, "is_superuser": False, "member_of": ["readers"], "cidrs": []},
    ],
    "permissions": [
        {"role": "ann", "resource": "data/shop/orders", "permission": "ALTER"},
        {"role": "readers", "resource": "data/shop", "permission": "SELECT"},
        {"role": "writers", "resource": "data/shop", "permission": "MODIFY"},
        {"role": "writers", "resource": "data/shop", "permission": "SELECT"},
    ],
}


@pytest.fixture
def read(active: Cluster) -> Cluster:  # noqa: F811
    """An active cluster whose roles were read."""
    actions.roles_read(active.id, READING)
    return active
