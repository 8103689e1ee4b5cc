"""The clusters of the tests of clusters, for tests of what becomes of them."""

from backend.clusters.tests.conftest import _catalog, active, api, budget, creating, deleted, foreign

__all__ = ["_catalog", "active", "api", "budget", "creating", "deleted", "foreign"]
