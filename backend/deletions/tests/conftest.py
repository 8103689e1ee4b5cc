"""An organisation in which deletes take two people, with two of them and a cluster."""

from datetime import UTC, datetime
from typing import Any

import pytest

from backend.accounts.models import CustomRole, Membership, User
from backend.accounts.states import Role
from backend.backups.models import Backup
from backend.backups.states import BackupState
from backend.backups.tests.conftest import operators
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import _catalog, active, api, creating, deleted, foreign
from backend.conftest import ApiClient, Tenant

__all__ = ["_catalog", "active", "api", "creating", "deleted", "foreign", "operators"]


@pytest.fixture
def two(api: ApiClient) -> None:
    answer = api.patch("/organisation/access-settings", {"deletes_need_two": True})
    assert answer.status_code == 200, answer.content


@pytest.fixture
def second(tenant: Tenant) -> ApiClient:
    """Another person, who may delete clusters, too."""
    return tenant.api(tenant.member(Role.OPERATOR, email="second@acme.example"))


@pytest.fixture
def backup(active: Cluster, operators: Any) -> Backup:
    return Backup.objects.create(
        organisation_id=active.organisation_id,
        cluster=active,
        cluster_name=active.name,
        location=operators,
        engine="cassandra",
        engine_version="5.0.5",
        created_by="test",
        state=BackupState.COMPLETE,
        taken_at=datetime.now(UTC),
        key_id="k",
    )


def asked(api: ApiClient, target_type: str, target_id: str) -> dict[str, Any]:
    answer = api.post("/deletion-requests", {"target_type": target_type, "target_id": target_id})
    assert answer.status_code == 201, answer.content
    return answer.json()  # type: ignore[no-any-return]


def decided(api: ApiClient, request: dict[str, Any], word: str = "confirm") -> Any:
    return api.post(f"/deletion-requests/{request['id']}/{word}")


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def of_tags(tenant: Tenant, tags: dict[str, list[str]] | None, *, email: str) -> ApiClient:
    """Somebody who may delete clusters with such tags."""
    role = CustomRole.objects.create(
        organisation=tenant.organisation,
        name=email,
        permissions=["clusters:read", "clusters:write"],
        tags=tags,
        created_by="test",
    )
    user = User.objects.create(email=email, password="!")
    Membership.objects.create(organisation=tenant.organisation, user=user, role=Role.CUSTOM, custom_role=role)
    return tenant.api(user)
