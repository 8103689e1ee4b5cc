"""An organisation with a cluster, and the operator's place for backups."""

from backend.backups.tests.conftest import _catalog, active, api, creating, deleted, foreign, operators

__all__ = ["_catalog", "active", "api", "creating", "deleted", "foreign", "operators"]
