from backend.clusters.tests.conftest import _catalog, active, api, creating, deleted, foreign  # noqa: F401
