from backend.clusters.tests.conftest import _catalog, active, api, budget, creating, foreign

__all__ = ["_catalog", "active", "api", "budget", "creating", "foreign"]
