"""Tenants of an installation that offers both clouds."""

from typing import Any

import pytest

from backend.catalog import actions as catalog
from backend.cloud_accounts import actions
from backend.cloud_accounts.models import CloudAccount
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation
from backend.operations.states import OperationState

AWS: dict[str, Any] = {
    "name": "Shop",
    "provider": "aws",
    "role_arn": "arn:aws:iam::123456789012:role/ringmaster-shop",
}
GCP: dict[str, Any] = {"name": "Shop on Google", "provider": "gcp", "project": "acme-shop"}


@pytest.fixture
def _catalog(db: None) -> None:
    catalog.load(with_tests=True, clouds={"aws": ["eu-west-1", "us-east-1"], "gcp": None})


@pytest.fixture
def api(tenant: Tenant, _catalog: None) -> ApiClient:
    return tenant.api()


def bring(api: ApiClient, order: dict[str, Any]) -> CloudAccount:
    """An account whose check is under way."""
    answer = api.post("/cloud-accounts", order)
    assert answer.status_code == 202, answer.content
    return CloudAccount.objects.get(id=answer.json()["cloud_account"]["id"])


def found(account: CloudAccount, *, missing: list[str] | None = None, problem: str | None = None) -> None:
    """What the provisioner writes at the end of the check that is under way."""
    operation = Operation.objects.get(id=account.check_operation_id)
    result = {"missing": missing or [], "problem": problem, "hint": None}
    actions.checked(operation.id, [{"region": step.target, **result} for step in operation.steps.all()])
    Operation.objects.filter(id=operation.id).update(state=OperationState.SUCCEEDED, due_at=None, progress=1)


@pytest.fixture
def account(api: ApiClient) -> CloudAccount:
    """One that can be ordered into."""
    made = bring(api, AWS)
    found(made)
    return made
