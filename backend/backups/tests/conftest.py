"""An organisation with a cluster, and the operator's place for backups."""

import pytest

from backend.backups.models import BackupLocation
from backend.clusters.tests.conftest import _catalog, active, api, creating, deleted, foreign

__all__ = ["_catalog", "active", "api", "creating", "deleted", "foreign"]


@pytest.fixture
def operators(db: None) -> BackupLocation:
    return BackupLocation.objects.create(
        organisation=None, name="This installation", kind="folder", folder="/nowhere", created_by="test"
    )
